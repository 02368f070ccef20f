// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

final class MainTest {

  @Test
  void noCommand_isRefused_sayingWhereToLook() {
    Cli run = Cli.run();
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).isEmpty();
    assertThat(run.err())
        .startsWith("sluice: the command is missing")
        .contains("Try: sluice --help");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "sreve | unknown command \"sreve\"; did you mean \"serve\"?",
        "reply | unknown command \"reply\"; did you mean \"replay\"?",
        "overrides dunp | unknown command \"dunp\"; did you mean \"dump\"?",
        "help sepnd | unknown command \"sepnd\"; did you mean \"spend\"?",
        "lint --limit x | unknown option \"--limit\" for sluice lint; did you mean \"--limits\"?",
        "lint --limit=x | unknown option \"--limit\" for sluice lint",
        "key LoginsPerIPAddress | sluice key needs ID",
        "key | sluice key needs LIMIT and ID",
        "key a b c | unexpected argument \"c\": sluice key takes LIMIT and ID",
        "spend a -- -b --server http://h | --server stands after --; write options before --",
        "serve x | unexpected argument \"x\": sluice serve takes options only",
        "overrides add a b --burst 1 --period 1h | sluice overrides add needs --count N",
        "spend a b --cost x | --cost: found \"x\", expected a whole number",
        "spend a b --cost 99999999999999999999 | --cost: found \"99999999999999999999\", expected a whole number",
        "spend a b --cost --server http://h | --cost: the value is missing, expected N",
        "serve --port 80 | unknown option \"--port\" for sluice serve; did you mean \"--http\"?",
        "version | unknown command \"version\"; did you mean \"--version\"?",
        "token new ci --role spend | --role: found \"spend\", expected one of decide, read, admin",
        "spend a b --cost | --cost: the value is missing, expected N",
        "spend a b --cost 1 --cost 2 | --cost: found twice, expected once",
        "serve --store | --store: the value is missing, expected STORE",
        "replay --format cvs x | --format: found \"cvs\", expected one of alb",
        "overrides | sluice overrides needs one of dump, migrate, import, add, set, remove, list, enable, disable",
        "penalty | sluice penalty needs one of set, remove, list",
        "token | sluice token needs one of new",
        "completion fsih | SHELL: found \"fsih\", expected one of bash, zsh, fish; did you mean \"fish\"?",
        "serve --request-log=maybe | --request-log: found the value \"maybe\", expected none",
        "key a b redis://app:S3cret@h | unexpected argument \"redis://…@h\"",
      })
  void misuse_isRefusedInOurOwnWords(String words, String message) {
    Cli run = Cli.run(words.split(" "));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).startsWith("sluice: " + message);
    assertThat(run.err().lines().count()).isLessThanOrEqualTo(2);
  }

  /** Each command with its subcommands, as somebody types it. */
  private static Stream<String> commands() {
    ByteArrayOutputStream nowhere = new ByteArrayOutputStream();
    Console console = new Console(InputStream.nullInputStream(), nowhere, nowhere);
    return named("", Main.commandLine(console));
  }

  private static Stream<String> named(String name, CommandLine command) {
    return Stream.concat(
        Stream.of(name),
        command.getSubcommands().entrySet().stream()
            .flatMap(sub -> named((name + " " + sub.getKey()).strip(), sub.getValue())));
  }

  @ParameterizedTest
  @MethodSource("commands")
  void help_teachesWithExamples_in80Columns_withoutColours(String command) {
    String[] asked = (command + " --help").strip().split(" ");
    Cli run = Cli.run(asked);
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err()).isEmpty();
    assertThat(run.out()).startsWith("Usage: sluice").doesNotContain("\u001b");
    assertThat(run.out()).containsPattern("(?m)^Examples?:\\R  .*sluice " + command);
    assertThat(run.out().lines()).allMatch(line -> line.length() <= 80);
    Cli help = Cli.run(("help " + command).strip().split(" "));
    assertThat(help.out().strip()).isEqualTo(run.out().strip());
  }

  @Test
  void help_ofAnUnknownCommand_saysWhereMoreIsToBeRead() {
    assertThat(Cli.run("help", "nope").err()).contains("Try: sluice --help");
  }

  /** An example that is wrapped by the library cannot be copied. */
  @ParameterizedTest
  @MethodSource("commands")
  void examples_areShownAsTheyAreWritten(String command) {
    String help = Cli.run((command + " --help").strip().split(" ")).out();
    String examples = help.substring(help.indexOf("\nExample") + 1);
    assertThat(examples.lines().skip(1)).allMatch(line -> line.startsWith("  "));
  }

  @ParameterizedTest
  @ValueSource(strings = {"limits", "stats", "top"})
  void withoutAServer_theLoopbacksUsualPortIsAsked(String command) {
    assertThat(Cli.run(command, "--help").out())
        .containsPattern("The server\\s+\\(http://127\\.0\\.0\\.1:8080\\)");
    Cli run = Cli.run(command, "--server", "http://127.0.0.1:1");
    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err()).contains("is the server running?");
  }

  @Test
  void helpOfServe_beginsWithTheTenOptionsThatOneNeeds() {
    String help = Cli.run("serve", "--help").out();
    assertThat(help.substring(help.indexOf("\nMost needed:"), help.indexOf("\nConfiguration:")))
        .contains("--config", "--limits", "--store", "--http", "--tokens", "--tls-certificate")
        .doesNotContain("--rls")
        .matches(group -> group.split("\n {6}--", -1).length == 11);
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
  }

  @Test
  void completion_forFish_knowsEveryCommandAndOption() {
    Cli run = Cli.run("completion", "fish");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    List<String> lines = run.out().lines().toList();
    assertThat(lines.get(0)).isEqualTo("# Load it with: sluice completion fish | source");
    assertThat(lines.stream().skip(1)).allMatch(line -> line.startsWith("complete -c sluice "));
    for (String command : commands().filter(name -> !name.isEmpty()).toList()) {
      String word = command.substring(command.lastIndexOf(' ') + 1);
      assertThat(lines).anyMatch(line -> line.contains(" -a " + word + " -d '"));
    }
    assertThat(run.out())
        .contains(
            "complete -c sluice -f -n '__fish_use_subcommand' -a serve -d '",
            "complete -c sluice -n '__fish_seen_subcommand_from lint' -l limits -rF -d '",
            "complete -c sluice -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'");
    // No quote is left open.
    assertThat(lines)
        .allMatch(line -> line.replace("\\'", "").chars().filter(c -> c == '\'').count() % 2 == 0);
  }

  @Test
  void misuse_isToldInOurOwnWords() {
    String[] where = {"A", "b", "--server", "http://127.0.0.1:1"};
    assertThat(misused("penalty", "set", where, "--for", "1m", "--owe", "3"))
        .isEqualTo("found --for and --owe, expected one of --until TIME, --for PERIOD, --owe N");
    assertThat(misused("overrides", "set", where, "--unlimited"))
        .startsWith("unknown option \"--unlimited\" for sluice overrides set");
    assertThat(misused("overrides", "set", where, "--comment", "--x"))
        .startsWith("sluice overrides set needs --burst N");
  }

  private static String misused(String group, String command, String[] where, String... more) {
    Cli run =
        Cli.run(
            Stream.of(new String[] {group, command}, where, more)
                .flatMap(Stream::of)
                .toArray(String[]::new));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    return run.err().lines().findFirst().orElseThrow().replaceFirst("^sluice: ", "");
  }

  @ParameterizedTest
  @CsvSource({"518979584, 494 MB, -Xmx1g", "1073741824, '1,024 MB', -Xmx2g", "1, 0 MB, -Xmx1g"})
  void fullHeap_isReported_withItsSizeAndTheNextSize(long bytes, String size, String option) {
    assertThat(Main.outOfMemory(bytes)).contains("heap of " + size, "SLUICE_OPTS=" + option);
  }
}
