// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Worlds that once broke an invariant, and some hundred others. */
final class SimulationTest {

  /** How many seeds are tried: {@code -Dsluice.simulation.worlds=100000}. */
  private static final long WORLDS = Long.getLong("sluice.simulation.worlds", 400);

  private static final long FIRST_SEED = 1_000_000;

  private static final Logger LOG = Logger.getLogger("dev.sluice");

  @BeforeAll
  static void quiet() {
    LOG.setLevel(Level.OFF);
  }

  static List<Path> kept() throws IOException, URISyntaxException {
    Path folder = Path.of(Objects.requireNonNull(SimulationTest.class.getResource("kept")).toURI());
    try (Stream<Path> plans = Files.list(folder)) {
      return plans.sorted().toList();
    }
  }

  /** What each file broke is its first line; its name says how. */
  @ParameterizedTest
  @MethodSource("kept")
  void keptPlan_breaksNoInvariant(Path file) throws IOException {
    Plan plan = Plan.parse(Files.readAllLines(file));
    Simulation.Result result = Simulation.run(plan, true);
    assertThat(result.violation()).as(String.join("\n", result.history())).isNull();
  }

  /** The same ones in each run; {@code ./sluice prove simulation} tries fresh ones. */
  @Test
  void manySeeds_breakNoInvariant() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + WORLDS; seed++) {
      assertThat(Simulation.run(Plan.random(seed), false).violation())
          .as("seed %d; ./sluice prove simulation --seed %d tells the history", seed, seed)
          .isNull();
    }
  }

  @Test
  void oneSeed_isOneHistory() {
    Plan plan = Plan.random(20_261_121);
    Simulation.Result once = Simulation.run(plan, true);
    assertThat(Simulation.run(plan, true).history()).isEqualTo(once.history()).isNotEmpty();
    assertThat(Plan.parse(plan.lines())).isEqualTo(plan);
  }

  private static List<String> historyOf(String topology, String fault) {
    List<String> lines = new ArrayList<>(List.of("topology " + topology, "latencyMicros 100"));
    lines.add("processes 1");
    for (int at = 0; at < 30; at++) {
      lines.add(at * 20_000_000L + " p0 spend 0 0 1");
    }
    lines.add("100000000 p0 " + fault);
    Simulation.Result result = Simulation.run(Plan.parse(lines), true);
    assertThat(result.violation()).isNull();
    return result.history();
  }

  private static boolean isAnsweredReadonly(List<String> history) {
    return history.stream()
        .anyMatch(line -> line.contains("s0 answers") && line.contains("READONLY"));
  }

  @Test
  void oldMasterThatKeepsItsClients_answersReadonly() {
    assertThat(isAnsweredReadonly(historyOf("sentinel", "fail_over 60 1"))).isTrue();
    assertThat(isAnsweredReadonly(historyOf("sentinel", "fail_over 60 0"))).isFalse();
    assertThat(isAnsweredReadonly(historyOf("sentinel", "fail_over"))).isFalse();
  }

  private static boolean isAnswered(String fault, String words) {
    return historyOf("database", fault).stream()
        .anyMatch(line -> line.contains("s0 answers") && line.contains(words));
  }

  @Test
  void faultOfADatabase_isAnsweredAsByPostgres() {
    assertThat(isAnswered("lock_rows 0 2 400", "lock timeout")).isTrue();
    assertThat(isAnswered("try_again 0 400", "deadlock detected")).isTrue();
    assertThat(isAnswered("out_of_memory 0 400", "could not extend file")).isTrue();
    assertThat(isAnswered("forget_script 0", "prepared statement \"S_1\"")).isTrue();
    assertThat(isAnswered("cluster_down 0 400", "read-only transaction")).isTrue();
    assertThat(isAnswered("fail_over 0 1", "read-only transaction")).isTrue();
  }

  @Test
  void oneSeedOfADatabase_isOneHistory() {
    Plan plan =
        LongStream.range(0, 100)
            .mapToObj(Plan::random)
            .filter(one -> one.topology() == Fleet.Topology.DATABASE)
            .findFirst()
            .orElseThrow();
    Simulation.Result once = Simulation.run(plan, true);
    assertThat(Simulation.run(plan, true).history()).isEqualTo(once.history()).isNotEmpty();
  }

  /** Returns how often the server answers on a connection that is cut. */
  private static long answersAfterCut(List<String> history) {
    return history.stream()
        .dropWhile(line -> !line.contains("p0-s0#1 is cut"))
        .filter(line -> line.contains("s0 answers p0-s0#1"))
        .count();
  }

  @Test
  void connectionDeadInOneDirection_stillCarriesRequests() {
    assertThat(answersAfterCut(historyOf("single", "cut 0 3"))).isPositive();
    assertThat(answersAfterCut(historyOf("single", "cut 0 2"))).isZero();
  }
}
