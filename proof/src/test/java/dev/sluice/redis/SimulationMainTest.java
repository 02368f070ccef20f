// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract of {@code ./sluice prove simulation} with those who call it. */
final class SimulationMainTest {

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  @BeforeAll
  static void quiet() {
    Logger.getLogger("dev.sluice").setLevel(Level.OFF);
  }

  private int run(String arguments) {
    return SimulationMain.run(
        arguments.split(" ", -1), new PrintStream(out, true, StandardCharsets.UTF_8));
  }

  private List<String> lines() {
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @Test
  void seedAlone_tellsItsSteps() {
    assertThat(run("--seed 1000000")).isZero();
    assertThat(lines())
        .singleElement()
        .asString()
        .matches("seed 1000000: [1-9][0-9]* steps, no invariant broke");
  }

  @Test
  void kind_ofTheSameViolation_isTheSameForEachCaller() {
    String kind = SimulationMain.kind("p0.5 spend [1:o0 x1, 2:s1 x3] was denied twice: denied");
    assertThat(kind)
        .contains("was denied twice")
        .isEqualTo(SimulationMain.kind("p1.77 spend [2:f1-7 x1] was denied twice: denied"))
        .isNotEqualTo(SimulationMain.kind("p0.5 spend [1:o0 x1] has not ended after 550 ms"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"0.0001 --seed 1000000", "--seed 1000000 0.0001", "0.0001 --seed 1000000 --brief"})
  void minutesAndSeed_beginWithTheSeed(String arguments) {
    assertThat(run(arguments)).isZero();
    assertThat(lines())
        .hasSize(3)
        .startsWith("first seed 1000000", "fewer than 10,000,000 steps prove little; run longer");
    assertThat(lines())
        .last()
        .asString()
        .matches(
            "[1-9][0-9]* simulated runs, [1-9][0-9]* steps, [0-9]+ steps per second, no invariant broke");
  }

  @Test
  void survey_beginsWithTheSeed() {
    assertThat(run("0.0001 --seed 1000000 --survey")).isZero();
    assertThat(lines()).hasSize(2).first().isEqualTo("first seed 1000000");
  }

  @Test
  void seedOfNoDatabase_isFollowedByTheNextOfOne() {
    assertThat(run("--database --seed 1000000")).isZero();
    long seed = Long.parseLong(lines().get(0).replaceAll("seed ([0-9]+): .*", "$1"));
    assertThat(Plan.random(seed).topology()).isEqualTo(Fleet.Topology.DATABASE);
    assertThat(seed).isGreaterThan(1_000_000).isLessThan(1_001_000);
    assertThat(run("--database --survey 0.0001 --seed 1000000")).isZero();
    assertThat(lines()).contains("first seed " + seed);
  }

  @Test
  void seedWithoutSettlements_isFollowedByTheNextWithSome() {
    assertThat(run("--settlements --seed 1000000")).isZero();
    long seed = Long.parseLong(lines().get(0).replaceAll("seed ([0-9]+): .*", "$1"));
    assertThat(Plan.random(seed).has(Step.Kind.RESERVE_SETTLED)).isTrue();
    assertThat(seed).isGreaterThan(1_000_000).isLessThan(1_001_000);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--database --settlements",
        "1 2",
        "--seed",
        "--seed x",
        "ten",
        "--seed 1 --seed 2",
        "--breif"
      })
  void wrongArguments_endWith2(String arguments) {
    assertThat(run(arguments)).isEqualTo(2);
    assertThat(lines()).isEmpty();
  }

  private int runPlan(Path folder, String... plan) throws IOException {
    Path file = Files.write(folder.resolve("a.plan"), List.of(plan));
    return SimulationMain.run(
        new String[] {"--plan", file.toString()},
        new PrintStream(out, true, StandardCharsets.UTF_8));
  }

  @Test
  void planThatHolds_endsWith0AndItsSteps(@TempDir Path folder) throws IOException {
    assertThat(runPlan(folder, "seed 5", "processes 1", "latencyMicros 20", "1 p0 spend 0 0 1"))
        .isZero();
    assertThat(lines()).last().asString().matches("[1-9][0-9]* steps, no invariant broke");
  }

  /** It throws before the first event: no list of limits has that number. */
  @Test
  void planThatThrows_endsWith1AndItsSeed(@TempDir Path folder) throws IOException {
    assertThat(runPlan(folder, "seed 5", "processes 2", "limitsDiffer -1")).isEqualTo(1);
    assertThat(lines()).last().isEqualTo("seed 5");
    assertThat(lines()).element(lines().size() - 2).asString().startsWith("the run threw java.");
  }

  @ParameterizedTest
  @ValueSource(strings = {"seed x", "seed", "1 p0", "topology star"})
  void planOfAnotherForm_endsWith2(String line, @TempDir Path folder) throws IOException {
    assertThat(runPlan(folder, line)).isEqualTo(2);
    assertThat(lines()).isEmpty();
  }
}
