// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Tokens that are given back while callers wait for tokens of the bucket. The wait of a caller does
 * not become shorter, so these tokens are granted once more: the bound that docs/guarantees.md
 * states.
 */
final class GiveBackBesideWaitersTest {

  private static final long SECOND = 1_000_000_000L;
  private static final int BURST = 10;
  private static final Duration LONGEST = Duration.ofSeconds(30);
  private static final Limits LIMITS =
      Limits.builder(Catalogue.of(LimitName.builder(1, "Calls").longestWait(LONGEST).build()))
          .limit("Calls", Quota.per(BURST, Duration.ofSeconds(BURST)))
          .build();
  private static final int HISTORIES = Integer.getInteger("sluice.histories", 2_000);

  private final HandClock clock = new HandClock(1_700_000_000 * SECOND);
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(LIMITS), BucketStore.inMemory(clock)).time(clock).build();
  private final List<Passed> passed = new ArrayList<>();
  private long waiting; // tokens
  private long mayExceed; // tokens

  /** Tokens that passed, or that were given back ({@code cost} is negative) or reset (is 0). */
  private record Passed(long atNanos, long cost) {}

  private void pass(long untilNanos) {
    while (true) {
      long next = clock.set().stream().mapToLong(at -> at).min().orElse(Long.MAX_VALUE);
      if (next > untilNanos) {
        clock.pass(untilNanos);
        return;
      }
      clock.pass(Math.max(next, clock.nanos));
    }
  }

  private void passes(long cost) {
    passed.add(new Passed(clock.nanos, cost));
    assertThat(excessNanos()).isLessThanOrEqualTo(mayExceed * SECOND);
  }

  /** Returns by how much the TAT of what really passed is beyond that of an empty bucket. */
  private long excessNanos() {
    long tat = 0;
    for (Passed one : passed) {
      long now = one.atNanos;
      tat =
          one.cost > 0
              ? Math.max(tat, now) + one.cost * SECOND
              : one.cost == 0 ? 0 : Math.min(tat, Math.max(tat + one.cost * SECOND, now));
    }
    return tat - BURST * SECOND - clock.nanos;
  }

  private boolean spend(long cost) {
    boolean allowed = limiter.spend("Calls", "x", cost).allowed();
    if (allowed) {
      passes(cost);
    }
    return allowed;
  }

  private void acquire(long cost) {
    CompletableFuture<Decision> asked =
        limiter.async().acquire("Calls", "x", cost, LONGEST).toCompletableFuture();
    if (asked.isDone()) {
      if (asked.join().allowed()) {
        passes(cost);
      }
      return;
    }
    waiting += cost;
    var unused =
        asked.thenRun(
            () -> {
              waiting -= cost;
              passes(cost);
            });
  }

  @SuppressWarnings("ReferenceEquality") // two records can be equal
  private void cancel(Reservation reservation, Passed held) {
    reservation.cancel();
    passed.removeIf(one -> one == held);
    mayExceed += Math.min(held.cost, waiting);
  }

  @Test
  void cancellation_beforeAWaitingCaller_letsItsTokensPassOnceMore() {
    Reservation reservation = limiter.reserve("Calls", "x", 10);
    Passed held = new Passed(clock.nanos, 10);
    passed.add(held);
    acquire(10);
    pass(clock.nanos + 1_000_000);
    cancel(reservation, held);
    long start = clock.nanos;
    pass(start + 10 * SECOND - 2_000_000);
    assertThat(spend(9)).isTrue();
    pass(start + 10 * SECOND);
    assertThat(waiting).isZero();
    assertThat(spend(1)).isTrue();
    assertThat(spend(1)).isFalse();
    assertThat(excessNanos()).as("twice the burst within 2 ms").isEqualTo(10 * SECOND - 2_000_000);
  }

  @Test
  void anyHistory_exceedsTheLimitAtMostByTheTokensGivenBack_andByThoseWaitedFor() {
    for (long seed = 0; seed < HISTORIES; seed++) {
      GiveBackBesideWaitersTest history = new GiveBackBesideWaitersTest();
      history.run(new Random(seed));
    }
  }

  private void run(Random random) {
    Reservation reservation = null;
    Passed held = null;
    for (int step = 0; step < 60; step++) {
      long cost = 1L + random.nextInt(BURST);
      switch (random.nextInt(8)) {
        case 0, 1 -> acquire(cost);
        case 2, 3 -> {
          boolean unused = spend(cost);
        }
        case 4 -> {
          if (reservation != null) {
            cancel(reservation, held);
            reservation = null;
          } else {
            reservation = limiter.reserve("Calls", "x", cost);
            held = new Passed(clock.nanos, cost);
            if (reservation.allowed()) {
              passed.add(held);
            } else {
              reservation = null;
            }
          }
        }
        case 5 -> {
          boolean isReset = random.nextInt(8) == 0;
          if (isReset) {
            limiter.reset("Calls", "x");
            reservation = null;
          } else {
            limiter.refund("Calls", "x", cost);
          }
          passed.add(new Passed(clock.nanos, isReset ? 0 : -cost));
          mayExceed += isReset ? waiting : Math.min(cost, waiting);
        }
        default -> pass(clock.nanos + random.nextLong(3 * SECOND));
      }
    }
  }
}
