// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static java.util.Comparator.comparingInt;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/**
 * Tests of waiting callers with random histories. Callers must be admitted in order, each caller as
 * soon as the bucket has the caller's tokens. If a caller gives up before a later caller has taken
 * tokens, the limiter refunds all tokens of the caller. If a later caller has taken tokens, the
 * tokens of a caller that gives up stay spent.
 */
interface WaitHistoryRules extends DrivenStores {

  long TOKEN_NANOS = 1_000;
  long BURST = 4;
  Quota QUOTA = Quota.burst(BURST).refill(1, Duration.ofNanos(TOKEN_NANOS));
  long BURST_NANOS = BURST * TOKEN_NANOS;
  int STEPS = 60;

  @Test
  default void acquire_anyHistoryOfOneProcess_isThatOfTheReference() {
    Seeds.run(histories(), random -> run(this, random, 1));
  }

  @Test
  default void acquire_anyHistoryOfThreeProcesses_isThatOfTheReference() {
    Seeds.run(histories(), random -> run(this, random, 3));
  }

  /** Runs one history in which several processes use the same bucket. */
  static void run(DrivenStores stores, Random random, int processes) {
    try (Bench bench = Bench.of(stores, QUOTA)) {
      History history = new History(bench, random, processes);
      for (int step = 0; step < STEPS; step++) {
        history.step();
      }
      history.end();
    }
  }

  /** A caller that waits for tokens, and the time at which the caller was admitted. */
  final class Caller {
    private final CompletableFuture<Decision> answer;
    private final long cost;
    private final long askedNanos;
    private final long latestNanos;
    private volatile long passedNanos = -1;
    private boolean gaveUp;
    private boolean isBack; // whether the caller's tokens were returned

    Caller(CompletableFuture<Decision> answer, long cost, long askedNanos, long maxWaitNanos) {
      this.answer = answer;
      this.cost = cost;
      this.askedNanos = askedNanos;
      this.latestNanos = askedNanos + maxWaitNanos;
    }

    boolean waits() {
      return passedNanos < 0 && !gaveUp;
    }
  }

  /** A random history that is running, with all of its callers. */
  final class History {
    private final Bench bench;
    private final Random random;
    private final List<Limiter> limiters = new ArrayList<>();
    private final List<Caller> callers = new ArrayList<>();
    private final List<Caller> passed =
        new CopyOnWriteArrayList<>(); // in the order in which the callers were admitted

    History(Bench bench, Random random, int processes) {
      this.bench = bench;
      this.random = random;
      for (int i = 0; i < processes; i++) {
        limiters.add(Bench.limiter(bench.limits, bench.store, bench.time));
      }
    }

    void step() {
      switch (random.nextInt(8)) {
        case 0, 1, 2, 3 -> acquire();
        case 4 -> giveUp();
        default -> bench.time.advanceNanos(random.nextLong(3 * TOKEN_NANOS));
      }
      settle();
    }

    void end() {
      bench.time.advanceNanos(Duration.ofMinutes(1).toNanos());
      settle();
      assertThat(callers).as("callers that wait for ever").noneMatch(Caller::waits);
    }

    private void acquire() {
      long cost = 1 + random.nextLong(BURST);
      long maxWaitNanos = random.nextInt(4) == 0 ? 0 : random.nextLong(20 * TOKEN_NANOS);
      long now = bench.time.nanos();
      long waitNanos = waitNanos(now, cost);
      Limiter limiter = limiters.get(random.nextInt(limiters.size()));
      CompletableFuture<Decision> answer =
          limiter
              .async()
              .acquire(Bench.WAITS, Bench.ID, cost, Duration.ofNanos(maxWaitNanos))
              .toCompletableFuture();
      bench.settle();
      boolean denied = answer.isDone() && answer.join().denied();
      assertThat(denied)
          .as("whether the request is denied, with a wait of %s ns", waitNanos)
          .isEqualTo(waitNanos > maxWaitNanos);
      if (!denied) {
        Caller caller = new Caller(answer, cost, now, maxWaitNanos);
        callers.add(caller);
        Stages.onSuccess(answer, decision -> passes(caller, decision));
      }
    }

    private void passes(Caller caller, Decision decision) {
      assertThat(decision.allowed()).isTrue();
      caller.passedNanos = bench.time.nanos();
      passed.add(caller);
    }

    private void giveUp() {
      List<Caller> waiting = callers.stream().filter(Caller::waits).toList();
      if (waiting.isEmpty()) {
        return;
      }
      Caller caller = waiting.get(random.nextInt(waiting.size()));
      assertThat(caller.answer.cancel(false)).isTrue();
      caller.gaveUp = true;
      List<Caller> taken = callers.stream().filter(one -> !one.isBack).toList();
      caller.isBack = taken.get(taken.size() - 1) == caller;
      bench.settle();
      assertThat(bench.state(Bench.WAITS).resetInNanos())
          .as("the time until the bucket is full, after the last caller gave up")
          .isEqualTo(Math.max(tatNanos() - bench.time.nanos(), 0));
    }

    /** Returns the correct TAT, computed from all callers whose tokens were not refunded. */
    private long tatNanos() {
      long tat = 0;
      for (Caller caller : callers) {
        if (!caller.isBack) {
          tat = Math.max(tat, caller.askedNanos) + caller.cost * TOKEN_NANOS;
        }
      }
      return tat;
    }

    private long waitNanos(long now, long cost) {
      long ahead = Math.max(tatNanos() - now, 0);
      return Math.max(ahead + cost * TOKEN_NANOS - BURST_NANOS, 0);
    }

    private void settle() {
      long now = bench.time.nanos();
      long tat = 0;
      for (Caller caller : callers) {
        if (!caller.isBack) {
          tat = Math.max(tat, caller.askedNanos) + caller.cost * TOKEN_NANOS;
        }
        if (!caller.gaveUp) {
          boolean isTurn = tat - BURST_NANOS <= now;
          assertThat(!caller.waits()).as("whether the caller has got its tokens").isEqualTo(isTurn);
          assertThat(caller.waits() ? now : caller.passedNanos)
              .as("the end of the caller's wait, at most the announced time")
              .isLessThanOrEqualTo(caller.latestNanos);
        }
      }
      assertWithinTheLimit();
      assertThat(passed)
          .as("the callers in the order in which the limiter admitted them")
          .isSortedAccordingTo(comparingInt(callers::indexOf));
    }

    /** Asserts that the bucket had the tokens for each caller when the caller was admitted. */
    private void assertWithinTheLimit() {
      long tat = 0;
      for (Caller caller : passed) {
        tat = Math.max(tat, caller.passedNanos) + caller.cost * TOKEN_NANOS;
        assertThat(tat - BURST_NANOS)
            .as("the time at which the bucket has the tokens")
            .isLessThanOrEqualTo(caller.passedNanos);
      }
    }
  }
}
