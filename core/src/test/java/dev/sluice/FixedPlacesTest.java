// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Callers that give up beside a reset that is slow or lost: nobody knows whether the store decided
 * on it before or after their spends, so they give nothing back.
 */
class FixedPlacesTest {

  private static final String LIMIT = "Waits";
  private static final String ID = "a";
  private static final Duration TOKEN = Duration.ofMinutes(1);
  private static final long START_NANOS = 1_700_000_000_000_000_000L;

  private long afterNanos;
  private final TimeSource time = () -> START_NANOS + afterNanos;
  private final SlowStore store = new SlowStore(time);
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(limits()), store).time(time).build();

  /** Ten tokens, one a minute: no alarm rings while a test runs. */
  private static Limits limits() {
    LimitName waits = LimitName.builder(1, LIMIT).longestWait(Duration.ofHours(1)).build();
    return Limits.builder(Catalogue.of(waits))
        .limit(LIMIT, Quota.burst(10).refill(1, TOKEN))
        .build();
  }

  @BeforeEach
  void empty() {
    assertThat(limiter.spend(LIMIT, ID, 10).allowed()).isTrue();
  }

  private CompletableFuture<Decision> acquire() {
    return acquire(1);
  }

  private CompletableFuture<Decision> acquire(long cost) {
    CompletableFuture<Decision> caller =
        limiter.async().acquire(LIMIT, ID, cost, Duration.ofHours(1)).toCompletableFuture();
    store.last().apply().answer();
    assertThat(caller).isNotDone();
    return caller;
  }

  private void assertTokensLacking(long tokens) {
    assertTokensLacking(TOKEN.multipliedBy(tokens));
  }

  private void assertTokensLacking(Duration time) {
    assertThat(limiter.check(LIMIT, ID, 0).resetIn()).isEqualTo(time);
  }

  /**
   * Two callers wait; then a reset, a spend of all, and two others that wait end where they did.
   */
  private void giveUpBehind(SlowStore.Call reset, Runnable beforeGivingUp) {
    CompletableFuture<Decision> first = acquire();
    CompletableFuture<Decision> leaving = acquire();
    var unused = reset.apply();
    assertThat(limiter.spend(LIMIT, ID, 10).allowed()).isTrue();
    CompletableFuture<Decision> third = acquire();
    CompletableFuture<Decision> last = acquire();
    beforeGivingUp.run();
    assertThat(leaving.cancel(false)).isTrue();
    store.answerAll();
    assertThat(first).isNotDone();
    assertThat(third).isNotDone();
    assertThat(last).isNotDone();
    assertTokensLacking(12);
  }

  private SlowStore.Call reset() {
    var unused = limiter.async().reset(LIMIT, ID);
    return store.last();
  }

  /** The race: the store has reset the bucket, and its answer is on its way. */
  @Test
  void giveUp_whileAResetIsUnderWay_givesNothingBack() {
    SlowStore.Call reset = reset();
    giveUpBehind(reset, () -> {});
    reset.answer();
    assertTokensLacking(12);
  }

  /** The race: the store has reset the bucket before it answered those who wait. */
  @Test
  void giveUp_afterTheAnswerOfAReset_givesNothingBack() {
    SlowStore.Call reset = reset();
    giveUpBehind(reset, reset::answer);
  }

  /** The race: a reset whose answer was lost comes to the store all the same. */
  @Test
  void giveUp_afterAResetThatCameLate_givesNothingBack() {
    SlowStore.Call reset = reset();
    reset.lose();
    afterNanos += TOKEN.toNanos();
    assertThat(limiter.spend(LIMIT, ID).allowed()).isTrue();
    giveUpBehind(reset, () -> {});
  }

  /**
   * A lost reset may come for a minute. A caller that asks within it gives nothing back, however
   * long it waits; one that asks afterwards does.
   */
  @Test
  void giveUp_longAfterAResetThatMayHaveComeLate_givesNothingBack() {
    reset().lose();
    afterNanos += TOKEN.toNanos() - 1;
    CompletableFuture<Decision> early = acquire(5);
    afterNanos += 2;
    CompletableFuture<Decision> late = acquire();
    assertTokensLacking(Duration.ofMinutes(15).minusNanos(1));
    assertThat(late.cancel(false)).isTrue();
    store.answerAll();
    assertTokensLacking(Duration.ofMinutes(14).minusNanos(1));
    assertThat(early.cancel(false)).isTrue();
    store.answerAll();
    assertTokensLacking(Duration.ofMinutes(14).minusNanos(1));
  }

  @Test
  void giveUp_theLastWithoutAReset_givesAllBack() {
    CompletableFuture<Decision> first = acquire();
    CompletableFuture<Decision> last = acquire();
    assertThat(last.cancel(false)).isTrue();
    store.answerAll();
    assertThat(first).isNotDone();
    assertTokensLacking(11);
  }
}
