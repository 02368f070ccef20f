// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.testkit.ReferenceBuckets.Answer;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests of random sequences of operations. The expected results come from {@link ReferenceBuckets}.
 */
interface HistoryRules extends DrivenStores {

  int STEPS = 60;

  /**
   * Unlike in the other tests of histories, the clock never steps back here: after a step back, the
   * result would depend on whether the store has deleted a full bucket.
   */
  @Test
  default void history_anyActs_areAnsweredAsTheReferenceDoes() {
    Seeds.run(
        histories(),
        random -> {
          RandomHistory history = new RandomHistory(random);
          Quota quota = history.quota();
          try (Bench bench = Bench.of(this, quota)) {
            ReferenceBuckets reference = new ReferenceBuckets(bench.time);
            for (int step = 0; step < STEPS; step++) {
              bench.time.advanceNanos(history.stepNanos(quota));
              if (history.chance(20)) {
                quota = history.quota();
                bench.changeLimits(quota);
              }
              actOnBoth(bench, reference, history, quota);
            }
          }
        });
  }

  private static void actOnBoth(
      Bench bench, ReferenceBuckets reference, RandomHistory history, Quota quota) {
    List<Transaction> batch = history.batch(bench, quota);
    switch (history.oneOutOf(8)) {
      case 0 -> assertSame(bench.limiter.check(batch), reference.check(batch), quota);
      case 1, 2 -> assertSame(bench.limiter.refund(batch), reference.refund(batch), quota);
      case 3 -> {
        bench.limiter.reset(batch.subList(0, 1));
        reference.reset(batch.subList(0, 1));
      }
      default -> {
        Decision spent = bench.limiter.spend(batch);
        assertSame(spent, reference.spend(batch), quota);
        if (spent.denied()) {
          awaitGivenBack(bench, batch);
        }
      }
    }
  }

  /**
   * Waits until a store on several servers has refunded the tokens that it spent for a denied
   * batch. If the store and the caller refunded tokens at the same time, fewer tokens could return
   * (decision 004). This method waits by checking the batch, since the store decides on a check
   * only after its own refunds.
   */
  private static void awaitGivenBack(Bench bench, List<Transaction> batch) {
    Decision unused = bench.limiter.check(batch);
  }

  private static void assertSame(Decision decision, List<Answer> expected, Quota quota) {
    assertThat(decision.parts().stream().map(Answer::of)).isEqualTo(expected);
    for (Decision part : decision.parts()) {
      assertThat(part.resetInNanos()).isNotNegative();
      if (part.resetInNanos() > quota.offsetNanos()) { // the bucket is in debt
        assertThat(part.remaining()).isZero();
      }
      boolean limited = part.remaining() != Long.MAX_VALUE;
      assertThat(part.remaining()).isBetween(0L, limited ? quota.burst() : Long.MAX_VALUE);
    }
  }

  /** In any period, spent minus refunded tokens are at most burst + elapsed / emission interval. */
  @Test
  default void history_anyWindow_givesOutNoMoreThanBurstAndWhatElapsed() {
    Seeds.run(
        histories(),
        random -> {
          RandomHistory history = new RandomHistory(random);
          Quota quota = history.quota();
          try (Bench bench = Bench.of(this, quota)) {
            List<Given> given = new ArrayList<>();
            long forwardNanos = 0;
            for (int step = 0; step < STEPS; step++) {
              long stepNanos = history.anyStepNanos(quota);
              bench.time.advanceNanos(stepNanos);
              forwardNanos += Math.max(stepNanos, 0);
              long cost = history.cost(quota);
              if (history.chance(5)) {
                long before =
                    // A refund of 0 tokens reports the reset time, which includes a debt that is
                    // not forgiven yet.
                    bench.refund(0).resetInNanos();
                long back = before - bench.refund(cost).resetInNanos();
                given.add(new Given(forwardNanos, -back));
              } else if (bench.spend(cost).allowed()) {
                given.add(new Given(forwardNanos, quota.incrementNanos(cost)));
              }
            }
            assertWindows(given, quota);
          }
        });
  }

  /**
   * Tokens that one operation spent or refunded.
   *
   * @param atNanos the sum of all forward steps of the clock before the operation
   * @param worthNanos the number of tokens times the emission interval; negative for a refund
   */
  record Given(long atNanos, long worthNanos) {}

  private static void assertWindows(List<Given> given, Quota quota) {
    BigInteger size = BigInteger.valueOf(quota.offsetNanos());
    for (int first = 0; first < given.size(); first++) {
      BigInteger sum = BigInteger.ZERO;
      for (int last = first; last < given.size(); last++) {
        sum = sum.add(BigInteger.valueOf(given.get(last).worthNanos()));
        long elapsed = given.get(last).atNanos() - given.get(first).atNanos();
        assertThat(sum)
            .as("tokens granted from operation %d to operation %d", first, last)
            .isLessThanOrEqualTo(size.add(BigInteger.valueOf(elapsed)));
      }
    }
  }

  @Test
  default void history_everyDenial_endsAfterExactlyItsWait() {
    Seeds.run(
        histories(),
        random -> {
          RandomHistory history = new RandomHistory(random);
          Quota quota = history.quota();
          try (Bench bench = Bench.of(this, quota)) {
            for (int step = 0; step < STEPS; step++) {
              bench.time.advanceNanos(history.anyStepNanos(quota));
              long cost = history.cost(quota);
              Decision decision = bench.spend(cost);
              if (decision.denied()) {
                long now = bench.time.nanos();
                bench.time.set(now + decision.retryInNanos() - 1);
                assertThat(bench.check(cost).denied()).as("1 ns too early").isTrue();
                bench.time.set(now + decision.retryInNanos());
                assertThat(bench.check(cost).allowed()).as("after the wait").isTrue();
                bench.time.set(now);
              }
            }
          }
        });
  }

  @Test
  default void history_checksAndDeniedBatches_leaveEveryBucketAsItWas() {
    Seeds.run(
        histories(),
        random -> {
          RandomHistory history = new RandomHistory(random);
          Quota quota = history.quota();
          try (Bench bench = Bench.of(this, quota)) {
            for (int step = 0; step < STEPS; step++) {
              bench.time.advanceNanos(history.anyStepNanos(quota));
              List<Transaction> batch = history.batch(bench, quota);
              List<Answer> before = states(bench);
              var unused = bench.limiter.check(batch);
              assertThat(states(bench)).as("after a check").isEqualTo(before);
              long emptyNanos = quota.offsetNanos();
              boolean mayForgive =
                  batch.size() == 1
                      && before.stream().anyMatch(state -> state.resetInNanos() > emptyNanos);
              if (bench.limiter.spend(batch).denied() && !mayForgive) {
                assertThat(states(bench)).as("after a denial").isEqualTo(before);
              }
            }
          }
        });
  }

  private static List<Answer> states(Bench bench) {
    return List.of(
        Answer.of(bench.state(Bench.A)),
        Answer.of(bench.state(Bench.B)),
        Answer.of(bench.state(Bench.C)));
  }
}
