// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Costs;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The transactions of one piece of work, such as a request. Either all transactions are spent or
 * none. When the outcome of the work is known, such as the status of a response or the exception of
 * a method, some tokens can be given back, and estimated costs can be replaced with true costs.
 *
 * <p>A batch charges each bucket once. If two rules charge the same bucket, the higher cost is
 * charged, and the tokens are given back only if both rules give tokens back after the outcome. If
 * a rule estimates the cost, the highest true or fixed cost is finally charged. If two transactions
 * on one bucket have different quotas, the batch prefers a quota to no quota, a quota supplied by
 * the application to a quota of the limits, and a lower quota to a higher quota. If the application
 * supplied several quotas, the batch uses the lowest quota of each period, for at most {@value
 * Quota#MOST_OF_A_LIMIT} periods.
 *
 * <p>One thread adds the transactions; other threads can call the other methods. The first call
 * that settles the batch or leaves it spent ends the batch; later calls do nothing. If the store
 * fails to give tokens back, they stay spent.
 *
 * @param <O> the outcome of the work
 */
public final class Batch<O> {

  private final Map<String, Transaction> byBucket = new LinkedHashMap<>();
  // By bucket: whether the tokens stay spent after an outcome. If a bucket is not in this map, its
  // tokens always stay spent.
  private final Map<String, Predicate<? super O>> conditions = new HashMap<>();
  private final Map<String, Estimated<O>> estimates = new HashMap<>();
  private final AtomicReference<@Nullable Reservation> reservation = new AtomicReference<>();
  private volatile boolean givenBack; // whether the free tokens were given back before the others

  /** Makes a batch without transactions. */
  public Batch() {}

  /**
   * Adds a transaction whose tokens stay spent, or are given back after some outcomes.
   *
   * @param transaction the transaction to spend
   * @param counts returns whether the tokens stay spent after an outcome; null if the tokens always
   *     stay spent
   * @throws InvalidRequestException if two rules charge the same bucket, and the higher cost is not
   *     an estimate and exceeds the burst of the chosen quota
   */
  public void add(Transaction transaction, @Nullable Predicate<? super O> counts) {
    put(transaction, counts);
    estimates.computeIfPresent(
        transaction.bucketKey(), (bucket, other) -> other.atLeast(transaction.cost()));
  }

  /**
   * Adds a transaction whose cost is an estimate, which the true cost replaces.
   *
   * @param transaction the transaction to reserve
   * @param counts see {@link #add}
   * @param trueCost returns the true cost of an outcome, 0 or more; null if the cost is unknown, so
   *     that the estimate stays spent
   * @throws InvalidRequestException see {@link #add}
   */
  public void addEstimate(
      Transaction transaction,
      @Nullable Predicate<? super O> counts,
      Function<? super O, @Nullable Long> trueCost) {
    String bucket = transaction.bucketKey();
    Transaction before = byBucket.get(bucket);
    put(transaction, counts);
    Estimated<O> other = estimates.get(bucket);
    long least = other != null ? other.least : before == null ? 0 : before.cost();
    estimates.put(bucket, new Estimated<>(least, other, trueCost));
  }

  /**
   * Computes the true cost that is charged to a bucket.
   *
   * @param least the highest fixed cost of the other rules for this bucket; 0 if there is none
   * @param other the estimate of another rule for this bucket; null if there is none
   */
  private record Estimated<O>(
      long least, @Nullable Estimated<O> other, Function<? super O, @Nullable Long> trueCost) {

    Estimated<O> atLeast(long cost) {
      return new Estimated<>(Math.max(least, cost), other, trueCost);
    }

    @Nullable Long cost(@Nullable O outcome) {
      Long own = trueCost.apply(outcome);
      Long others = other == null ? null : other.cost(outcome);
      Long cost = own == null || (others != null && others > own) ? others : own;
      return cost == null ? null : Math.max(cost, least);
    }
  }

  private void put(Transaction transaction, @Nullable Predicate<? super O> counts) {
    String bucket = transaction.bucketKey();
    boolean isNew = !byBucket.containsKey(bucket);
    byBucket.merge(bucket, transaction, Batch::merged);
    if (counts == null) {
      conditions.remove(bucket);
    } else if (isNew) {
      conditions.put(bucket, counts);
    } else {
      conditions.computeIfPresent(
          bucket, (b, other) -> outcome -> other.test(outcome) || counts.test(outcome));
    }
  }

  private static Transaction merged(Transaction one, Transaction other) {
    long cost = Math.max(one.cost(), other.cost());
    if (one.supplied() && other.supplied() && one.quotas().size() + other.quotas().size() > 2) {
      return ofEachPeriod(one, other).withHigherCost(one).withHigherCost(other);
    }
    boolean isOther =
        decidesBefore(other, one) || (other.cost() == cost && !decidesBefore(one, other));
    return isOther ? other.withHigherCost(one) : one.withHigherCost(other);
  }

  private static boolean decidesBefore(Transaction challenger, Transaction holder) {
    Quota own = challenger.quota();
    Quota others = holder.quota();
    if (own == null || others == null) {
      return own != null;
    }
    return challenger.supplied() == holder.supplied()
        ? own.isLowerThan(others)
        : challenger.supplied();
  }

  private static Transaction ofEachPeriod(Transaction one, Transaction other) {
    Map<Duration, Quota> lowest = new HashMap<>();
    Stream.of(one, other)
        .flatMap(transaction -> transaction.quotas().stream())
        .forEach(quota -> lowest.merge(quota.period(), quota, (a, b) -> b.isLowerThan(a) ? b : a));
    Transaction both =
        Transaction.of(one.name(), List.copyOf(lowest.values()), one.id()).withCost(0);
    return one.isShadow() ? both.inShadow() : both;
  }

  /**
   * Returns the transactions to spend.
   *
   * @return one transaction per bucket
   */
  public List<Transaction> transactions() {
    return List.copyOf(byBucket.values());
  }

  boolean isEmpty() {
    return byBucket.isEmpty();
  }

  /**
   * Spends the tokens. Blocks until the store has decided.
   *
   * @param limiter the limiter that decides
   * @return the decision
   */
  public Decision spend(Limiter limiter) {
    return isPlain() ? limiter.spend(transactions()) : keep(limiter.reserve(transactions()));
  }

  /**
   * Spends the tokens without blocking. To stop waiting, cancel the future. If the charge has not
   * been sent to the store, the cancellation prevents the charge.
   *
   * @param limiter the limiter that decides
   * @param late called if the store decides after the future was cancelled; must end this batch
   * @return the decision
   */
  public CompletableFuture<Decision> spendAsync(
      AsyncLimiter limiter, Consumer<? super Batch<O>> late) {
    if (isPlain()) {
      return limiter.spend(transactions()).toCompletableFuture();
    }
    CompletableFuture<Reservation> reserved = limiter.reserve(transactions()).toCompletableFuture();
    CompletableFuture<Decision> decided = reserved.thenApply(this::keep);
    Stages.onEnd(
        decided,
        (decision, failure) -> {
          if (decision == null && !reserved.cancel(false)) {
            Stages.onSuccess(
                reserved,
                made -> {
                  reservation.set(made);
                  late.accept(this);
                });
          }
        });
    return decided;
  }

  private boolean isPlain() {
    return conditions.isEmpty() && estimates.isEmpty();
  }

  private Decision keep(Reservation made) {
    if (made.allowed()) {
      reservation.set(made);
    }
    return made.decision();
  }

  /**
   * Returns whether a transaction has an estimated cost.
   *
   * @return true if a true cost can replace an estimate
   */
  public boolean isEstimated() {
    return !estimates.isEmpty();
  }

  /**
   * Returns whether this batch must be ended, because the outcome decides whether tokens are given
   * back, or a true cost can replace an estimate.
   *
   * @return false if the batch was denied or has ended
   */
  public boolean isOpen() {
    return reservation.get() != null;
  }

  /**
   * Gives back the tokens of each transaction whose tokens do not stay spent after the given
   * outcome, and replaces estimates with the true costs. Blocks until the store has answered.
   *
   * @param outcome the outcome, such as a status or exception; null only if the functions given to
   *     {@link #add} and {@link #addEstimate} accept null
   * @param failed called if the store failed
   */
  public void settle(@Nullable O outcome, Consumer<StoreException> failed) {
    Reservation made = reservation.getAndSet(null);
    if (made != null) {
      try (made) {
        Costs costs = costs(outcome);
        if (costs == null) {
          made.cancel(isFree(outcome));
        } else {
          made.settle(costs);
        }
      } catch (StoreException e) {
        failed.accept(e);
      }
    }
  }

  /**
   * Does the same as {@link #settle} without blocking.
   *
   * @param outcome see {@link #settle}
   * @param failed see {@link #settle}
   * @return a stage that completes when the store has answered; the stage never fails because of
   *     the store
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> settleAsync(@Nullable O outcome, Consumer<StoreException> failed) {
    Reservation made = reservation.getAndSet(null);
    if (made == null) {
      return CompletableFuture.completedFuture(null);
    }
    CompletionStage<Void> ended;
    try {
      Costs costs = costs(outcome);
      ended =
          costs == null
              ? made.cancelAsync(isFree(outcome))
              : made.settleAsync(costs).thenAccept(settlement -> {});
    } catch (RuntimeException | Error e) { // of a function given to add or addEstimate
      made.close();
      throw e;
    }
    return ended.exceptionally(
        failure -> {
          if (Stages.cause(failure) instanceof StoreException e) {
            failed.accept(e);
            return null;
          }
          throw new CompletionException(Stages.cause(failure));
        });
  }

  /** Returns the true costs; null if no true cost is known. */
  private @Nullable Costs costs(@Nullable O outcome) {
    Predicate<Transaction> free = isFree(outcome);
    Costs costs = Costs.of(Map.of()).allowZero();
    boolean isKnown = false;
    for (Transaction one : byBucket.values()) {
      Estimated<O> estimated = estimates.get(one.bucketKey());
      Long cost = estimated == null || free.test(one) ? null : estimated.cost(outcome);
      if (cost != null) {
        costs = costs.and(one, cost);
        isKnown = true;
      } else if (!givenBack && one.kind() != Transaction.Kind.CHECK_ONLY && free.test(one)) {
        costs = costs.and(one, 0);
      }
    }
    return isKnown ? costs : null;
  }

  /**
   * Returns the batch to settle after an outcome: normally this batch. If a true cost is still
   * unknown, returns a new batch with the transactions whose tokens are given back; the others stay
   * in this batch, to be settled when the cost is known. Not to be called twice, or during a
   * settlement of this batch.
   */
  Batch<O> dueFor(O outcome) {
    Predicate<Transaction> free = isFree(outcome);
    boolean waits =
        byBucket.values().stream()
            .filter(free.negate())
            .map(one -> estimates.get(one.bucketKey()))
            .anyMatch(estimated -> estimated != null && estimated.cost(outcome) == null);
    Reservation made = reservation.get();
    if (!waits || made == null) {
      return this;
    }
    Batch<O> due = new Batch<>();
    due.conditions.putAll(conditions);
    List<Reservation> parts = made.split(free);
    due.reservation.set(parts.get(0));
    reservation.set(parts.get(1));
    givenBack = true;
    return due;
  }

  /** Leaves all tokens spent, since the outcome of the work is unknown. Never blocks. */
  public void leaveSpent() {
    Reservation made = reservation.getAndSet(null);
    if (made != null) {
      made.close();
    }
  }

  private Predicate<Transaction> isFree(@Nullable O outcome) {
    return transaction -> {
      Predicate<? super O> counts = conditions.get(transaction.bucketKey());
      return counts != null && !counts.test(outcome);
    };
  }

  /** Waits for a future; throws its failure unwrapped. */
  static <T> T join(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      if (e.getCause() instanceof Error cause) {
        throw cause;
      }
      throw e;
    }
  }
}
