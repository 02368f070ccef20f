// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ConvertCommandTest {

  @TempDir Path folder;

  private Cli convert(String config) throws IOException {
    Path file = Files.writeString(folder.resolve("config.yaml"), config);
    return Cli.run("convert", "envoy-ratelimit", file.toString(), "--out", out().toString());
  }

  private Path out() {
    return folder.resolve("converted");
  }

  private static final String GOOD =
      """
      domain: edge
      descriptors:
        - key: remote_address
          rate_limit: {unit: second, requests_per_unit: 10}
        - key: remote_address
          value: 192.0.2.7
          rate_limit: {unit: second, requests_per_unit: 3}
      """;

  @Test
  void files_passLint() throws IOException {
    assertThat(convert(GOOD).code()).isEqualTo(Exit.DONE);
    Cli lint =
        Cli.run(
            "lint",
            "--limits",
            out().resolve("limits.yml").toString(),
            "--overrides",
            out().resolve("overrides.yml").toString(),
            "--rules",
            out().resolve("rules.yml").toString());
    assertThat(lint.out()).isEmpty();
    assertThat(lint.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void fileAsTheFolder_isRefused() throws IOException {
    Files.createFile(out());
    Cli run = convert(GOOD);
    assertThat(run.err()).contains("converted: found a file, expected a folder");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void files_areToldApartByLint_withoutOptions() throws IOException {
    assertThat(convert(GOOD).code()).isEqualTo(Exit.DONE);
    Cli lint =
        Cli.run(
            "lint",
            out().resolve("limits.yml").toString(),
            out().resolve("overrides.yml").toString(),
            out().resolve("rules.yml").toString());
    assertThat(lint.err()).startsWith("no mistakes, no warnings");
    assertThat(lint.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void filesThatDoNotLint_areReported() throws IOException {
    String longName = "d".repeat(70_000);
    Cli run = convert("<<: {domain: %s}%n".formatted(longName) + GOOD.replaceFirst(".*\n", ""));
    assertThat(run.out()).contains("found a value of 70000 characters, expected at most 65536");
    assertThat(run.err()).contains("the written files have mistakes");
    assertThat(run.code()).isEqualTo(Exit.NO);
  }

  @Test
  void severalFiles_becomeOneSet() throws IOException {
    Path edge = Files.writeString(folder.resolve("edge.yaml"), GOOD);
    Path mesh = Files.writeString(folder.resolve("mesh.yaml"), GOOD.replace("edge", "mesh"));
    String[] files = {edge.toString(), mesh.toString()};
    Cli run = Cli.run("convert", "envoy-ratelimit", files[0], files[1], "--out", out().toString());
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(out().resolve("rules.yml")).content().contains("rulesOnly: [\"edge\", \"mesh\"]");

    Cli twice = Cli.run("convert", "envoy-ratelimit", files[0], files[0]);
    assertThat(twice.code()).isEqualTo(Exit.NO);
    assertThat(twice.out())
        .contains("edge.yaml:3:5: found the descriptor \"remote_address\" again");
  }

  @Test
  void files_areNeverReplaced() throws IOException {
    assertThat(convert(GOOD).code()).isEqualTo(Exit.DONE);
    Cli again = convert(GOOD);
    assertThat(again.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(again.err()).contains("limits.yml exists already");
  }

  @Test
  void whatIsNotExpressed_isToldByItsPlace_andTheRestIsWritten() throws IOException {
    Cli run = convert(GOOD + "    quota_mode: true\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(run.out()).contains("config.yaml:8:17: ", "quota_mode is not converted");
    assertThat(out().resolve("rules.yml")).exists();
  }

  @Test
  void limitThatGetsAnotherName_isANote_andNothingIsLost() throws IOException {
    Cli run =
        convert(GOOD + "  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, name: N!}}\n");
    assertThat(run.out())
        .contains(
            "config.yaml:8:66: note: the limit \"N!\" is named N_ in the converted files: a name is a letter");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(out().resolve("rules.yml")).exists();
  }

  @Test
  void configurationWithMistakes_writesNothing() throws IOException {
    Cli run = convert("descriptors: []\n");
    assertThat(run.code()).isEqualTo(Exit.NO);
    assertThat(run.out()).contains("config.yaml:1:1: the field domain is missing");
    assertThat(out()).doesNotExist();
  }

  @Test
  void unknownFormat_isRefused() {
    Cli run = Cli.run("convert", "nginx", "nginx.conf");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("found the format \"nginx\", expected envoy-ratelimit");
  }
}
