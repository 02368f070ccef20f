// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Each algorithm decides as its documentation says, weaknesses included. */
final class AlgorithmTest {

  private static final long SECOND = 1_000_000_000;
  private static final Quota TEN_A_MINUTE = Quota.per(10, Duration.ofMinutes(1));
  private static final long INTERVAL = 6 * SECOND;
  private static final long WINDOW = 60 * SECOND;

  @ParameterizedTest
  @EnumSource
  void everyAlgorithm_admitsTheBurstAndNoMore_toEachBucket(Algorithm algorithm) {
    SimulatedLimiter limiter = algorithm.start(TEN_A_MINUTE, Drip.HEALTHY);
    for (int bucket = 0; bucket < 3; bucket++) {
      for (int i = 1; i <= 10; i++) {
        assertThat(limiter.decide(bucket, 1, 5)).isEqualTo(Verdict.admitted(i));
      }
      Verdict denied = limiter.decide(bucket, 1, 5);
      assertThat(denied.admitted()).isFalse();
      assertThat(denied.level()).isEqualTo(10);
    }
  }

  @ParameterizedTest
  @EnumSource
  void costOfZero_readsTheBucket(Algorithm algorithm) {
    SimulatedLimiter limiter = algorithm.start(TEN_A_MINUTE, Drip.HEALTHY);
    assertThat(limiter.decide(0, 0, 0)).isEqualTo(Verdict.admitted(0));
    assertThat(limiter.decide(0, 10, SECOND).admitted()).isTrue();
    assertThat(limiter.decide(0, 0, SECOND)).isEqualTo(Verdict.admitted(10));
    assertThat(limiter.decide(0, 0, SECOND)).isEqualTo(Verdict.admitted(10));
  }

  @ParameterizedTest
  @EnumSource
  void retryAfterTheWait_isAdmitted(Algorithm algorithm) {
    denyAtRandom(
        algorithm,
        8,
        (limiter, cost, now, wait) -> {
          assertThat(limiter.decide(0, cost, now + wait).admitted()).isTrue();
          return now + wait;
        });
  }

  @ParameterizedTest
  @EnumSource
  void wait_isNotLongerThanNeeded(Algorithm algorithm) {
    // The sliding counter may round up by two nanoseconds.
    denyAtRandom(
        algorithm,
        4,
        (limiter, cost, now, wait) -> {
          long early = now + Math.max(wait - 3, 0);
          assertThat(limiter.decide(0, cost, early).admitted()).isFalse();
          return early;
        });
  }

  /** Checks a denial, and returns the time from which the random requests go on. */
  private interface AfterDenial {
    long then(SimulatedLimiter limiter, long cost, long nowNanos, long waitNanos);
  }

  /** Sends random requests, at most so many seconds apart, and runs the check after each denial. */
  private static void denyAtRandom(Algorithm algorithm, int seconds, AfterDenial after) {
    Seeds.run(
        50,
        random -> {
          SimulatedLimiter limiter = algorithm.start(TEN_A_MINUTE, Drip.HEALTHY);
          long now = 0;
          for (int i = 0; i < 500; i++) {
            now += random.nextInt(seconds) * SECOND + (long) random.nextInt(1000);
            long cost = 1 + (long) random.nextInt(10);
            Verdict verdict = limiter.decide(0, cost, now);
            assertThat(verdict.level()).isBetween(0.0, 10.0);
            if (!verdict.admitted()) {
              now = after.then(limiter, cost, now, verdict.retryAfterNanos());
            }
          }
        });
  }

  @Test
  void timeBucket_refillsAtOnce_oneWindowAfterTheFirstRequest() {
    SimulatedLimiter limiter = Algorithm.TIME_BUCKET.start(TEN_A_MINUTE, Drip.HEALTHY);
    assertThat(limiter.decide(0, 1, 7)).isEqualTo(Verdict.admitted(1));
    assertThat(limiter.decide(0, 9, WINDOW)).isEqualTo(Verdict.admitted(10));
    assertThat(limiter.decide(0, 1, WINDOW + 6)).isEqualTo(Verdict.denied(1, 10));
    assertThat(limiter.decide(0, 10, WINDOW + 7)).isEqualTo(Verdict.admitted(10));
  }

  @Test
  void timeBucket_admitsTwiceTheLimit_aroundAReset() {
    SimulatedLimiter limiter = Algorithm.TIME_BUCKET.start(TEN_A_MINUTE, Drip.HEALTHY);
    assertThat(limiter.decide(0, 1, 0).admitted()).isTrue();
    assertThat(limiter.decide(0, 9, WINDOW - 1).admitted()).isTrue();
    assertThat(limiter.decide(0, 10, WINDOW).admitted()).isTrue();
  }

  @Test
  void leakyBucket_leaksOneTokenPerRun() {
    SimulatedLimiter limiter = Algorithm.LEAKY_BUCKET.start(TEN_A_MINUTE, Drip.HEALTHY);
    assertThat(limiter.decide(0, 10, 1).admitted()).isTrue();
    assertThat(limiter.decide(0, 1, 2)).isEqualTo(Verdict.denied(INTERVAL - 2, 10));
    assertThat(limiter.decide(0, 0, INTERVAL - 1).level()).isEqualTo(10);
    assertThat(limiter.decide(0, 1, INTERVAL)).isEqualTo(Verdict.admitted(10));
    assertThat(limiter.decide(0, 0, 11 * INTERVAL).level()).isZero();
  }

  @Test
  void leakyBucket_withAStalledProcess_deniesWrongly_andMissedRunsAreLost() {
    Drip drip = Drip.HEALTHY.stalledFrom(Duration.ofSeconds(6), Duration.ofSeconds(60));
    SimulatedLimiter stalled = Algorithm.LEAKY_BUCKET.start(TEN_A_MINUTE, drip);
    assertThat(stalled.decide(0, 10, 1).admitted()).isTrue();
    // The denial promises room after the next run, which does not take place.
    assertThat(stalled.decide(0, 1, 2)).isEqualTo(Verdict.denied(INTERVAL - 2, 10));
    for (long run = 1; run < 11; run++) {
      assertThat(stalled.decide(0, 1, run * INTERVAL).admitted()).isFalse();
    }
    assertThat(stalled.decide(0, 1, 11 * INTERVAL)).isEqualTo(Verdict.admitted(10));
    assertThat(stalled.decide(0, 1, 11 * INTERVAL)).isEqualTo(Verdict.denied(INTERVAL, 10));
  }

  @Test
  void leakyBucket_withASlowProcess_drainsEachBucketTooSlowly() {
    Drip drip = new Drip(Duration.ZERO, 2, List.of());
    SimulatedLimiter behind = Algorithm.LEAKY_BUCKET.start(TEN_A_MINUTE, drip);
    for (int bucket = 0; bucket < 4; bucket++) {
      assertThat(behind.decide(bucket, 10, 1).admitted()).isTrue();
    }
    // Six runs drain two buckets each, so each of the four buckets gets three drips instead of six.
    for (int bucket = 0; bucket < 4; bucket++) {
      assertThat(behind.decide(bucket, 0, 6 * INTERVAL).level()).isEqualTo(7);
    }
  }

  @Test
  void leakyBucket_withRareRuns_drainsTheSameAmount_inLargerSteps() {
    Drip drip = new Drip(Duration.ofSeconds(30), 0, List.of());
    SimulatedLimiter limiter = Algorithm.LEAKY_BUCKET.start(TEN_A_MINUTE, drip);
    assertThat(limiter.decide(0, 10, 1).admitted()).isTrue();
    assertThat(limiter.decide(0, 0, 30 * SECOND - 1).level()).isEqualTo(10);
    assertThat(limiter.decide(0, 0, 30 * SECOND).level()).isEqualTo(5);
    assertThat(limiter.decide(0, 0, 60 * SECOND).level()).isZero();
  }

  @Test
  void gcra_leaksAllTheTime() {
    SimulatedLimiter limiter = Algorithm.GCRA.start(TEN_A_MINUTE, Drip.HEALTHY);
    assertThat(limiter.decide(0, 10, 1).admitted()).isTrue();
    assertThat(limiter.decide(0, 1, 2))
        .isEqualTo(Verdict.denied(INTERVAL - 1, 10 - 1.0 / INTERVAL));
    assertThat(limiter.decide(0, 0, 1 + INTERVAL / 2).level()).isEqualTo(9.5);
    assertThat(limiter.decide(0, 1, 1 + INTERVAL)).isEqualTo(Verdict.admitted(10));
  }

  @Test
  void gcra_decidesLikeTheLimiterThatUsersHave() {
    Seeds.run(
        100,
        random -> {
          int burst = 1 + random.nextInt(20);
          Quota quota = Quota.burst(burst).refill(1 + random.nextInt(20), Duration.ofSeconds(7));
          ManualTime time = new ManualTime(0);
          Limiter limiter =
              Limiter.of(
                  Limits.builder(Catalogue.samples()).limit("ApiCallsPerKey", quota).build(),
                  BucketStore.inMemory(time));
          SimulatedLimiter lab = Algorithm.GCRA.start(quota, Drip.HEALTHY);
          for (int i = 0; i < 500; i++) {
            time.advanceNanos((long) (random.nextDouble() * 3 * quota.intervalNanos()));
            int bucket = random.nextInt(3);
            long cost = random.nextInt(burst + 1);
            Decision expected = limiter.spend("ApiCallsPerKey", "key-" + bucket, cost);
            Verdict verdict = lab.decide(bucket, cost, time.nanos());
            assertThat(verdict.admitted()).isEqualTo(expected.allowed());
            assertThat(verdict.retryAfterNanos())
                .isEqualTo(expected.allowed() ? 0 : expected.retryInNanos());
            assertThat((long) (burst - verdict.level() + 1e-9)).isEqualTo(expected.remaining());
          }
        });
  }

  @Test
  void slidingLog_admitsNoMoreThanTheBurst_inAnyWindow() {
    Seeds.run(
        50,
        random -> {
          SimulatedLimiter limiter = Algorithm.SLIDING_LOG.start(TEN_A_MINUTE, Drip.HEALTHY);
          Deque<Long> passed = new ArrayDeque<>();
          long now = 0;
          for (int i = 0; i < 1000; i++) {
            now += random.nextInt(10) * SECOND / 2;
            long oldest = now - WINDOW;
            passed.removeIf(at -> at <= oldest);
            boolean fits = passed.size() < 10;
            assertThat(limiter.decide(0, 1, now).admitted()).isEqualTo(fits);
            if (fits) {
              passed.add(now);
            }
          }
        });
  }

  @Test
  void slidingCounter_countsThePreviousWindow_byTheShareThatStillOverlaps() {
    SimulatedLimiter limiter = Algorithm.SLIDING_COUNTER.start(TEN_A_MINUTE, Drip.HEALTHY);
    assertThat(limiter.decide(0, 10, WINDOW - 1).admitted()).isTrue();
    // After a quarter of the next window, three quarters of the ten still count.
    assertThat(limiter.decide(0, 0, WINDOW + WINDOW / 4).level()).isEqualTo(7.5);
    assertThat(limiter.decide(0, 2, WINDOW + WINDOW / 4)).isEqualTo(Verdict.admitted(9.5));
    assertThat(limiter.decide(0, 0, 3 * WINDOW).level()).isZero();
  }

  @Test
  void unknownName_isRefused_withASuggestion() {
    assertThat(Algorithm.parse("sliding-log")).containsExactly(Algorithm.SLIDING_LOG);
    assertThat(Algorithm.parse("all")).containsExactly(Algorithm.values());
    assertThatThrownBy(() -> Algorithm.parse("leaky-buckets"))
        .hasMessage(
            "found \"leaky-buckets\", expected one of time-bucket, leaky-bucket, gcra, sliding-log,"
                + " sliding-counter, all; did you mean \"leaky-bucket\"?");
  }
}
