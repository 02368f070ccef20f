// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * A non-blocking view of a {@link Limit}, with the same verbs and buckets.
 *
 * <p>Thread-safe; no method blocks. All failures are reported by the stage: an {@link
 * InvalidRequestException} for an invalid id or cost, a {@link StoreException} if the store could
 * not decide. To give up, cancel the stage's future; see {@link AsyncLimiter}.
 */
public final class AsyncLimit {

  private final Limit limit;
  private final Engine engine;

  AsyncLimit(Limit limit, Engine engine) {
    this.limit = limit;
    this.engine = engine;
  }

  /**
   * As {@link Limit#check(CharSequence)}.
   *
   * @param id what is limited
   * @return the decision that a spend would have returned
   */
  public CompletionStage<Decision> check(CharSequence id) {
    return check(id, 1);
  }

  /**
   * As {@link Limit#check(CharSequence, long)}.
   *
   * @param id what is limited
   * @param cost tokens
   * @return the decision that a spend would have returned
   */
  public CompletionStage<Decision> check(CharSequence id, long cost) {
    return decide(Act.CHECK, id, cost);
  }

  /**
   * As {@link Limit#spend(CharSequence)}.
   *
   * @param id what is limited
   * @return allowed if it was spent
   */
  public CompletionStage<Decision> spend(CharSequence id) {
    return spend(id, 1);
  }

  /**
   * As {@link Limit#spend(CharSequence, long)}.
   *
   * @param id what is limited
   * @param cost tokens
   * @return allowed if it was spent
   */
  public CompletionStage<Decision> spend(CharSequence id, long cost) {
    return decide(Act.SPEND, id, cost);
  }

  /**
   * As {@link Limit#spendUpTo(CharSequence, long)}.
   *
   * @param id what is limited
   * @param most tokens, 1 or more
   * @return allowed if at least one token was spent
   */
  public CompletionStage<Decision> spendUpTo(CharSequence id, long most) {
    return AsyncLimiter.caught(
        () -> engine.decideAsync(Act.SPEND, limit.transaction(id).upTo(most)));
  }

  /**
   * As {@link Limit#refund(CharSequence)}.
   *
   * @param id what is limited
   * @return allowed if something was given back
   */
  @CanIgnoreReturnValue
  public CompletionStage<Decision> refund(CharSequence id) {
    return refund(id, 1);
  }

  /**
   * As {@link Limit#refund(CharSequence, long)}.
   *
   * @param id what is limited
   * @param cost tokens
   * @return allowed if something was given back
   */
  @CanIgnoreReturnValue
  public CompletionStage<Decision> refund(CharSequence id, long cost) {
    return decide(Act.REFUND, id, cost);
  }

  /**
   * As {@link Limit#reset(CharSequence)}.
   *
   * @param id what is limited
   * @return completes when the bucket is full
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> reset(CharSequence id) {
    return AsyncLimiter.caught(() -> engine.resetAsync(List.of(limit.transaction(id))));
  }

  /**
   * As {@link Limit#reserve(CharSequence)}.
   *
   * @param id what is limited
   * @return the reservation, denied if there was no token
   */
  public CompletionStage<Reservation> reserve(CharSequence id) {
    return reserve(id, 1);
  }

  /**
   * As {@link Limit#reserve(CharSequence, long)}.
   *
   * @param id what is limited
   * @param cost tokens
   * @return the reservation, denied if the tokens were not there
   */
  public CompletionStage<Reservation> reserve(CharSequence id, long cost) {
    return AsyncLimiter.caught(
        () -> engine.reserveAsync(List.of(limit.transaction(id).withCost(cost))));
  }

  /**
   * As {@link #acquire(CharSequence, long, Duration)} with a cost of 1.
   *
   * @param id what is limited
   * @param maxWait the longest wait, zero or more
   * @return completes once the token has refilled, or with a denial at once
   */
  public CompletionStage<Decision> acquire(CharSequence id, Duration maxWait) {
    return acquire(id, 1, maxWait);
  }

  /**
   * As {@link Limit#acquire(CharSequence, long, Duration)}, without holding a thread while it
   * waits; see {@link AsyncLimiter#acquire(Transaction, Duration)}.
   *
   * @param id what is limited
   * @param cost tokens
   * @param maxWait the longest wait, zero or more
   * @return completes once the tokens have refilled, or with a denial at once
   */
  public CompletionStage<Decision> acquire(CharSequence id, long cost, Duration maxWait) {
    return AsyncLimiter.caught(
        () -> engine.acquireAsync(List.of(limit.transaction(id).withCost(cost)), maxWait));
  }

  /** Returns what the limit's {@link Limit#toString} returns. */
  @Override
  public String toString() {
    return limit.toString();
  }

  private CompletionStage<Decision> decide(Act act, CharSequence id, long cost) {
    return AsyncLimiter.caught(() -> engine.decideAsync(act, limit.transaction(id).withCost(cost)));
  }
}
