// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InitCommandTest {

  @TempDir private Path folder;
  private Path file = Path.of("limits.yml");

  @BeforeEach
  void setFile() {
    file = folder.resolve("limits.yml");
  }

  private Cli init(String answers, String... options) {
    List<String> args = new ArrayList<>(List.of("init"));
    args.addAll(List.of(options));
    args.add(file.toString());
    return Cli.runWith(answers.getBytes(StandardCharsets.UTF_8), args.toArray(String[]::new));
  }

  private String linted() throws IOException {
    Cli lint = Cli.run("lint", file.toString());
    assertThat(lint.err()).startsWith("no mistakes, no warnings");
    return Files.readString(file);
  }

  @Test
  void threeAnswers_writeAFileThatLintsClean() throws IOException {
    Cli run = init("CallsPerCustomer\nstring\n100/1m,burst=20\n");

    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err().split("]: ", -1)).hasSize(4);
    assertThat(run.out()).contains("sluice serve --limits " + file);
    assertThat(linted())
        .isEqualTo("CallsPerCustomer:\n  id: string\n  burst: 20\n  count: 100\n  period: 1m\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ipAddress:string", "regId:domain", "fqdnSet"})
  void options_answerTheQuestions(String format) throws IOException {
    Cli run = init("", "--limit", "A", "--id", format, "--allow", "1/7d");

    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err()).isEmpty();
    assertThat(linted())
        .isEqualTo("A:\n  id: " + format + "\n  burst: 1\n  count: 1\n  period: 7d\n");
  }

  @Test
  void aKnownName_needsNoId_andEmptyAnswersAreTheUsualOnes() throws IOException {
    Cli run = init("\n\n");

    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(linted()).isEqualTo("LoginsPerIPAddress:\n  burst: 10\n  count: 10\n  period: 1m\n");
  }

  @Test
  void aWrongAnswer_isAskedForAgain() throws IOException {
    Cli run = init("2nd\nCalls\nipAdress\nipAddress\nten\n10/1s\n");

    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.err())
        .contains("did you mean \"ipAddress\"?", "found \"ten\", expected COUNT/PERIOD");
    assertThat(linted()).contains("id: ipAddress");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--limit 2nd | --limit: ",
        "--limit A --id nope | --id: found the id format \"nope\"",
        "--limit A --id string --allow 10 | --allow: found \"10\", expected COUNT/PERIOD",
        "--limit A --id string --allow 0/1m | --allow: ",
        "--limit LoginsPerIPAddress --id string --allow 1/1m | --id: found \"string\", but the id",
        "--limit A --id string | the answer is missing; give --allow",
        "--limit overrides --id string --allow 1/1m | not written",
      })
  void wrongOptions_areRefused_andNothingIsWritten(String options, String message) {
    Cli run = init("", options.split(" "));

    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains(message);
    assertThat(file).doesNotExist();
  }

  @Test
  void aFileThatExists_staysAsItIs() throws IOException {
    Files.writeString(file, "mine");

    assertThat(init("\n\n").err()).contains("exists already");
    assertThat(file).hasContent("mine");
  }

  @Test
  void aFolderThatDoesNotExist_isRefused() {
    file = folder.resolve("nope/limits.yml");

    Cli run = init("\n\n");

    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("limits.yml: there is no folder " + folder.resolve("nope"));
  }
}
