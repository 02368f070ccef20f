// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.OpenReservations.GiveBack;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.Settling.Due;
import dev.sluice.Settling.Held;
import dev.sluice.TrackedStore.Holding;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Spent tokens that can be given back once, for limits that count only bad attempts, or settled
 * once, for costs that are known afterwards.
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
 * <p>{@link #settle(Costs)} replaces the reserved costs, which are then estimates, by the true
 * ones: it gives back what was reserved too much, and charges what was reserved too little.
 *
 * <pre>{@code
 * try (Reservation call = limiter.reserve("TokensPerKey", key, 500)) {
 *   if (call.denied()) {
 *     return tooManyRequests(call.decision());
 *   }
 *   Usage used = model.answer(request);
 *   call.settle(Map.of("TokensPerKey", used.total()));
 * } // not settled: the estimate stays spent
 * }</pre>
 *
 * <p>Tokens that are not cancelled before {@link #close} stay spent. {@link #cancel()} gives back
 * the tokens that have not refilled since the reservation, at most once, and never more than a full
 * bucket can take. It gives back nothing if the bucket was reset through this limiter after the
 * reservation, or if its limit is disabled now. In one process, if no two calls that give back to
 * the bucket overlap, the bucket is never fuller than without the cancelled reservations. If
 * cancellations overlap, the bucket may be fuller by its refill between the first cancellation and
 * the last. If a cancellation overlaps a plain refund, the bucket may be fuller by the tokens of
 * the open reservations. A reservation that overlaps another call that gives back to its bucket may
 * give back less.
 *
 * <p>Close every reservation. A limiter tracks 4,096 open reservations per bucket and 1,000,000 in
 * all; beyond that the oldest stays spent, and {@link LimiterObserver#settledEarly} is called. A
 * reservation that is never closed is forgotten once its tokens have refilled. Cancelling costs
 * O(n) for n open reservations of the bucket.
 *
 * <p>If a {@link FailureRule} decided in place of the store, the tokens go back to the memory of
 * this process, from which they were taken; if the rule only allowed, no tokens were taken.
 *
 * <p>Thread-safe. {@link #cancel()} and {@link #settle(Costs)} block like a spend, {@link
 * #cancelAsync} and {@link #settleAsync} do not.
 */
public final class Reservation implements AutoCloseable {

  private final TrackedStore store;
  private final Function<Transaction, @Nullable Present> present;
  private final Decision decision;
  private final List<Taken> taken;
  private final AtomicBoolean done = new AtomicBoolean();

  /**
   * Creates a reservation.
   *
   * @param store where it was made
   * @param present returns the current quota of a transaction, null if its limit is disabled
   * @param taken what each transaction took
   */
  Reservation(
      TrackedStore store,
      Function<Transaction, @Nullable Present> present,
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
    boolean tookNothing = taken.stream().allMatch(one -> one.stretch == null);
    String state = tookNothing ? "" : done.get() ? ", closed" : ", open";
    return "reservation%s: %s".formatted(state, decision);
  }

  /**
   * Returns a receipt of what was taken and can be given back now, for a cancellation or a
   * settlement in another process. The reservation stays open: a caller that uses the receipt must
   * not cancel or settle the reservation too.
   *
   * @return the receipt; without parts if the reservation is denied, settled, cancelled or closed,
   *     or if a failure rule decided
   */
  public Receipt receipt() {
    // A failure rule decided in this process only, so no other process can give tokens back.
    if (denied() || done.get() || decision.degraded()) {
      return new Receipt(List.of());
    }
    return new Receipt(taken.stream().map(Taken::receipt).toList());
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
    TrackedStore.result(store.giveBack(store.blockingCall(), cancelled(which)));
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
    return store.giveBack(store.oneCall(), cancelled(which));
  }

  /**
   * Replaces the reserved costs by the true ones, by the names of their limits; see {@link
   * #settle(Costs)}.
   *
   * @param costs tokens by the limit's name, each at least 1; a limit left out keeps its estimate
   * @return what each bucket was charged
   * @throws IllegalArgumentException as {@link #settle(Costs)}
   * @throws StoreException as {@link #settle(Costs)}
   */
  @CanIgnoreReturnValue
  public Settlement settle(Map<String, Long> costs) {
    return settle(Costs.of(costs));
  }

  /**
   * Replaces the reserved costs by the true ones. Only the first call, and only before {@link
   * #cancel()} and {@link #close}, does anything; so does no call if the reservation is denied.
   *
   * <p>If the true cost is lower, the difference is given back, except what has refilled since. If
   * it is higher, the difference is charged now: to the end of the bucket, and beyond it as a debt
   * if the limit {@linkplain Limits#debtOf declares} one. {@link Settlement.Part#cut} tells what
   * did not fit, which is never charged. A limit that the costs leave out keeps its estimate.
   *
   * <p>The buckets are not settled atomically. Higher costs are charged first. If the store is
   * away, the rest {@linkplain Settlement#waiting waits} for up to 10 s, and the reservation stays
   * open as long. Nothing is charged for an id that no limit applies to, or that a {@link
   * FailureRule} allowed.
   *
   * @param costs the true costs
   * @return what each bucket was charged
   * @throws IllegalArgumentException for a limit that the reservation does not have or has more
   *     than once, and for a cost of 0 without {@link Costs#allowZero}; the reservation stays open,
   *     and nothing is charged
   * @throws StoreException if the store's answer was lost, so that it is unknown whether it has
   *     applied all of the settlement; another call does nothing
   */
  @CanIgnoreReturnValue
  public Settlement settle(Costs costs) {
    return TrackedStore.result(settle(store.blockingCall(), costs));
  }

  /**
   * Replaces the reserved costs by the true ones without blocking; see {@link #settle(Costs)}.
   *
   * @param costs the true costs
   * @return what each bucket was charged; fails with a {@link StoreException} as {@link
   *     #settle(Costs)}
   * @throws IllegalArgumentException as {@link #settle(Costs)}
   */
  @CanIgnoreReturnValue
  public CompletionStage<Settlement> settleAsync(Costs costs) {
    return settle(store.oneCall(), costs);
  }

  /** Closes the reservation: tokens that were not given back stay spent. Never blocks. */
  @Override
  public void close() {
    if (done.compareAndSet(false, true)) {
      forget();
    }
  }

  private void forget() {
    for (Taken one : taken) {
      if (one.stretch != null) {
        store.reservations().close(one.stretch);
      }
    }
  }

  private List<GiveBack> cancelled(Predicate<Transaction> which) {
    // The predicate runs first: if it throws, nothing is cancelled.
    List<Taken> chosen =
        taken.stream()
            .filter(one -> one.stretch != null && which.test(one.transaction.whole()))
            .toList();
    if (!done.compareAndSet(false, true)) {
      return List.of();
    }
    List<@Nullable Present> quotas = new ArrayList<>(chosen.size());
    chosen.forEach(one -> quotas.add(present.apply(one.transaction)));
    List<GiveBack> refunds = new ArrayList<>(chosen.size());
    for (int i = 0; i < chosen.size(); i++) {
      Present now = quotas.get(i);
      Taken one = chosen.get(i);
      GiveBack refund = now == null ? null : one.leave(store, one.tokens(), now.quota());
      if (refund != null) {
        refunds.add(refund);
      }
    }
    // Also forgets reservations being given back, so that a failed give-back does not reopen them.
    forget();
    return refunds;
  }

  private CompletionStage<Settlement> settle(BucketStore call, Costs costs) {
    Objects.requireNonNull(costs, "costs");
    if (denied() || done.get()) {
      return CompletableFuture.completedFuture(Settlement.NOTHING);
    }
    List<Due> due = costs.due(taken.stream().map(one -> one.held(store)).toList(), present);
    if (!done.compareAndSet(false, true)) {
      return CompletableFuture.completedFuture(Settlement.NOTHING);
    }
    taken.forEach(one -> costs.teach(one.transaction));
    return new Settling(store, due, this::forget).settle(call);
  }

  /**
   * The current terms of a bucket.
   *
   * @param debt how many bursts it may owe
   */
  record Present(Quota quota, int debt) {

    /** Returns null if nothing limits the transaction's id now. */
    static @Nullable Present of(Limits now, Transaction transaction) {
      Quota quota = transaction.quotaIn(now);
      return quota == null ? null : new Present(quota, now.debtOf(transaction.name()));
    }
  }

  /**
   * What one transaction took from one bucket.
   *
   * @param quota the quota of the spend, null if nothing was to be charged
   * @param stretch the tokens that can be given back, null if none were taken
   */
  record Taken(Transaction transaction, @Nullable Quota quota, @Nullable Stretch stretch) {

    /**
     * Returns what each transaction of a batch took, except those that are only checked.
     *
     * @param quotaOf the quota of a transaction, null if nothing was charged for it; the holding
     *     has the other transactions, in their order
     */
    static List<Taken> all(
        List<Transaction> transactions,
        Function<Transaction, @Nullable Quota> quotaOf,
        Holding holding) {
      List<Taken> taken = new ArrayList<>(transactions.size());
      Iterator<@Nullable Stretch> stretches = holding.stretches().iterator();
      for (Transaction transaction : transactions) {
        Quota quota = quotaOf.apply(transaction);
        Stretch stretch = quota == null ? null : stretches.next();
        if (transaction.kind() != Transaction.Kind.CHECK_ONLY) {
          taken.add(new Taken(transaction, quota, stretch));
        }
      }
      return List.copyOf(taken);
    }

    private long tokens() {
      return stretch == null ? 0 : transaction.cost();
    }

    private Held held(TrackedStore store) {
      return new Held(
          transaction,
          tokens(),
          quota == null ? Held.UNCHARGED : quota.intervalNanos(),
          (tokens, now) -> leave(store, tokens, now));
    }

    private @Nullable GiveBack leave(TrackedStore store, long tokens, Quota now) {
      return stretch == null || quota == null
          ? null
          : store
              .reservations()
              .giveBack(
                  stretch,
                  Math.min(quota.intervalNanos(), now.intervalNanos()) * tokens,
                  now.offsetNanos());
    }

    private Receipt.Part receipt() {
      if (quota == null) {
        return new Receipt.Part(transaction.took(0), Held.UNCHARGED, Gcra.NO_TAT);
      }
      return new Receipt.Part(
          transaction.took(tokens()),
          quota.intervalNanos(),
          stretch == null ? Gcra.NO_TAT : stretch.untilNanos());
    }
  }

  /**
   * The true costs of a reservation, for {@link #settle(Costs)}. Immutable and thread-safe.
   *
   * <pre>{@code
   * call.settle(Costs.of("TokensPerKey", used).and("TokensPerTeam", used));
   * }</pre>
   */
  public static final class Costs {

    private final Map<String, Long> byLimit;
    private final Map<String, Long> byBucket; // by "limit:id"
    private final boolean allowsZero;

    private Costs(Map<String, Long> byLimit, Map<String, Long> byBucket, boolean allowsZero) {
      this.byLimit = byLimit;
      this.byBucket = byBucket;
      this.allowsZero = allowsZero;
    }

    /**
     * Returns costs by limit.
     *
     * @param costs tokens by the limit's name, copied
     * @return the costs
     * @throws InvalidRequestException for a negative cost
     */
    public static Costs of(Map<String, Long> costs) {
      Map<String, Long> copy = new TreeMap<>();
      Objects.requireNonNull(costs, "costs")
          .forEach((limit, cost) -> put(copy, limit, limit, cost));
      return new Costs(copy, Map.of(), false);
    }

    /**
     * Returns the cost of one limit.
     *
     * @param limit the limit's name
     * @param cost tokens, at least 1, or 0 with {@link #allowZero}
     * @return the costs
     * @throws InvalidRequestException for a negative cost
     */
    public static Costs of(String limit, long cost) {
      return of(Map.of(limit, cost));
    }

    /**
     * Adds the cost of a further limit.
     *
     * @param limit the limit's name
     * @param cost tokens, at least 1, or 0 with {@link #allowZero}
     * @return new costs
     * @throws InvalidRequestException for a negative cost, and for a limit that has a cost already
     */
    public Costs and(String limit, long cost) {
      Map<String, Long> more = new TreeMap<>(byLimit);
      put(more, limit, limit, cost);
      return new Costs(more, byBucket, allowsZero);
    }

    /**
     * Adds the cost of one bucket, for a limit that the reservation has more than once.
     *
     * @param transaction a transaction on the bucket, such as the reserved one
     * @param cost tokens, at least 1, or 0 with {@link #allowZero}
     * @return new costs
     * @throws InvalidRequestException for a negative cost, and for a bucket that has a cost already
     */
    public Costs and(Transaction transaction, long cost) {
      return and(transaction.name().name(), transaction.id(), cost);
    }

    /**
     * Adds the cost of one bucket, for a limit that the reservation has more than once.
     *
     * @param limit the limit's name
     * @param id the id
     * @param cost tokens, at least 1, or 0 with {@link #allowZero}
     * @return new costs
     * @throws InvalidRequestException for a negative cost, and for a bucket that has a cost already
     */
    public Costs and(String limit, String id, long cost) {
      Map<String, Long> more = new TreeMap<>(byBucket);
      put(more, limit + ":" + id, limit, cost);
      return new Costs(byLimit, more, allowsZero);
    }

    /**
     * Allows costs of 0, which refund a reservation. Without this, a cost of 0 is refused, since it
     * may come from a usage report that could not be read.
     *
     * @return new costs
     */
    public Costs allowZero() {
      return new Costs(byLimit, byBucket, true);
    }

    /**
     * Throws if a settlement with a receipt would refuse these costs, for callers that must know
     * this first. Changes nothing.
     *
     * @param receipt of the reservation to settle
     * @throws InvalidRequestException as {@link Limiter#settle}
     */
    public void requireFor(Receipt receipt) {
      List<Held> helds = receipt.parts().stream().map(part -> part.held(refund -> null)).toList();
      var unused = due(helds, transaction -> null);
    }

    private static void put(Map<String, Long> costs, String key, String limit, long cost) {
      if (cost < 0) {
        throw new InvalidRequestException(
            Field.COST,
            "cost of %s: found %s, expected 0 or more".formatted(SafeText.printable(limit), cost));
      }
      if (costs.put(key, cost) != null) {
        throw twice(key);
      }
    }

    private static InvalidRequestException twice(String what) {
      return new InvalidRequestException(
          Field.LIMIT,
          "the cost of %s is given twice; give it once".formatted(SafeText.printable(what)));
    }

    /**
     * Returns what is due for each bucket that is limited now.
     *
     * @throws InvalidRequestException if these are not costs of a reservation that holds this
     */
    List<Due> due(List<Held> helds, Function<Transaction, @Nullable Present> present) {
      Map<String, String> byKey = new LinkedHashMap<>();
      helds.forEach(held -> byKey.putIfAbsent(bucket(held), limit(held)));
      Collection<String> limits = byKey.values();
      for (String limit : byLimit.keySet()) {
        if (!limits.contains(limit)) {
          throw unknown("limit", limit, limits);
        }
      }
      for (String bucket : byBucket.keySet()) {
        if (helds.stream().noneMatch(held -> names(bucket, held.transaction()))) {
          throw unknown(
              "bucket",
              bucket,
              helds.stream().map(held -> limit(held) + ":" + held.transaction().id()).toList());
        }
      }
      List<Due> due = new ArrayList<>(helds.size());
      for (Held held : helds) {
        Long cost = cost(held, Collections.frequency(limits, limit(held)) > 1);
        Present now = held.isUncharged() ? null : present.apply(held.transaction());
        if (now != null) {
          due.add(new Due(held, cost == null ? held.tokens() : cost, cost != null, now));
        }
      }
      return due;
    }

    /** Lets the estimate of a transaction learn its true cost, if that is given. */
    private void teach(Transaction transaction) {
      Long byId = byBucket(transaction);
      Long cost = byId == null ? byLimit.get(transaction.name().name()) : byId;
      if (cost != null) {
        transaction.learn(cost);
      }
    }

    /** Returns the key of the bucket; for a limit with several quotas, that of the longest. */
    private static String bucket(Held held) {
      return held.transaction().whole().bucketKey();
    }

    private @Nullable Long byBucket(Transaction transaction) {
      Long cost = null;
      for (Map.Entry<String, Long> one : byBucket.entrySet()) {
        if (names(one.getKey(), transaction)) {
          if (cost != null) {
            throw twice(one.getKey());
          }
          cost = one.getValue();
        }
      }
      return cost;
    }

    /** Whether a text is the transaction's limit, ":" and its id in any spelling. */
    private static boolean names(String bucket, Transaction transaction) {
      String limit = transaction.name().name() + ":";
      if (!bucket.startsWith(limit)) {
        return false;
      }
      String id = bucket.substring(limit.length());
      try {
        return id.equals(transaction.id())
            || transaction.name().id().canonical(id, Strictness.LENIENT).equals(transaction.id());
      } catch (InvalidRequestException e) {
        return false;
      }
    }

    private static String limit(Held held) {
      return held.transaction().name().name();
    }

    private static InvalidRequestException unknown(
        String what, String given, Collection<String> known) {
      Set<String> each = new LinkedHashSet<>(known);
      return new InvalidRequestException(
          Field.LIMIT,
          "the reservation has no %s %s%s; it has %s"
              .formatted(
                  what,
                  SafeText.printable(given),
                  Suggestion.didYouMean(given, each),
                  SafeText.printable(String.join(", ", each))));
    }

    private @Nullable Long cost(Held held, boolean hasSeveralBuckets) {
      String limit = limit(held);
      Long cost = byBucket(held.transaction());
      Long byName = byLimit.get(limit);
      if (byName != null) {
        if (hasSeveralBuckets) {
          throw new InvalidRequestException(
              Field.LIMIT,
              "the reservation has several buckets of %s; give the cost of each id, or reserve each by itself"
                  .formatted(limit));
        }
        if (cost != null) {
          throw twice(limit);
        }
        cost = byName;
      }
      if (cost != null && cost == 0 && !allowsZero) {
        throw new InvalidRequestException(
            Field.COST,
            "cost of %s: found 0, expected 1 or more; allowZero allows 0, for a call that really cost nothing"
                .formatted(limit));
      }
      return cost;
    }
  }

  /**
   * The result of {@link #settle(Costs)}.
   *
   * @param settled whether all of the settlement is applied; false if it waits, and if the call did
   *     nothing, since the reservation was denied, settled, cancelled or closed before
   * @param waiting whether the store is away: a part of the settlement waits in the memory of this
   *     process, and is applied when the store is back within 10 s. Otherwise, or if 10,000
   *     settlements wait already, it is lost, and {@link LimiterObserver#settlementLost} is called
   * @param parts one for each bucket that is limited now, in the order of the transactions; a limit
   *     with several quotas has a bucket for each, which its part's transaction names. Without
   *     those that still wait, and those that keep their estimate and could not be read
   */
  public record Settlement(boolean settled, boolean waiting, List<Settlement.Part> parts) {

    static final Settlement NOTHING = new Settlement(false, false, List.of());

    /**
     * Makes a settlement.
     *
     * @param settled as above
     * @param waiting as above
     * @param parts copied
     */
    public Settlement {
      parts = List.copyOf(parts);
    }

    /**
     * What a settlement did to one bucket; all numbers are tokens.
     *
     * @param transaction the transaction that was reserved
     * @param charged what the call was charged in all, including what stayed of the reservation:
     *     the true cost without {@code cut}, and more if what was reserved too much has refilled
     * @param givenBack how much of the reservation was given back, rounded down
     * @param owed by how much all spends have overdrawn the bucket now, rounded up
     * @param cut how much of the true cost did not fit, and was not charged
     * @param remaining what the bucket has now
     */
    public record Part(
        Transaction transaction,
        long charged,
        long givenBack,
        long owed,
        long cut,
        long remaining) {}
  }

  /**
   * The tokens that a {@link Reservation} took, as plain values, for a cancellation or a settlement
   * in another process with the same store and limits.
   *
   * <p>A process that uses a receipt does not know which other tokens were given back since, so
   * {@link Limiter#cancel(Receipt)} is less exact than {@link Reservation#cancel()}, and {@link
   * Limiter#settle} than {@link Reservation#settle(Costs)}. They give back the tokens that would
   * not have refilled by now without other give-backs. They never overfill a bucket. The caller
   * must not use a receipt twice; nothing checks this.
   *
   * @param parts one for each transaction that was not only checked; none for a reservation that is
   *     no longer open, or that took nothing from the store
   */
  public record Receipt(List<Receipt.Part> parts) {

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
     * @param transaction which bucket, with the tokens taken as its cost
     * @param intervalNanos the emission interval of the spend; times the cost it fits into 64 bits.
     *     0 if no limit applied
     * @param untilNanos the instant by the store's clock, in unsigned nanoseconds since the Unix
     *     epoch, from which nothing is left to give back: the TAT after the spend. 0 if nothing is
     *     left
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
        if (intervalNanos < 0 || (cost > 0 && intervalNanos > Long.MAX_VALUE / cost)) {
          throw new IllegalArgumentException(
              "intervalNanos: found %s at cost %s, expected at least 0, and that their product fits into 64 bits"
                  .formatted(intervalNanos, cost));
        }
      }

      /**
       * Makes a part of plain values, for a receipt that another process has sent.
       *
       * @param limits the current limits; if they no longer have the limit, or its ids have another
       *     format, the part gives nothing back and is not charged
       * @param limit as {@link #limit} returns it
       * @param id the id, in canonical form
       * @param tokens the tokens taken, 0 or more; the limit's burst may be lower now
       * @param intervalNanos as above
       * @param untilNanos as above
       * @return the part
       * @throws IllegalArgumentException for a number out of its range
       */
      public static Part of(
          Limits limits,
          String limit,
          String id,
          long tokens,
          long intervalNanos,
          long untilNanos) {
        if (tokens < 0) {
          throw new IllegalArgumentException("tokens: found " + tokens + ", expected 0 or more");
        }
        int slash = limit.indexOf('/');
        String name = slash < 0 ? limit : limit.substring(0, slash);
        try {
          Transaction whole = Transaction.of(limits, name, id).took(tokens);
          Transaction part = whole.part(slash < 0 ? null : limit.substring(slash + 1));
          return part == null
              ? new Part(whole, Held.UNCHARGED, Gcra.NO_TAT)
              : new Part(part, intervalNanos, untilNanos);
        } catch (InvalidRequestException e) {
          return new Part(Transaction.unlimited(name, id), Held.UNCHARGED, Gcra.NO_TAT);
        }
      }

      /**
       * Returns the limit's name, for {@link #of}. If the limit has several quotas, "/" and the
       * period follow the name, except for the longest.
       *
       * @return the name, such as {@code Calls} or {@code Calls/1s}
       */
      public String limit() {
        String period = transaction.furtherPeriod();
        String name = transaction.name().name();
        return period == null ? name : name + "/" + period;
      }

      private Held held(Function<Charge, @Nullable GiveBack> sent) {
        return new Held(
            transaction,
            transaction.cost(),
            intervalNanos,
            (tokens, now) -> {
              Charge refund = refund(tokens, now);
              return refund == null ? null : sent.apply(refund);
            });
      }

      private @Nullable Charge refund(long tokens, Quota now) {
        long worthNanos = Math.min(intervalNanos, now.intervalNanos()) * tokens;
        return worthNanos == 0 || untilNanos == Gcra.NO_TAT
            ? null
            : new Charge(
                transaction.bucketKey(),
                Effect.Op.REFUND,
                Math.min(worthNanos, now.offsetNanos()),
                now.offsetNanos(),
                untilNanos);
      }
    }

    /** Returns the refunds of all tokens; an id that nothing limits now has none. */
    List<Charge> refunds(Function<Transaction, @Nullable Present> present) {
      List<Charge> refunds = new ArrayList<>(parts.size());
      for (Receipt.Part part : parts) {
        Present now = present.apply(part.transaction);
        Charge refund = now == null ? null : part.refund(part.transaction.cost(), now.quota());
        if (refund != null) {
          refunds.add(refund);
        }
      }
      return refunds;
    }

    /** Returns what the reservation holds, for a settlement. */
    List<Held> held(TrackedStore store) {
      return parts.stream()
          .map(part -> part.held(refund -> store.reservations().send(List.of(refund)).get(0)))
          .toList();
    }
  }

  /**
   * Estimates costs that are known only afterwards, and learns from the settlements of
   * reservations.
   *
   * <pre>{@code
   * Estimate tokens = Estimate.mean(16, 8_192); // one for all requests
   * Transaction call = limiter.transaction("TokensPerKey", key).withCost(tokens.of(model, prompt));
   * try (Reservation reserved = limiter.reserve(call)) {
   *   …
   *   reserved.settle(Map.of("TokensPerKey", used)); // the estimate learns this cost
   * }
   * }</pre>
   *
   * <p>The estimate is the mean, not the highest cost: tokens that are reserved too much have often
   * refilled before they can be given back, so the limit would not be used up.
   *
   * <p>A group, such as a model, is estimated by itself after 20 settlements. Before, its estimate
   * is that of all groups together, and until these have 20 settlements, it is the highest
   * estimate. The most recent 1,000 settlements of a group count most, and each as at most ten
   * times the highest estimate. An estimate remembers the 1,000 groups that were used last, in the
   * memory of this process.
   *
   * <p>Thread-safe; never blocks for long.
   */
  public static final class Estimate {

    private static final int FEWEST = 20;
    private static final int MOST_GROUPS = 1_000;
    private static final double MEMORY = 1_000; // the number of settlements that the mean remembers
    private static final double MOST_LEARNED = 10; // multiple of the highest estimate

    private final long least;
    private final long most;

    @GuardedBy("this")
    private final Map<String, Ratio> groups = new LinkedHashMap<>(16, 0.75f, true);

    @GuardedBy("this")
    private final Ratio all = new Ratio();

    private Estimate(long least, long most) {
      this.least = least;
      this.most = most;
    }

    /**
     * Returns an estimate by the mean of costs in proportion to their hints.
     *
     * @param least the lowest estimate, at least 1
     * @param most the highest estimate, at least {@code least}; also the first one
     * @return an estimate that has learned nothing
     * @throws IllegalArgumentException for other bounds
     */
    public static Estimate mean(long least, long most) {
      if (least < 1 || most < least) {
        throw new IllegalArgumentException(
            "found estimates from %s to %s, expected a lower bound of 1 or more, and an upper bound that is not below it"
                .formatted(least, most));
      }
      return new Estimate(least, most);
    }

    /**
     * Estimates the cost of a call that nothing else is known about.
     *
     * @param group calls with similar costs
     * @return the estimated cost, for one call
     */
    public EstimatedCost of(String group) {
      return of(group, 1);
    }

    /**
     * Estimates the cost of a call in proportion to a hint.
     *
     * @param group calls with a similar ratio of cost to hint, such as the name of a model
     * @param hint a number that is known before the call and that the cost grows with, such as the
     *     length of a prompt; 0 counts as 1
     * @return the estimated cost, for one call
     * @throws IllegalArgumentException for a negative hint
     */
    public EstimatedCost of(String group, long hint) {
      Objects.requireNonNull(group, "group");
      if (hint < 0) {
        throw new IllegalArgumentException("hint: found " + hint + ", expected 0 or more");
      }
      return new EstimatedCost(this, group, Math.max(hint, 1), tokens(group, Math.max(hint, 1)));
    }

    private synchronized long tokens(String group, long hint) {
      Ratio own = groups.get(group);
      Ratio known = own != null && own.settlements >= FEWEST ? own : all;
      if (known.settlements < FEWEST) {
        return most;
      }
      return Math.min(Math.max(Math.round(known.costs / known.hints * hint), least), most);
    }

    private synchronized void learn(String group, long hint, long cost) {
      double learned = Math.min((double) cost, MOST_LEARNED * most);
      groups.computeIfAbsent(group, name -> new Ratio()).add(hint, learned);
      all.add(hint, learned);
      if (groups.size() > MOST_GROUPS) {
        groups.remove(groups.keySet().iterator().next()); // the group that was used least recently
      }
    }

    /** The sums of costs and hints; older ones count less and less. */
    private static final class Ratio {
      private double costs;
      private double hints;
      private double settlements;

      private void add(long hint, double cost) {
        double kept = settlements < MEMORY ? 1 : 1 - 1 / MEMORY;
        costs = costs * kept + cost;
        hints = hints * kept + hint;
        settlements = settlements * kept + 1;
      }
    }

    /**
     * The estimated cost of one call, for {@link Transaction#withCost(EstimatedCost)}. The
     * transactions of one call may share it. It learns from the first settlement. Thread-safe.
     */
    public static final class EstimatedCost {

      private final Estimate estimate;
      private final String group;
      private final long hint;
      private final long tokens;
      private final AtomicBoolean learned = new AtomicBoolean();

      private EstimatedCost(Estimate estimate, String group, long hint, long tokens) {
        this.estimate = estimate;
        this.group = group;
        this.hint = hint;
        this.tokens = tokens;
      }

      /**
       * Returns the estimate.
       *
       * @return tokens, within the bounds of the {@link Estimate}
       */
      public long tokens() {
        return tokens;
      }

      void learn(long cost) {
        if (learned.compareAndSet(false, true)) {
          estimate.learn(group, hint, cost);
        }
      }

      @Override
      public String toString() {
        return "about " + tokens + " tokens";
      }
    }
  }
}
