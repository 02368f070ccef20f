package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MainTest {

  @Test
  void noCommand_isRefused_sayingWhereToLook() {
    Cli run = Cli.run();
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).contains("found no command", "Try 'sluice --help'");
  }

  @Test
  void unknownCommandOrOption_isRefused_withTheNearest() {
    Cli command = Cli.run("reply");
    assertThat(command.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(command.err()).contains("replay");
    Cli option = Cli.run("lint", "--limit", "x");
    assertThat(option.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(option.err()).contains("--limits");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "serve", "lint", "key", "replay", "simulate", "overrides", "completion"})
  void help_teaches_onStandardOutput_withoutColours(String command) {
    Cli run = command.isEmpty() ? Cli.run("--help") : Cli.run(command, "--help");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).startsWith("Usage: sluice").doesNotContain("\u001b");
    if (!command.equals("overrides")) {
      assertThat(run.out()).containsPattern("(?m)^  .*sluice " + command);
    }
  }

  @Test
  void version_isPrinted() {
    assertThat(Cli.run("--version").out()).startsWith("sluice ");
  }

  @Test
  void completion_isAScriptThatBashUnderstands() throws Exception {
    for (String shell : List.of("bash", "zsh")) {
      Cli run = Cli.run("completion", shell);
      assertThat(run.code()).isEqualTo(Exit.DONE);
      assertThat(run.out()).contains("replay", "--overrides", "completion " + shell);
      Process bash = new ProcessBuilder("bash", "-n").redirectErrorStream(true).start();
      bash.outputWriter().append(run.out()).close();
      assertThat(bash.inputReader().readLine()).isNull();
      assertThat(bash.waitFor()).isZero();
    }
    assertThat(Cli.run("completion", "fish").code()).isEqualTo(Exit.BROKEN_INPUT);
  }
}
