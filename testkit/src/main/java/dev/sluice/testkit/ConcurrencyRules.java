// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.C;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Reservation;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Tests with many threads that spend from a few buckets. All threads together must get exactly the
 * tokens that the limits allow.
 */
interface ConcurrencyRules extends DrivenStores {

  /**
   * Returns the number of keys in {@link #spend_churnOnManyKeys_givesExactlyWhatIsAllowed}, by
   * default 1,000. Override this method for a store that is too slow for 48,000 calls.
   *
   * @return the number of keys, at least 1
   */
  default int churnKeys() {
    return 1_000;
  }

  /** The possible race: many threads read the same TAT, and each thread spends the last token. */
  @Test
  default void spend_64ThreadsOnOneKey_grantExactlyTheBurst() {
    try (Bench bench = Bench.of(this, Quota.per(500, Duration.ofSeconds(1)))) {
      AtomicInteger granted = new AtomicInteger();
      Crowd.run(
          64,
          thread -> {
            for (int i = 0; i < 20; i++) {
              if (bench.spend(1).allowed()) {
                granted.incrementAndGet();
              }
            }
          });
      assertThat(granted).hasValue(500);
      assertThat(bench.state()).hasRemaining(0);
    }
  }

  /** The possible race: batches with common buckets lose updates or deadlock. */
  @Test
  default void spend_overlappingBatches_keepEveryBucketExact() {
    List<List<String>> batches = List.of(List.of(A, B), List.of(B, C), List.of(C, A), List.of(C));
    try (Bench bench = Bench.of(this, Quota.per(300, Duration.ofSeconds(1)))) {
      AtomicIntegerArray granted = new AtomicIntegerArray(batches.size());
      Crowd.run(
          16,
          thread -> {
            for (int i = 0; i < 60; i++) {
              int which = (thread + i) % batches.size();
              boolean allowed =
                  bench
                      .limiter
                      .spend(batches.get(which).stream().map(name -> bench.on(name, 1)).toList())
                      .allowed();
              granted.addAndGet(which, allowed ? 1 : 0);
            }
          });
      int[] spent = IntStream.range(0, batches.size()).map(granted::get).toArray();
      assertThat(bench.state(A)).hasRemaining(300 - spent[0] - spent[2]);
      assertThat(bench.state(B)).hasRemaining(300 - spent[0] - spent[1]);
      assertThat(bench.state(C)).hasRemaining(300 - spent[1] - spent[2] - spent[3]);
    }
  }

  /** The possible race: a refund overwrites a spend, or a spend overwrites a refund. */
  @Test
  default void spendAndRefund_together_loseNeither() {
    try (Bench bench = Bench.of(this, Quota.per(1_000, Duration.ofSeconds(1)))) {
      assertThat(bench.spend(500)).isAllowed();
      AtomicInteger balance = new AtomicInteger(500);
      Crowd.run(
          16,
          thread -> {
            for (int i = 0; i < 50; i++) {
              boolean give = (thread + i) % 2 == 0;
              boolean done = (give ? bench.refund(1) : bench.spend(1)).allowed();
              balance.addAndGet(!done ? 0 : give ? 1 : -1);
            }
          });
      assertThat(bench.state()).hasRemaining(balance.get());
    }
  }

  /** The possible race: two threads cancel the same reservation, and both refund the tokens. */
  @Test
  default void cancel_byManyThreads_givesBackOnce() {
    try (Bench bench = Bench.of(this, Quota.per(100, Duration.ofSeconds(1)))) {
      for (int round = 0; round < 50; round++) {
        assertThat(bench.spend(50)).isAllowed();
        Reservation reservation = bench.limiter.reserve(A, ID, 10);
        Crowd.run(4, thread -> reservation.cancel());
        assertThat(bench.state()).hasRemaining(50);
        bench.limiter.reset(A, ID);
      }
    }
  }

  /** The possible race: a decision reads the clock twice, and the clock moves in between. */
  @Test
  default void spend_whileTheClockMoves_grantsNoMoreThanWasEarned() {
    try (Bench bench = Bench.of(this, Quota.per(10, Duration.ofMillis(10)))) {
      AtomicInteger granted = new AtomicInteger();
      Crowd.run(
          16,
          thread -> {
            for (int i = 0; i < 100; i++) {
              if (thread == 0) {
                bench.time.advanceNanos(100_000);
              }
              granted.addAndGet(bench.spend(1).allowed() ? 1 : 0);
            }
          });
      assertThat(granted).hasValueBetween(10, 10 + 10);
    }
  }

  /**
   * The possible race: a store removes expired buckets, evicts a bucket or resizes its table, and
   * loses a bucket in use. All threads together request more tokens of each key than the limit
   * allows; each thread uses the keys in another order. The test runs the threads three times: with
   * new buckets, after three emission intervals, and after the buckets have refilled.
   */
  @Test
  default void spend_churnOnManyKeys_givesExactlyWhatIsAllowed() {
    int keys = churnKeys();
    try (Bench bench = Bench.of(this, Quota.per(10, Duration.ofSeconds(1)))) {
      assertThat(churn(bench, keys, 1)).containsOnly(10);
      bench.time.advance(Duration.ofMillis(300));
      assertThat(churn(bench, keys, 2)).containsOnly(3);
      bench.time.advance(Duration.ofSeconds(5));
      assertThat(churn(bench, keys, 3)).containsOnly(10);
    }
  }

  private static List<Integer> churn(Bench bench, int keys, long seed) {
    AtomicIntegerArray granted = new AtomicIntegerArray(keys);
    Crowd.run(
        16,
        thread -> {
          List<Integer> order = new ArrayList<>(IntStream.range(0, keys).boxed().toList());
          Collections.shuffle(order, new Random(31 * seed + thread));
          for (int key : order) {
            granted.addAndGet(key, bench.limiter.spend(A, "key-" + key).allowed() ? 1 : 0);
          }
        });
    return IntStream.range(0, keys).mapToObj(granted::get).toList();
  }
}
