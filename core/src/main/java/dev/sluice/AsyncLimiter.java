// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A non-blocking view of a {@link Limiter}, with the same operations, limits and buckets.
 *
 * <p>Thread-safe; no method blocks. All failures are reported by the returned stage: an {@link
 * InvalidRequestException} for an invalid name, id, cost or batch, a {@link StoreException} if the
 * store could not decide. Code that is chained to a stage may block: with the stores of Sluice,
 * blocking code occupies one thread and delays no other call. To stop waiting for a decision,
 * cancel the stage's future or set a time-out on the future; a charge that the store has not sent
 * by then is never sent.
 */
public final class AsyncLimiter {

  private final CurrentLimits limits;
  private final Engine engine;

  AsyncLimiter(CurrentLimits limits, Engine engine) {
    this.limits = limits;
    this.engine = engine;
  }

  /**
   * Non-blocking form of {@link Limiter#transaction(String, String)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the transaction
   */
  public Transaction transaction(String limit, String id) {
    return Transaction.of(limits.get(), limit, id);
  }

  /**
   * Non-blocking form of {@link Limiter#check(String, String)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   */
  public CompletionStage<Decision> check(String limit, String id) {
    return check(limit, id, 1);
  }

  /**
   * Non-blocking form of {@link Limiter#check(String, String, long)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   */
  public CompletionStage<Decision> check(String limit, String id, long cost) {
    return one(Act.CHECK, limit, id, cost);
  }

  /**
   * Non-blocking form of {@link Limiter#check(Transaction)}.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   */
  public CompletionStage<Decision> check(Transaction transaction) {
    return caught(() -> engine.decideAsync(Act.CHECK, transaction));
  }

  /**
   * Non-blocking form of {@link Limiter#check(List)}.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the strictest decision, which includes the decision of each transaction
   */
  public CompletionStage<Decision> check(List<Transaction> transactions) {
    return caught(() -> engine.decideBatchAsync(Act.CHECK, transactions));
  }

  /**
   * Non-blocking form of {@link Limiter#spend(String, String)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the decision, allowed if the tokens were spent
   */
  public CompletionStage<Decision> spend(String limit, String id) {
    return spend(limit, id, 1);
  }

  /**
   * Non-blocking form of {@link Limiter#spend(String, String, long)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the decision, allowed if the tokens were spent
   */
  public CompletionStage<Decision> spend(String limit, String id, long cost) {
    return one(Act.SPEND, limit, id, cost);
  }

  /**
   * Non-blocking form of {@link Limiter#spend(Transaction)}.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the decision, allowed if the tokens were spent
   */
  public CompletionStage<Decision> spend(Transaction transaction) {
    return spend(Engine.alone(transaction));
  }

  /**
   * Non-blocking form of {@link Limiter#spend(List)}.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the strictest decision, which includes the decision of each transaction
   */
  public CompletionStage<Decision> spend(List<Transaction> transactions) {
    return caught(() -> engine.decideBatchAsync(Act.SPEND, transactions));
  }

  /**
   * Non-blocking form of {@link Limiter#spendUpTo(String, String, long)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param most the highest number of tokens, 1 or more
   * @return the decision, allowed if at least one token was spent
   */
  public CompletionStage<Decision> spendUpTo(String limit, String id, long most) {
    return caught(() -> engine.decideAsync(Act.SPEND, transaction(limit, id).upTo(most)));
  }

  /**
   * Non-blocking form of {@link Limiter#spendUpTo(Transaction, long)}.
   *
   * @param transaction the transaction on the bucket; its cost is ignored
   * @param most the highest number of tokens, 1 or more
   * @return the decision, allowed if at least one token was spent
   */
  public CompletionStage<Decision> spendUpTo(Transaction transaction, long most) {
    return caught(() -> engine.decideAsync(Act.SPEND, transaction.upTo(most)));
  }

  /**
   * Non-blocking form of {@link Limiter#refund(String, String)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the decision, allowed if the bucket took any tokens back
   */
  @CanIgnoreReturnValue
  public CompletionStage<Decision> refund(String limit, String id) {
    return refund(limit, id, 1);
  }

  /**
   * Non-blocking form of {@link Limiter#refund(String, String, long)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the decision, allowed if the bucket took any tokens back
   */
  @CanIgnoreReturnValue
  public CompletionStage<Decision> refund(String limit, String id, long cost) {
    return one(Act.REFUND, limit, id, cost);
  }

  /**
   * Non-blocking form of {@link Limiter#refund(Transaction)}.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the decision, allowed if the bucket took any tokens back
   */
  @CanIgnoreReturnValue
  public CompletionStage<Decision> refund(Transaction transaction) {
    return caught(() -> engine.decideAsync(Act.REFUND, transaction));
  }

  /**
   * Non-blocking form of {@link Limiter#refund(List)}.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the strictest decision, which includes the decision of each transaction
   */
  @CanIgnoreReturnValue
  public CompletionStage<Decision> refund(List<Transaction> transactions) {
    return caught(() -> engine.decideBatchAsync(Act.REFUND, transactions));
  }

  /**
   * Non-blocking form of {@link Limiter#reset(String, String)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return a stage that completes when the bucket is full
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> reset(String limit, String id) {
    return caught(() -> engine.resetAsync(List.of(transaction(limit, id))));
  }

  /**
   * Non-blocking form of {@link Limiter#reset(Transaction)}.
   *
   * @param transaction the transaction on the bucket; its kind and cost are ignored
   * @return a stage that completes when the bucket is full
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> reset(Transaction transaction) {
    return reset(Engine.alone(transaction));
  }

  /**
   * Non-blocking form of {@link Limiter#reset(List)}.
   *
   * @param transactions the transactions, each on a different bucket
   * @return a stage that completes when the buckets are full
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> reset(List<Transaction> transactions) {
    return caught(() -> engine.resetAsync(transactions));
  }

  /**
   * Non-blocking form of {@link Limiter#reserve(String, String)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the reservation, denied if the bucket had no token
   */
  public CompletionStage<Reservation> reserve(String limit, String id) {
    return reserve(limit, id, 1);
  }

  /**
   * Non-blocking form of {@link Limiter#reserve(String, String, long)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the reservation, denied if the bucket had too few tokens
   */
  public CompletionStage<Reservation> reserve(String limit, String id, long cost) {
    return caught(() -> engine.reserveAsync(List.of(transaction(limit, id).withCost(cost))));
  }

  /**
   * Non-blocking form of {@link Limiter#reserve(Transaction)}.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the reservation, denied if the bucket had too few tokens
   */
  public CompletionStage<Reservation> reserve(Transaction transaction) {
    return reserve(Engine.alone(transaction));
  }

  /**
   * Non-blocking form of {@link Limiter#reserve(List)}.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the reservation, denied if one of its transactions was denied
   */
  public CompletionStage<Reservation> reserve(List<Transaction> transactions) {
    return caught(() -> engine.reserveAsync(transactions));
  }

  /**
   * Non-blocking form of {@link Limiter#cancel(Receipt)}.
   *
   * @param receipt the tokens that the reservation took; no caller may use a receipt twice
   * @return a stage that completes when the tokens were given back
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> cancel(Receipt receipt) {
    return caught(() -> engine.cancelAsync(receipt));
  }

  /**
   * Non-blocking form of {@link Limiter#settle(Receipt, Costs)}.
   *
   * @param receipt the tokens that the reservation took; no caller may use a receipt twice
   * @param costs the true costs
   * @return the result for each bucket
   */
  @CanIgnoreReturnValue
  public CompletionStage<Settlement> settle(Receipt receipt, Costs costs) {
    return caught(() -> engine.settleAsync(receipt, costs));
  }

  /**
   * Non-blocking form of {@link Limiter#acquire(String, String, Duration)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param maxWait the longest wait, zero or more
   * @return a stage that completes once the tokens have refilled, or at once with a denial
   */
  public CompletionStage<Decision> acquire(String limit, String id, Duration maxWait) {
    return acquire(limit, id, 1, maxWait);
  }

  /**
   * Non-blocking form of {@link Limiter#acquire(String, String, long, Duration)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @param maxWait the longest wait, zero or more
   * @return a stage that completes once the tokens have refilled, or at once with a denial
   */
  public CompletionStage<Decision> acquire(String limit, String id, long cost, Duration maxWait) {
    return caught(
        () -> engine.acquireAsync(List.of(transaction(limit, id).withCost(cost)), maxWait));
  }

  /**
   * Non-blocking form of {@link Limiter#acquire(Transaction, Duration)}. A waiting call occupies no
   * thread.
   *
   * <p>To stop waiting, cancel the future of the returned stage, or set a time-out on this future;
   * the future of a derived stage has no effect on the wait. After a wait, code that is chained to
   * the stage runs on threads of Sluice ({@code sluice-alarm-1} and so on), and is allowed to block
   * these threads. With a clock for tests, code that is chained to the stage runs on the thread
   * that advances the clock.
   *
   * @param transaction a transaction with the bucket and the cost
   * @param maxWait the longest wait, zero or more
   * @return a stage that completes once the tokens have refilled, or at once with a denial
   */
  public CompletionStage<Decision> acquire(Transaction transaction, Duration maxWait) {
    return acquire(Engine.alone(transaction), maxWait);
  }

  /**
   * Non-blocking form of {@link Limiter#acquire(List, Duration)}. A waiting call occupies no
   * thread; {@link #acquire(Transaction, Duration)} describes how a caller stops waiting.
   *
   * @param transactions the transactions, each on a different bucket
   * @param maxWait the longest wait, zero or more
   * @return a stage that completes once all tokens have refilled, or at once with a denial
   */
  public CompletionStage<Decision> acquire(List<Transaction> transactions, Duration maxWait) {
    return caught(() -> engine.acquireAsync(transactions, maxWait));
  }

  private CompletionStage<Decision> one(Act act, String limit, String id, long cost) {
    return caught(() -> engine.decideAsync(act, transaction(limit, id).withCost(cost)));
  }

  static <T> CompletionStage<T> caught(Supplier<CompletionStage<T>> call) {
    try {
      return call.get();
    } catch (InvalidRequestException | StoreException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * A non-blocking view of a {@link Limit}, with the same operations and buckets.
   *
   * <p>Thread-safe; no method blocks. All failures are reported by the returned stage: an {@link
   * InvalidRequestException} for an invalid id or cost, a {@link StoreException} if the store could
   * not decide. To stop waiting, cancel the stage's future; see {@link AsyncLimiter}.
   */
  public static final class AsyncLimit {

    private final Limit limit;
    private final Engine engine;

    AsyncLimit(Limit limit, Engine engine) {
      this.limit = limit;
      this.engine = engine;
    }

    /**
     * Non-blocking form of {@link Limit#check(CharSequence)}.
     *
     * @param id the id to limit, such as an IP address
     * @return the decision that a spend would have returned, unless the spend forgave a debt
     */
    public CompletionStage<Decision> check(CharSequence id) {
      return check(id, 1);
    }

    /**
     * Non-blocking form of {@link Limit#check(CharSequence, long)}.
     *
     * @param id the id to limit, such as an IP address
     * @param cost the number of tokens
     * @return the decision that a spend would have returned, unless the spend forgave a debt
     */
    public CompletionStage<Decision> check(CharSequence id, long cost) {
      return decide(Act.CHECK, id, cost);
    }

    /**
     * Non-blocking form of {@link Limit#spend(CharSequence)}.
     *
     * @param id the id to limit, such as an IP address
     * @return the decision, allowed if the tokens were spent
     */
    public CompletionStage<Decision> spend(CharSequence id) {
      return spend(id, 1);
    }

    /**
     * Non-blocking form of {@link Limit#spend(CharSequence, long)}.
     *
     * @param id the id to limit, such as an IP address
     * @param cost the number of tokens
     * @return the decision, allowed if the tokens were spent
     */
    public CompletionStage<Decision> spend(CharSequence id, long cost) {
      return decide(Act.SPEND, id, cost);
    }

    /**
     * Non-blocking form of {@link Limit#spendUpTo(CharSequence, long)}.
     *
     * @param id the id to limit, such as an IP address
     * @param most the highest number of tokens, 1 or more
     * @return the decision, allowed if at least one token was spent
     */
    public CompletionStage<Decision> spendUpTo(CharSequence id, long most) {
      return caught(() -> engine.decideAsync(Act.SPEND, limit.transaction(id).upTo(most)));
    }

    /**
     * Non-blocking form of {@link Limit#refund(CharSequence)}.
     *
     * @param id the id to limit, such as an IP address
     * @return the decision, allowed if the bucket took any tokens back
     */
    @CanIgnoreReturnValue
    public CompletionStage<Decision> refund(CharSequence id) {
      return refund(id, 1);
    }

    /**
     * Non-blocking form of {@link Limit#refund(CharSequence, long)}.
     *
     * @param id the id to limit, such as an IP address
     * @param cost the number of tokens
     * @return the decision, allowed if the bucket took any tokens back
     */
    @CanIgnoreReturnValue
    public CompletionStage<Decision> refund(CharSequence id, long cost) {
      return decide(Act.REFUND, id, cost);
    }

    /**
     * Non-blocking form of {@link Limit#reset(CharSequence)}.
     *
     * @param id the id to limit, such as an IP address
     * @return a stage that completes when the bucket is full
     */
    @CanIgnoreReturnValue
    public CompletionStage<Void> reset(CharSequence id) {
      return caught(() -> engine.resetAsync(List.of(limit.transaction(id))));
    }

    /**
     * Non-blocking form of {@link Limit#reserve(CharSequence)}.
     *
     * @param id the id to limit, such as an IP address
     * @return the reservation, denied if the bucket had no token
     */
    public CompletionStage<Reservation> reserve(CharSequence id) {
      return reserve(id, 1);
    }

    /**
     * Non-blocking form of {@link Limit#reserve(CharSequence, long)}.
     *
     * @param id the id to limit, such as an IP address
     * @param cost the number of tokens
     * @return the reservation, denied if the bucket had too few tokens
     */
    public CompletionStage<Reservation> reserve(CharSequence id, long cost) {
      return caught(() -> engine.reserveAsync(List.of(limit.transaction(id).withCost(cost))));
    }

    /**
     * Same as {@link #acquire(CharSequence, long, Duration)} with a cost of 1.
     *
     * @param id the id to limit, such as an IP address
     * @param maxWait the longest wait, zero or more
     * @return a stage that completes once the tokens have refilled, or at once with a denial
     */
    public CompletionStage<Decision> acquire(CharSequence id, Duration maxWait) {
      return acquire(id, 1, maxWait);
    }

    /**
     * Non-blocking form of {@link Limit#acquire(CharSequence, long, Duration)}. A waiting call
     * occupies no thread; see {@link AsyncLimiter#acquire(Transaction, Duration)}.
     *
     * @param id the id to limit, such as an IP address
     * @param cost the number of tokens
     * @param maxWait the longest wait, zero or more
     * @return a stage that completes once the tokens have refilled, or at once with a denial
     */
    public CompletionStage<Decision> acquire(CharSequence id, long cost, Duration maxWait) {
      return caught(
          () -> engine.acquireAsync(List.of(limit.transaction(id).withCost(cost)), maxWait));
    }

    /** Returns what the limit's {@link Limit#toString} returns. */
    @Override
    public String toString() {
      return limit.toString();
    }

    private CompletionStage<Decision> decide(Act act, CharSequence id, long cost) {
      return caught(() -> engine.decideAsync(act, limit.transaction(id).withCost(cost)));
    }
  }
}
