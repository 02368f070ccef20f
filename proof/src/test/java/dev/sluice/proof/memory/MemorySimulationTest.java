// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract of {@code ./sluice prove simulation memory} with those who call it. */
final class MemorySimulationTest {

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  private int run(String arguments) {
    return MemorySimulation.run(
        arguments.split(" ", -1), new PrintStream(out, true, StandardCharsets.UTF_8));
  }

  private List<String> lines() {
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @Test
  void seedAlone_tellsItsSteps() {
    assertThat(run("--seed 1000000")).isZero();
    assertThat(lines()).singleElement().asString().matches("[1-9][0-9]* steps");
  }

  @Test
  void minutesAndSeed_beginWithTheSeed() {
    assertThat(run("0.001 --seed 1000000")).isZero();
    assertThat(lines()).hasSize(4).first().isEqualTo("first seed 1000000");
    assertThat(lines())
        .contains("fewer than 50,000,000 steps prove little; run the simulation longer");
    assertThat(lines()).last().asString().matches("[1-9][0-9]* steps");
  }

  @Test
  void brief_endsAsWell() {
    assertThat(run("0.001 --seed 1000000 --brief")).isZero();
    assertThat(lines()).hasSize(4).first().isEqualTo("first seed 1000000");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--seed", "--seed x", "x", "--fast"})
  void wrongArguments_endWithTwo(String arguments) {
    assertThat(run(arguments)).isEqualTo(2);
    assertThat(lines()).isEmpty();
  }
}
