// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proof.memory.History.Schedule;
import dev.sluice.proof.memory.HistoryRunner.Call;
import dev.sluice.proof.memory.HistoryRunner.Run;
import dev.sluice.proof.memory.InstrumentedStore.Answer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The store in memory, one step at a time. The histories in {@code histories/} are those that an
 * earlier version got wrong: each is repeated by its own turns, and by others, as the same turns
 * meet other steps when the code changes.
 */
class HistoryRunnerTest {

  private static final Path HISTORIES =
      Path.of("src/test/resources/dev/sluice/proof/memory/histories");
  private static final int OTHER_TURNS = 300;
  private static final int SEEDS = 6_000;
  private static final long REDUCING_NANOS = 20_000_000_000L;

  private final HistoryRunner simulation = new HistoryRunner();

  static List<Path> histories() throws IOException {
    try (Stream<Path> all = Files.list(HISTORIES)) {
      return all.sorted().toList();
    }
  }

  private void assertHolds(Run run, String what) {
    if (run.failed()) {
      throw new AssertionError(what + "\n" + simulation.report(run));
    }
  }

  @ParameterizedTest
  @MethodSource("histories")
  void keptHistory_holds(Path file) throws IOException {
    History history = History.parse(Files.readString(file));
    assertHolds(simulation.repeat(history, false), "by its own turns");
    Random random = new Random(7);
    for (int i = 0; i < OTHER_TURNS; i++) {
      History other = history.with(new Schedule(i % 2 == 0, List.of()));
      assertHolds(simulation.byChance(other, random, Odds.random(random)), "by other turns");
    }
  }

  /** The same ones in each run; {@code ./sluice prove simulation memory} tries fresh ones. */
  @Test
  void manySeeds_hold() {
    for (long seed = 0; seed < SEEDS; seed++) {
      Run run = MemorySimulation.run(simulation, seed);
      if (run.failed()) {
        assertHolds(new Reducer(simulation, REDUCING_NANOS).reduce(run), "seed " + seed);
      }
    }
  }

  @Test
  void seed_runTwice_takesTheSameSteps() {
    for (long seed = 0; seed < 100; seed++) {
      Run one = MemorySimulation.run(simulation, seed);
      assertThat(MemorySimulation.run(simulation, seed).calls()).isEqualTo(one.calls());
      assertThat(simulation.repeat(one.history(), false).calls()).isEqualTo(one.calls());
    }
  }

  @Test
  void history_printedAndParsed_isTheSame() {
    for (long seed = 0; seed < 100; seed++) {
      History history = MemorySimulation.run(simulation, seed).history();
      assertThat(History.parse(history.toString())).isEqualTo(history);
    }
  }

  @Test
  void linearization_readingsOfNoOrder_areRefused() {
    Setup setup = new Setup(10, 1, 2, 0);
    long after = Setup.START_NANOS + Setup.TOKEN_NANOS;
    Call spend = call("spend 0 1", 1, 5, 0);
    assertThat(LinearizationJudge.exists(setup, List.of(spend, call("check 0 1", 6, 9, after))))
        .isTrue();
    assertThat(LinearizationJudge.exists(setup, List.of(spend, call("check 0 1", 6, 9, 0))))
        .isFalse();
    assertThat(LinearizationJudge.exists(setup, List.of(spend, call("check 0 1", 4, 9, 0))))
        .isTrue();
  }

  private static Call call(String op, long begun, long ended, long tatNanos) {
    long now = Setup.START_NANOS;
    Answer answer = new Answer("", List.of(now), List.of(tatNanos));
    return new Call(0, Op.parse(op), begun, ended, now, now, answer);
  }
}
