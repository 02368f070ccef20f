// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.testkit.Vectors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

final class CoveringCommandTest {

  static List<JsonNode> vectors() throws Exception {
    List<JsonNode> vectors = new ArrayList<>();
    new ObjectMapper().readTree(Vectors.text("covering.json")).forEach(vectors::add);
    return vectors;
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void covering_isThatOfTheVector(JsonNode vector) {
    List<String> args = new ArrayList<>(List.of("covering"));
    vector.get("identifiers").forEach(identifier -> args.add(identifier.textValue()));
    StringBuilder expected = new StringBuilder();
    vector.get("covering").forEach(line -> expected.append(line.textValue()).append('\n'));
    assertThat(Cli.run(args.toArray(String[]::new)))
        .isEqualTo(new Cli(Exit.DONE, expected.toString(), ""));
  }

  @ParameterizedTest
  @CsvSource({"localhost, dot", "a_b.com, U+005F", "10.0.0.1/32, neither", "'', empty"})
  void whatIsNoIdentifier_isRefused(String identifier, String reason) {
    Cli run = Cli.run("covering", "example.com", identifier);
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).contains(reason);
  }

  @Test
  void noIdentifier_isWrongUsage() {
    assertThat(Cli.run("covering").code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void anotherList_isUsedInstead_ifItIsOne(@TempDir Path folder) throws Exception {
    Path list =
        Files.writeString(
            folder.resolve("list.dat"),
            """
            // VERSION: 2026-11-01_10-20-30_UTC
            // ===BEGIN ICANN DOMAINS===
            com
            // ===END ICANN DOMAINS===
            // ===BEGIN PRIVATE DOMAINS===
            example.com
            // ===END PRIVATE DOMAINS===
            """);
    assertThat(Cli.run("covering", "--suffixes", list.toString(), "a.www.example.com").out())
        .isEqualTo("www.example.com\n");
    Files.writeString(list, "lol");
    Cli run = Cli.run("covering", "--suffixes", list.toString(), "example.com");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("list.dat").contains("publicsuffix.org");
  }
}
