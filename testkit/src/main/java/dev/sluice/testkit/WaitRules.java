// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.AsyncRules.await;
import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.Bench.OFF;
import static dev.sluice.testkit.Bench.WAITS;
import static dev.sluice.testkit.Bench.WAITS_TOO;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/**
 * Tests of callers that wait for tokens. The limiter must admit callers in order, and no caller
 * waits longer than announced. A caller can stop waiting.
 */
interface WaitRules extends DrivenStores {

  /** The time in which one token refills, at 10 tokens per second. */
  Duration TOKEN = Duration.ofMillis(100);

  Duration MINUTE = Duration.ofMinutes(1);

  /**
   * Creates a {@link Bench} whose limits allow 10 tokens per second. The bucket of the limit {@link
   * Bench#WAITS} is empty.
   */
  private Bench empty() {
    Bench bench = Bench.tenPerSecond(this);
    assertThat(bench.limiter.spend(WAITS, ID, 10)).isAllowed();
    return bench;
  }

  @CanIgnoreReturnValue
  private static CompletableFuture<Decision> acquire(Bench bench, long cost, Duration maxWait) {
    return acquire(bench.limiter, bench, cost, maxWait);
  }

  /** Starts to acquire tokens. Returns after the store has decided whether the caller may wait. */
  private static CompletableFuture<Decision> acquire(
      Limiter limiter, Bench bench, long cost, Duration maxWait) {
    CompletionStage<Decision> stage = limiter.async().acquire(WAITS, ID, cost, maxWait);
    bench.settle();
    return stage.toCompletableFuture();
  }

  /** Waits until a bucket lacks exactly {@code tokens} tokens, after callers gave up. */
  private static void awaitTokensLacking(Bench bench, String limit, long tokens) {
    await()
        .atMost(Duration.ofMinutes(1))
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(1))
        .untilAsserted(
            () ->
                assertThat(bench.state(limit).resetInNanos()).isEqualTo(tokens * TOKEN.toNanos()));
  }

  private static void assertPassesAfter(
      Bench bench, Duration wait, CompletableFuture<Decision> caller) {
    bench.time.advance(wait.minusNanos(1));
    assertThat(caller).isNotDone();
    bench.time.advanceNanos(1);
    assertThat(await(caller)).isAllowed();
  }

  @Test
  default void acquire_tokensThere_passesAtOnce() throws InterruptedException {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.acquire(WAITS, ID, 4, MINUTE)).isAllowed().hasRemaining(6);
      assertThat(await(acquire(bench, 6, Duration.ZERO))).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void acquire_emptyBucket_passesAtTheNanosecond() {
    try (Bench bench = empty()) {
      assertPassesAfter(bench, Duration.ofMillis(300), acquire(bench, 3, MINUTE));
      assertThat(bench.state(WAITS)).hasRemaining(0);
      bench.time.advance(TOKEN);
      assertThat(bench.state(WAITS)).hasRemaining(1);
    }
  }

  @Test
  default void acquire_waitLongerThanAllowed_isDeniedAtOnceAndTakesNothing() {
    try (Bench bench = empty()) {
      Duration wait = Duration.ofMillis(300);
      Decision denied = await(acquire(bench, 3, wait.minusNanos(1)));
      assertThat(denied).isDenied().retriesIn(wait);
      awaitTokensLacking(bench, WAITS, 10);
      assertPassesAfter(bench, wait, acquire(bench, 3, wait));
    }
  }

  @Test
  default void acquire_maxWaitOverTheLongest_isCut() {
    try (Bench bench = Bench.of(this, Quota.burst(10).refill(1, Duration.ofMinutes(10)))) {
      assertThat(bench.limiter.spend(WAITS, ID, 10)).isAllowed();
      Duration forEver = Duration.ofSeconds(Long.MAX_VALUE);
      assertThat(await(acquire(bench, 7, forEver))).isDenied().retriesIn(Duration.ofMinutes(70));
      assertThat(acquire(bench, 6, forEver)).isNotDone();
    }
  }

  @Test
  default void acquire_several_passInOrder() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> large = acquire(bench, 5, MINUTE);
      CompletableFuture<Decision> small = acquire(bench, 1, MINUTE);
      CompletableFuture<Decision> last = acquire(bench, 2, MINUTE);
      assertPassesAfter(bench, TOKEN.multipliedBy(5), large);
      assertThat(small).isNotDone();
      assertPassesAfter(bench, TOKEN, small);
      assertPassesAfter(bench, TOKEN.multipliedBy(2), last);
    }
  }

  @Test
  default void spend_whileOthersWait_isDeniedBehindThem() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> waiting = acquire(bench, 5, MINUTE);
      // The tokens of waiting callers are not a debt, so a denied spend must not forgive these
      // tokens.
      for (int i = 0; i < 3; i++) {
        assertThat(bench.limiter.spend(WAITS, ID))
            .isDenied()
            .hasRemaining(0)
            .retriesIn(TOKEN.multipliedBy(6));
      }
      bench.time.advance(TOKEN.multipliedBy(5));
      assertThat(await(waiting)).isAllowed();
      assertThat(bench.limiter.spend(WAITS, ID)).isDenied().retriesIn(TOKEN);
      bench.time.advance(TOKEN);
      assertThat(bench.limiter.spend(WAITS, ID)).isAllowed();
    }
  }

  @Test
  default void giveUp_theLast_returnsItsTokens() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> first = acquire(bench, 2, MINUTE);
      CompletableFuture<Decision> last = acquire(bench, 3, MINUTE);
      assertThat(last.cancel(false)).isTrue();
      awaitTokensLacking(bench, WAITS, 12);
      assertPassesAfter(bench, TOKEN.multipliedBy(2), first);
      assertThat(last).isCancelled();
    }
  }

  @Test
  default void giveUp_amongOthers_leavesThemTheirTime() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> first = acquire(bench, 1, MINUTE);
      CompletableFuture<Decision> leaving = acquire(bench, 3, MINUTE);
      CompletableFuture<Decision> third = acquire(bench, 2, MINUTE);
      CompletableFuture<Decision> fourth = acquire(bench, 1, MINUTE);
      assertThat(leaving.cancel(false)).isTrue();
      bench.settle();
      awaitTokensLacking(bench, WAITS, 17);
      CompletableFuture<Decision> fifth = acquire(bench, 1, MINUTE);
      assertPassesAfter(bench, TOKEN, first);
      assertPassesAfter(bench, TOKEN.multipliedBy(5), third);
      assertPassesAfter(bench, TOKEN, fourth);
      assertPassesAfter(bench, TOKEN, fifth);
    }
  }

  @Test
  default void giveUp_theLastFirst_leavesTheBucketAsItWas() {
    try (Bench bench = empty()) {
      List<CompletableFuture<Decision>> callers =
          List.of(
              acquire(bench, 1, MINUTE),
              acquire(bench, 2, MINUTE),
              acquire(bench, 3, MINUTE),
              acquire(bench, 4, MINUTE));
      for (int i = 3; i >= 0; i--) {
        assertThat(callers.get(i).cancel(false)).isTrue();
        bench.settle();
      }
      awaitTokensLacking(bench, WAITS, 10);
    }
  }

  @Test
  default void giveUp_byADeadline_returnsItsTokens() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> caller =
          acquire(bench, 3, MINUTE).orTimeout(1, TimeUnit.MILLISECONDS);
      assertThatThrownBy(() -> caller.get(AsyncRules.PATIENCE_SECONDS, TimeUnit.SECONDS))
          .hasCauseInstanceOf(TimeoutException.class);
      awaitTokensLacking(bench, WAITS, 10);
    }
  }

  @Test
  default void giveUp_behindAnotherProcess_letsNobodyPassTwiceAtOnce() {
    try (Bench bench = empty()) {
      Limiter other = Bench.limiter(bench.limits, bench.store, bench.time);
      CompletableFuture<Decision> leaving = acquire(bench, 1, MINUTE);
      CompletableFuture<Decision> others = acquire(other, bench, 1, MINUTE);
      assertThat(leaving.cancel(false)).isTrue();
      awaitTokensLacking(bench, WAITS, 12);
      CompletableFuture<Decision> last = acquire(bench, 1, MINUTE);
      assertPassesAfter(bench, TOKEN.multipliedBy(2), others);
      assertThat(last).isNotDone();
      assertPassesAfter(bench, TOKEN, last);
    }
  }

  /**
   * A caller gives up after a reset, when other spends have raised the TAT again to the value that
   * the caller had set.
   */
  @Test
  default void giveUp_afterAReset_takesNothingBackFromThoseWhoSpentSince() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> leaving = acquire(bench, 1, MINUTE);
      bench.limiter.reset(WAITS, ID);
      assertThat(bench.limiter.spend(WAITS, ID, 10)).isAllowed();
      CompletableFuture<Decision> since = acquire(bench, 1, MINUTE);
      assertThat(leaving.cancel(false)).isTrue();
      bench.settle();
      awaitTokensLacking(bench, WAITS, 11);
      assertPassesAfter(bench, TOKEN, since);
    }
  }

  /** Only the first transaction of the batch must wait; the second transaction needs no wait. */
  @Test
  default void giveUp_ofABatchAfterAReset_takesNothingBackFromThoseWhoSpentSince() {
    try (Bench bench = empty()) {
      Transaction isThere = waits(bench, WAITS_TOO, 10);
      CompletableFuture<Decision> leaving =
          bench
              .limiter
              .async()
              .acquire(List.of(waits(bench, WAITS, 1), isThere), MINUTE)
              .toCompletableFuture();
      bench.settle();
      bench.limiter.reset(WAITS_TOO, ID);
      assertThat(bench.limiter.spend(isThere)).isAllowed();
      assertThat(leaving.cancel(false)).isTrue();
      awaitTokensLacking(bench, WAITS, 10);
      assertThat(bench.state(WAITS_TOO)).hasRemaining(0);
    }
  }

  @Test
  default void acquire_twoProcesses_passInTheOrderOfTheStore() {
    try (Bench bench = empty()) {
      Limiter other = Bench.limiter(bench.limits, bench.store, bench.time);
      CompletableFuture<Decision> first = acquire(bench, 1, MINUTE);
      CompletableFuture<Decision> second = acquire(other, bench, 2, MINUTE);
      CompletableFuture<Decision> third = acquire(bench, 1, MINUTE);
      assertPassesAfter(bench, TOKEN, first);
      assertPassesAfter(bench, TOKEN.multipliedBy(2), second);
      assertPassesAfter(bench, TOKEN, third);
    }
  }

  private static Transaction waits(Bench bench, String limit, long cost) {
    return bench.limiter.transaction(limit, ID).withCost(cost);
  }

  @Test
  default void acquire_batch_waitsForItsSlowestPart() {
    try (Bench bench = empty()) {
      assertThat(bench.limiter.spend(WAITS_TOO, ID, 7)).isAllowed();
      List<Transaction> batch = List.of(waits(bench, WAITS, 2), waits(bench, WAITS_TOO, 8));
      assertThat(await(bench.limiter.async().acquire(batch, TOKEN.multipliedBy(4))))
          .as("the bucket of the second transaction needs 500 ms")
          .isDenied();
      awaitTokensLacking(bench, WAITS, 10);
      awaitTokensLacking(bench, WAITS_TOO, 7);
      CompletableFuture<Decision> caller =
          bench.limiter.async().acquire(batch, TOKEN.multipliedBy(5)).toCompletableFuture();
      bench.settle();
      awaitTokensLacking(bench, WAITS_TOO, 15);
      assertPassesAfter(bench, TOKEN.multipliedBy(5), caller);
      assertThat(caller.join().parts()).hasSize(2);
    }
  }

  @Test
  default void giveUp_batch_returnsAllItsParts() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> caller =
          bench
              .limiter
              .async()
              .acquire(List.of(waits(bench, WAITS, 2), waits(bench, WAITS_TOO, 3)), MINUTE)
              .toCompletableFuture();
      awaitTokensLacking(bench, WAITS, 12);
      awaitTokensLacking(bench, WAITS_TOO, 3);
      assertThat(caller.cancel(false)).isTrue();
      awaitTokensLacking(bench, WAITS, 10);
      awaitTokensLacking(bench, WAITS_TOO, 0);
    }
  }

  @Test
  default void acquire_batchWithPartsThatAreNotWaitedFor_goesByThePresent() {
    try (Bench bench = empty()) {
      Transaction spendOnly = waits(bench, WAITS, 1).spendOnly();
      assertThat(await(bench.limiter.async().acquire(List.of(spendOnly), MINUTE))).isAllowed();
      awaitTokensLacking(bench, WAITS, 10);
      Transaction checkOnly = waits(bench, WAITS, 1).checkOnly();
      assertThat(
              await(
                  bench
                      .limiter
                      .async()
                      .acquire(List.of(checkOnly, waits(bench, WAITS_TOO, 1)), MINUTE)))
          .isDenied();
      assertThat(bench.state(WAITS_TOO)).hasRemaining(10);
    }
  }

  @Test
  default void acquire_onTheCallersThread_waitsUntilTheClockComes() throws Exception {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> passed = new CompletableFuture<>();
      Thread caller = thread(bench, passed);
      awaitTokensLacking(bench, WAITS, 11);
      assertThat(passed).isNotDone();
      bench.time.advance(TOKEN);
      assertThat(await(passed)).isAllowed();
      caller.join();
    }
  }

  @Test
  default void acquire_interrupted_returnsItsTokens() throws Exception {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> passed = new CompletableFuture<>();
      Thread caller = thread(bench, passed);
      awaitTokensLacking(bench, WAITS, 11);
      caller.interrupt();
      caller.join();
      assertThat(passed).isCompletedExceptionally();
      assertThatThrownBy(passed::join).hasCauseInstanceOf(InterruptedException.class);
      awaitTokensLacking(bench, WAITS, 10);
    }
  }

  @Test
  default void acquire_interruptedBefore_takesNothing() {
    try (Bench bench = empty()) {
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> bench.limiter.acquire(WAITS, ID, MINUTE).orThrow())
          .isInstanceOf(InterruptedException.class);
      awaitTokensLacking(bench, WAITS, 10);
    }
  }

  private static Thread thread(Bench bench, CompletableFuture<Decision> passed) {
    Thread caller =
        new Thread(
            () -> {
              try {
                passed.complete(bench.limiter.acquire(WAITS, ID, MINUTE));
              } catch (InterruptedException | RuntimeException e) {
                passed.completeExceptionally(e);
              }
            });
    caller.start();
    return caller;
  }

  @Test
  default void acquire_nothingOrUnlimited_neverWaits() {
    try (Bench bench = empty()) {
      acquire(bench, 5, MINUTE);
      assertThat(await(acquire(bench, 0, MINUTE))).isAllowed();
      assertThat(await(bench.limiter.async().acquire(OFF, ID, 1, Duration.ZERO))).isAllowed();
    }
  }

  @Test
  default void acquire_badRequests_areRefused() {
    try (Bench bench = empty()) {
      assertRefused(() -> bench.limiter.acquire(WAITS, ID, 11, MINUTE), "exceeds the burst (10)");
      assertRefused(
          () -> bench.limiter.acquire(WAITS, ID, 1, Duration.ofNanos(-1)), "found PT-0.000000001S");
      assertRefused(() -> bench.limiter.acquire(A, ID, MINUTE), "longestWait");
      assertThatThrownBy(
              () ->
                  bench
                      .limiter
                      .async()
                      .acquire(A, ID, 1, MINUTE)
                      .toCompletableFuture()
                      .get(AsyncRules.PATIENCE_SECONDS, TimeUnit.SECONDS))
          .hasCauseInstanceOf(InvalidRequestException.class);
      awaitTokensLacking(bench, WAITS, 10);
      assertThat(bench.state(A)).hasRemaining(10);
    }
  }

  private static void assertRefused(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String message) {
    assertThatThrownBy(call)
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining(message);
  }

  @Test
  default void acquire_limitShrinks_debtBeyondEveryWaitIsForgiven() {
    Quota week = Quota.per(100, Duration.ofDays(7));
    try (Bench bench = Bench.of(this, week)) {
      assertThat(bench.limiter.spend(WAITS, ID, 100)).isAllowed();
      bench.changeLimits(Quota.per(10, Duration.ofSeconds(1)));
      assertThat(bench.limiter.spend(WAITS, ID)).isDenied();
      assertThat(bench.state(WAITS).resetInNanos())
          .as("the time until the bucket is full is one second plus the longest wait")
          .isEqualTo(Duration.ofSeconds(1).plus(Bench.LONGEST_WAIT).toNanos());
    }
  }

  @Test
  default void acquire_quotaChanges_thoseWhoWaitKeepTheirTime() {
    try (Bench bench = empty()) {
      CompletableFuture<Decision> caller = acquire(bench, 3, MINUTE);
      bench.changeLimits(Quota.per(10, Duration.ofSeconds(10)));
      assertPassesAfter(bench, TOKEN.multipliedBy(3), caller);
    }
  }

  @Test
  default void acquire_storeIsClosed_thoseWhoWaitStillPass() {
    Bench bench = empty();
    CompletableFuture<Decision> first = acquire(bench, 1, MINUTE);
    CompletableFuture<Decision> leaving = acquire(bench, 1, MINUTE);
    CompletableFuture<Decision> last = acquire(bench, 1, MINUTE);
    bench.close();
    assertThat(leaving.cancel(false)).isTrue();
    bench.time.advance(TOKEN.multipliedBy(3));
    assertThat(await(first)).isAllowed();
    assertThat(await(last)).isAllowed();
    assertThatThrownBy(leaving::join).isInstanceOf(CancellationException.class);
  }
}
