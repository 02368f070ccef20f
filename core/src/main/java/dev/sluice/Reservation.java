// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.TrackedStore.Holding;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Spent tokens that can be given back once, for limits that count only bad attempts.
 *
 * <pre>{@code
 * try (Reservation attempt = limiter.reserve("FailedLoginsPerIPAddress", ip)) {
 *   if (attempt.denied()) {
 *     return tooManyRequests(attempt.decision());
 *   }
 *   if (authenticate(user, password)) {
 *     attempt.cancel(); // a good login costs nothing
 *   }
 * }
 * }</pre>
 *
 * <p>Tokens that are not cancelled before {@link #close} stay spent. {@link #cancel()} gives back
 * the tokens that have not refilled since, at most once, and never more than a full bucket can
 * take. It gives back nothing if the bucket was reset through this limiter since, or its limit is
 * disabled now. In one process, if no two calls that give back to the bucket overlap, the bucket is
 * never fuller than without the cancelled reservations. If cancellations overlap, the bucket may be
 * fuller by its refill from the first of them to the last. If a cancellation overlaps a plain
 * refund, the bucket may be fuller by the tokens of the open reservations. A reservation that
 * overlaps another call that gives back to its bucket may give back less.
 *
 * <p>Close every reservation. A limiter tracks 4,096 open reservations per bucket and 1,000,000 in
 * all; beyond that the oldest stays spent, and {@link LimiterObserver#settledEarly} is called. A
 * reservation that is never closed is forgotten once its tokens have refilled. Cancelling costs
 * O(n) for n open reservations of the bucket.
 *
 * <p>If a {@link FailureRule} decided in place of the store, the tokens go back to the memory of
 * this process, from which they were taken; if the rule only allowed, no tokens were taken.
 *
 * <p>Thread-safe. {@link #cancel()} blocks like a spend, {@link #cancelAsync} does not.
 */
public final class Reservation implements AutoCloseable {

  private final TrackedStore store;
  private final Function<Transaction, @Nullable Quota> present;
  private final Decision decision;
  private final List<Taken> taken;
  private final AtomicBoolean settled = new AtomicBoolean();

  /**
   * Creates a reservation.
   *
   * @param store where it was made
   * @param present returns the current quota of a transaction, null if its limit is disabled
   * @param taken the tokens spent
   */
  Reservation(
      TrackedStore store,
      Function<Transaction, @Nullable Quota> present,
      Decision decision,
      List<Taken> taken) {
    this.store = store;
    this.present = present;
    this.decision = decision;
    this.taken = taken;
  }

  /**
   * Returns the decision on the spend.
   *
   * @return the decision, for a batch the strictest
   */
  public Decision decision() {
    return decision;
  }

  /**
   * Returns whether the tokens were spent.
   *
   * @return true if the request may pass
   */
  public boolean allowed() {
    return decision.allowed();
  }

  /**
   * Returns whether the request must not pass; there is nothing to cancel then.
   *
   * @return true if nothing was spent
   */
  public boolean denied() {
    return decision.denied();
  }

  /** Returns the decision, and whether tokens can still be given back. */
  @Override
  public String toString() {
    String state = taken.isEmpty() ? "" : settled.get() ? ", closed" : ", open";
    return "reservation%s: %s".formatted(state, decision);
  }

  /**
   * Returns a receipt of the tokens that can be given back now, for a cancellation in another
   * process. The reservation stays open: a caller that cancels with the receipt must not cancel the
   * reservation too.
   *
   * @return the receipt; without parts if no tokens were taken from the store, or all have refilled
   */
  public Receipt receipt() {
    if (decision.degraded()) {
      return new Receipt(List.of()); // the tokens came from this process's memory
    }
    List<Receipt.Part> parts = new ArrayList<>(taken.size());
    for (Taken one : taken) {
      long untilNanos = one.stretch.untilNanos();
      if (untilNanos != Gcra.NO_TAT) {
        parts.add(new Receipt.Part(one.transaction, one.quota.intervalNanos(), untilNanos));
      }
    }
    return new Receipt(parts);
  }

  /**
   * Gives the tokens back. Only the first call, and only before {@link #close}, does anything.
   *
   * @throws StoreException if the store failed. The tokens then stay spent (or were given back, if
   *     only the answer was lost), and another call does not give them back
   */
  public void cancel() {
    cancel(transaction -> true);
  }

  /**
   * Gives a part of a batch back; the rest stays spent for good. Only the first call, and only
   * before {@link #close}, does anything.
   *
   * @param which the transactions to give back
   * @throws StoreException as {@link #cancel()}
   */
  public void cancel(Predicate<Transaction> which) {
    TrackedStore.result(store.giveBack(store.blockingCall(), settle(which)));
  }

  /**
   * Gives the tokens back without blocking. Only the first call, and only before {@link #close},
   * does anything.
   *
   * @return done when the tokens are back; fails with a {@link StoreException} as {@link #cancel()}
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> cancelAsync() {
    return cancelAsync(transaction -> true);
  }

  /**
   * Gives a part of a batch back without blocking; the rest stays spent for good. Only the first
   * call, and only before {@link #close}, does anything.
   *
   * @param which the transactions to give back
   * @return done when the tokens are back; fails with a {@link StoreException} as {@link #cancel()}
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> cancelAsync(Predicate<Transaction> which) {
    return store.giveBack(store.oneCall(), settle(which));
  }

  /** Settles the reservation: the tokens stay spent, unless they were given back. Never blocks. */
  @Override
  public void close() {
    if (settled.compareAndSet(false, true)) {
      forget();
    }
  }

  private void forget() {
    taken.forEach(one -> store.reservations().close(one.stretch));
  }

  private List<GiveBack> settle(Predicate<Transaction> which) {
    // The predicate runs first: if it throws, nothing is settled.
    List<Taken> chosen = taken.stream().filter(one -> which.test(one.transaction.whole())).toList();
    if (taken.isEmpty() || !settled.compareAndSet(false, true)) {
      return List.of();
    }
    List<@Nullable Quota> quotas = new ArrayList<>(chosen.size());
    chosen.forEach(one -> quotas.add(present.apply(one.transaction)));
    List<GiveBack> refunds = new ArrayList<>(chosen.size());
    for (int i = 0; i < chosen.size(); i++) {
      Taken one = chosen.get(i);
      Quota now = quotas.get(i);
      GiveBack refund =
          now == null ? null : store.leave(one.stretch, one.worthNanos(now), now.offsetNanos());
      if (refund != null) {
        refunds.add(refund);
      }
    }
    forget(); // those that were not chosen
    return refunds;
  }

  /**
   * The tokens that one transaction took from one bucket.
   *
   * @param quota the quota of the spend
   */
  record Taken(Transaction transaction, Quota quota, Stretch stretch) {

    /**
     * Returns all tokens that a batch took.
     *
     * @param quotaOf the quota of a transaction, null if nothing was charged for it; the holding
     *     has the other transactions, in their order
     */
    static List<Taken> all(
        List<Transaction> transactions,
        Function<Transaction, @Nullable Quota> quotaOf,
        Holding holding) {
      List<Taken> taken = new ArrayList<>(holding.stretches().size());
      Iterator<@Nullable Stretch> stretches = holding.stretches().iterator();
      for (Transaction transaction : transactions) {
        Quota quota = quotaOf.apply(transaction);
        Stretch stretch = quota == null ? null : stretches.next();
        if (quota != null && stretch != null) {
          taken.add(new Taken(transaction, quota, stretch));
        }
      }
      return List.copyOf(taken);
    }

    /** Returns the increment of the tokens under the current quota. */
    long worthNanos(Quota now) {
      return Math.min(quota.intervalNanos(), now.intervalNanos()) * transaction.cost();
    }
  }

  /**
   * The tokens that a {@link Reservation} took and can still give back, as plain values, for a
   * cancellation in another process with the same store and limits.
   *
   * <p>A process that cancels with a receipt does not know which other tokens were given back
   * since, so {@link Limiter#cancel(Receipt)} is less exact than {@link Reservation#cancel()}. It
   * gives back the tokens that would not have refilled by now without other give-backs. It never
   * overfills a bucket. The caller must not use a receipt twice; nothing checks this.
   *
   * @param parts one for each bucket; empty if nothing is left to give back
   */
  public record Receipt(List<Part> parts) {

    /**
     * Makes a receipt.
     *
     * @param parts copied
     */
    public Receipt {
      parts = List.copyOf(parts);
    }

    /**
     * The tokens taken from one bucket.
     *
     * @param transaction which bucket, at what cost
     * @param intervalNanos the emission interval of the spend, positive; times the cost it fits
     *     into 64 bits
     * @param untilNanos the instant by the store's clock, in unsigned nanoseconds since the Unix
     *     epoch, from which nothing is left to give back: the TAT after the spend
     */
    public record Part(Transaction transaction, long intervalNanos, long untilNanos) {

      /**
       * Makes a part.
       *
       * @param transaction which bucket, at what cost
       * @param intervalNanos the emission interval of the spend
       * @param untilNanos from when on nothing is left
       * @throws IllegalArgumentException for an interval out of its range
       */
      public Part {
        Objects.requireNonNull(transaction, "transaction");
        long cost = transaction.cost();
        if (intervalNanos <= 0 || (cost > 0 && intervalNanos > Long.MAX_VALUE / cost)) {
          throw new IllegalArgumentException(
              "intervalNanos: found %s at cost %s, expected a positive number, which times the cost fits into 64 bits"
                  .formatted(intervalNanos, cost));
        }
      }
    }

    /**
     * Returns the refunds under the current limits; an id that nothing limits any more has none.
     */
    List<Charge> refunds(Function<Transaction, @Nullable Quota> present) {
      List<Charge> refunds = new ArrayList<>(parts.size());
      for (Part part : parts) {
        Quota quota = present.apply(part.transaction);
        if (quota != null) {
          long worthNanos =
              Math.min(part.intervalNanos, quota.intervalNanos()) * part.transaction.cost();
          refunds.add(
              new Charge(
                  part.transaction.bucketKey(),
                  Effect.Op.REFUND,
                  Math.min(worthNanos, quota.offsetNanos()),
                  quota.offsetNanos(),
                  part.untilNanos));
        }
      }
      return refunds;
    }
  }
}
