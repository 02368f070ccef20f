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
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
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
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A spend that can be cancelled once, for limits that count only failed attempts, or settled once,
 * for costs that are known only afterwards.
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
 * <p>{@link #settle(Costs)} replaces the reserved costs, which are estimates, with the true costs:
 * it gives back the tokens that a call did not use, or charges the tokens that a call used in
 * addition.
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
 * <p>Tokens that are not given back before {@link #close} stay spent. {@link #cancel()} gives back
 * the tokens that have not refilled since the reservation, at most once, and never overfills a
 * bucket. A cancellation gives back nothing if the bucket was reset through this limiter after the
 * reservation, or if the limit is disabled now. A cancellation in the same process never makes the
 * bucket fuller than it would be without the reservation, unless another call gives tokens back to
 * the bucket at the same time. If cancellations overlap, the bucket can be too full by at most the
 * tokens that refill from the sending of the first cancellation to the effect of the last. If a
 * cancellation overlaps a refund or a reset, the bucket can also be too full by at most the tokens
 * that the cancellation gives back. If another call gives tokens back to the bucket while a
 * reservation is made, the reservation can give back fewer tokens than it took.
 *
 * <p>Close every reservation. A limiter tracks 4,096 open reservations per bucket and 1,000,000 in
 * total. If too many reservations are open, the limiter closes the oldest reservation, and calls
 * {@link LimiterObserver#settledEarly}. A reservation that is never closed is forgotten once its
 * tokens have refilled. Cancelling takes O(n) time for n open reservations of the bucket.
 *
 * <p>If the {@link FailureRule} {@code local} took the tokens from a bucket in this process's
 * memory, they are given back to this bucket. If a failure rule allowed the request without a
 * bucket, no tokens were taken.
 *
 * <p>Thread-safe. {@link #cancel()} and {@link #settle(Costs)} block like a spend; {@link
 * #cancelAsync} and {@link #settleAsync} do not block.
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
   * @param store the store that the reservation has charged
   * @param present a function that returns the current quota of a transaction, null if its limit is
   *     disabled
   * @param taken the tokens that each transaction took
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
   * @return the decision; for a batch the strictest one
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
   * Returns whether the request must not pass. A denied reservation has nothing to cancel.
   *
   * @return true if the request was denied, so no tokens were spent
   */
  public boolean denied() {
    return decision.denied();
  }

  /** Returns the decision, and whether the reservation is still open. */
  @Override
  public String toString() {
    boolean tookNothing = taken.stream().allMatch(one -> one.stretch == null);
    String state = tookNothing ? "" : done.get() ? ", closed" : ", open";
    return "reservation%s: %s".formatted(state, decision);
  }

  /**
   * Returns a receipt for the tokens that can be given back now, for a cancellation or a settlement
   * in another process. The reservation stays open, but must not be cancelled or settled if the
   * receipt is used.
   *
   * @return the receipt; it has no parts if the reservation is denied, settled, cancelled or
   *     closed, or if a failure rule decided
   */
  public Receipt receipt() {
    // A failure rule decided in this process only, so no other process can give tokens back.
    if (denied() || done.get() || decision.degraded()) {
      return new Receipt(List.of());
    }
    return new Receipt(taken.stream().map(Taken::receipt).toList());
  }

  /**
   * Gives the tokens back. A further cancellation, or a cancellation after {@link #close}, does
   * nothing.
   *
   * @throws StoreException if the store failed. After a store failure, the tokens stay spent,
   *     unless the store gave the tokens back and only its answer was lost. A further cancellation
   *     does not give the tokens back
   */
  public void cancel() {
    cancel(transaction -> true);
  }

  /**
   * Gives the tokens of some transactions of a batch back; the other tokens stay spent for good. A
   * further cancellation, or a cancellation after {@link #close}, does nothing.
   *
   * @param which selects the transactions whose tokens to give back
   * @throws StoreException if the store failed; see {@link #cancel()}
   */
  public void cancel(Predicate<Transaction> which) {
    TrackedStore.result(store.giveBack(store.blockingCall(), cancelled(which)));
  }

  /**
   * Gives the tokens back without blocking. A further cancellation, or a cancellation after {@link
   * #close}, does nothing.
   *
   * @return a stage that completes when the tokens are given back; it fails with a {@link
   *     StoreException} where {@link #cancel()} would throw
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> cancelAsync() {
    return cancelAsync(transaction -> true);
  }

  /**
   * Gives the tokens of some transactions of a batch back without blocking; the other tokens stay
   * spent for good. A further cancellation, or a cancellation after {@link #close}, does nothing.
   *
   * @param which selects the transactions whose tokens to give back
   * @return a stage that completes when the tokens are given back; it fails with a {@link
   *     StoreException} where {@link #cancel()} would throw
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> cancelAsync(Predicate<Transaction> which) {
    return store.giveBack(store.oneCall(), cancelled(which));
  }

  /**
   * Divides the reservation of a batch into two reservations that can be cancelled, settled and
   * closed at different times. This reservation is closed; the tokens stay reserved.
   *
   * @param which selects the transactions of the first reservation
   * @return two reservations: one with the selected transactions, and one with the others. Both are
   *     closed if this reservation was settled, cancelled or closed before
   */
  public List<Reservation> split(Predicate<Transaction> which) {
    // The predicate runs first: if it throws, this reservation stays open.
    Map<Boolean, List<Taken>> parts =
        taken.stream()
            .collect(Collectors.partitioningBy(one -> which.test(one.transaction.whole())));
    boolean ended = done.getAndSet(true);
    return Stream.of(true, false)
        .map(
            selected -> {
              Reservation part =
                  new Reservation(
                      store, present, decision, Objects.requireNonNull(parts.get(selected)));
              part.done.set(ended);
              return part;
            })
        .toList();
  }

  /**
   * Replaces the reserved costs with the true costs; see {@link #settle(Costs)}.
   *
   * @param costs the numbers of tokens by limit name, each at least 1
   * @return the result for each bucket
   * @throws IllegalArgumentException see {@link #settle(Costs)}
   * @throws StoreException see {@link #settle(Costs)}
   */
  @CanIgnoreReturnValue
  public Settlement settle(Map<String, Long> costs) {
    return settle(Costs.of(costs));
  }

  /**
   * Replaces the reserved costs with the true costs. A settlement does nothing if the reservation
   * is denied, or was settled, cancelled or closed before.
   *
   * <p>If the true cost is lower than the reserved cost, the difference is given back, except
   * tokens that have refilled since. If the true cost is higher than the reserved cost, the
   * difference is charged now, if the bucket has enough tokens. If the bucket has too few tokens,
   * all its tokens are charged, and the rest becomes a debt if the limit {@linkplain Limits#debtOf
   * declares} one. {@link Settlement.Part#cut} is the number of tokens that neither the bucket nor
   * its debt can hold; these tokens are never charged. If the costs do not include a limit, the
   * limit's estimate stays charged.
   *
   * <p>The buckets are not settled atomically. Buckets whose true cost exceeds the reserved cost
   * are charged before other buckets get tokens back. While the store cannot be reached, the rest
   * of the settlement {@linkplain Settlement#waiting waits} for up to 10 s, and the reservation
   * stays open for that time. Nothing is charged for an id to which no limit applies, or which a
   * {@link FailureRule} allowed.
   *
   * @param costs the true costs
   * @return the result for each bucket
   * @throws IllegalArgumentException if a limit has a cost but is not in the reservation or is in
   *     it more than once, or if a cost is 0 without {@link Costs#allowZero}; the reservation stays
   *     open, and nothing is charged
   * @throws StoreException if an answer of the store was lost, so that it is unknown whether the
   *     store has applied the whole settlement; calling this method again does nothing
   */
  @CanIgnoreReturnValue
  public Settlement settle(Costs costs) {
    return TrackedStore.result(settle(store.blockingCall(), costs));
  }

  /**
   * Replaces the reserved costs with the true costs without blocking; see {@link #settle(Costs)}.
   *
   * @param costs the true costs
   * @return the stage with the result; the stage fails where {@link #settle(Costs)} would throw
   * @throws IllegalArgumentException see {@link #settle(Costs)}
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
    // forget() also closes each reservation with a give-back in flight: if the give-back fails, the
    // reservation must not become open again.
    forget();
    return refunds;
  }

  private CompletionStage<Settlement> settle(BucketStore call, Costs costs) {
    Objects.requireNonNull(costs, "costs");
    if (denied() || done.get()) {
      return CompletableFuture.completedFuture(Settlement.NOTHING);
    }
    List<Held> helds = new ArrayList<>(taken.size());
    taken.forEach(one -> helds.add(one.held(store)));
    Map<String, Long> trueCosts = costs.trueCosts(helds);
    List<Due> due = Costs.due(helds, trueCosts, present);
    if (!done.compareAndSet(false, true)) {
      return CompletableFuture.completedFuture(Settlement.NOTHING);
    }
    helds.forEach(held -> Costs.teach(held, trueCosts));
    return new Settling(store, due, this::forget).settle(call);
  }

  /**
   * The current quota and debt of a bucket.
   *
   * @param debt how many bursts the bucket is allowed to owe
   */
  record Present(Quota quota, int debt) {

    /** Returns the current quota and debt, null if nothing limits the transaction's id now. */
    static @Nullable Present of(Limits now, Transaction transaction) {
      Quota quota = transaction.quotaIn(now);
      return quota == null ? null : new Present(quota, now.debtOf(transaction.name()));
    }
  }

  /**
   * The tokens that one transaction took from one bucket.
   *
   * @param quota the quota of the spend, null if no limit applied
   * @param stretch the tokens that can be given back, null if no tokens were taken
   */
  record Taken(Transaction transaction, @Nullable Quota quota, @Nullable Stretch stretch) {

    /**
     * Returns the tokens that each transaction of a batch took, except check-only transactions.
     *
     * @param quotaOf a function that returns the quota of a transaction, null if no limit applied
     * @param holding the tokens taken by each transaction with a quota, in the order of the
     *     transactions
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
     * Returns the costs of several limits.
     *
     * @param costs the numbers of tokens by limit name; the map is copied
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
     * Returns costs that consist of the cost of one limit.
     *
     * @param limit the limit's name
     * @param cost the number of tokens, at least 1; with {@link #allowZero} at least 0
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
     * @param cost the number of tokens, at least 1; with {@link #allowZero} at least 0
     * @return new costs
     * @throws InvalidRequestException for a negative cost, and for a limit that has a cost already
     */
    public Costs and(String limit, long cost) {
      Map<String, Long> more = new TreeMap<>(byLimit);
      put(more, limit, limit, cost);
      return new Costs(more, byBucket, allowsZero);
    }

    /**
     * Adds the cost of one bucket, for a reservation with several buckets of the same limit.
     *
     * @param transaction a transaction on the bucket, such as the reserved transaction
     * @param cost the number of tokens, at least 1; with {@link #allowZero} at least 0
     * @return new costs
     * @throws InvalidRequestException for a negative cost, and for a bucket that has a cost already
     */
    public Costs and(Transaction transaction, long cost) {
      return and(transaction.name().name(), transaction.id(), cost);
    }

    /**
     * Adds the cost of one bucket, for a reservation with several buckets of the same limit.
     *
     * @param limit the limit's name
     * @param id the id
     * @param cost the number of tokens, at least 1; with {@link #allowZero} at least 0
     * @return new costs
     * @throws InvalidRequestException for a negative cost, and for a bucket that has a cost already
     */
    public Costs and(String limit, String id, long cost) {
      Map<String, Long> more = new TreeMap<>(byBucket);
      put(more, limit + ":" + id, limit, cost);
      return new Costs(byLimit, more, allowsZero);
    }

    /**
     * Allows a cost of 0, which gives all reserved tokens back. By default a cost of 0 is refused,
     * since it may come from a usage report that could not be read.
     *
     * @return new costs
     */
    public Costs allowZero() {
      return new Costs(byLimit, byBucket, true);
    }

    /**
     * Checks whether a settlement with a receipt would accept the costs of this object. Changes
     * nothing.
     *
     * @param receipt the receipt of the reservation to settle
     * @throws InvalidRequestException if {@link Limiter#settle} would throw this exception
     */
    public void requireFor(Receipt receipt) {
      List<Held> helds = receipt.parts().stream().map(part -> part.held(refund -> null)).toList();
      var unused = trueCosts(helds);
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
     * Returns the true cost of each bucket of a reservation that has one, by "limit:id" with the id
     * in canonical form.
     *
     * @throws InvalidRequestException if these costs do not belong to the given reservation
     */
    Map<String, Long> trueCosts(List<Held> helds) {
      Map<String, Set<String>> buckets = new LinkedHashMap<>(); // a limit's quotas are one bucket
      Map<String, IdFormat> formats = new HashMap<>();
      Set<String> known = new LinkedHashSet<>();
      for (Held held : helds) {
        Transaction whole = held.transaction().whole();
        buckets.computeIfAbsent(limit(held), limit -> new HashSet<>()).add(whole.bucketKey());
        formats.putIfAbsent(limit(held), whole.name().id());
        known.add(key(held));
      }
      for (String limit : byLimit.keySet()) {
        if (!buckets.containsKey(limit)) {
          throw unknown("limit", limit, buckets.keySet());
        }
      }
      Map<String, Long> byId = new HashMap<>();
      byBucket.forEach(
          (given, cost) -> {
            String key = known.contains(given) ? given : canonical(given, formats);
            if (!known.contains(key)) {
              throw unknown("bucket", given, known);
            }
            if (byId.put(key, cost) != null) {
              throw twice(given);
            }
          });
      Map<String, Long> costs = new HashMap<>();
      for (Held held : helds) {
        boolean isOneOfSeveral = Objects.requireNonNull(buckets.get(limit(held))).size() > 1;
        Long cost = cost(limit(held), byId.get(key(held)), isOneOfSeveral);
        if (cost != null) {
          costs.put(key(held), cost);
        }
      }
      return costs;
    }

    /** Returns "limit:id" with the canonical form of the id; the given text if there is none. */
    private static String canonical(String given, Map<String, IdFormat> formats) {
      int colon = given.indexOf(':'); // a limit's name contains no colon
      String limit = given.substring(0, colon);
      IdFormat format = formats.get(limit);
      try {
        return format == null
            ? given
            : limit + ":" + format.canonical(given.substring(colon + 1), Strictness.LENIENT);
      } catch (InvalidRequestException e) {
        return given;
      }
    }

    /**
     * Returns the cost to settle for each bucket to which a limit applies now.
     *
     * @param costs the true costs that {@link #trueCosts} has returned
     */
    static List<Due> due(
        List<Held> helds,
        Map<String, Long> costs,
        Function<Transaction, @Nullable Present> present) {
      List<Due> due = new ArrayList<>(helds.size());
      for (Held held : helds) {
        Long cost = costs.get(key(held));
        Present now = held.isUncharged() ? null : present.apply(held.transaction());
        if (now != null) {
          due.add(new Due(held, cost == null ? held.tokens() : cost, cost != null, now));
        }
      }
      return due;
    }

    /** Updates the estimate of a transaction with its true cost, if the true cost is known. */
    private static void teach(Held held, Map<String, Long> costs) {
      Long cost = costs.get(key(held));
      if (cost != null) {
        held.transaction().learn(cost);
      }
    }

    private static String key(Held held) {
      return limit(held) + ":" + held.transaction().id();
    }

    private static String limit(Held held) {
      return held.transaction().name().name();
    }

    private static InvalidRequestException unknown(String what, String given, Set<String> known) {
      return new InvalidRequestException(
          Field.LIMIT,
          "the reservation has no %s %s%s; it has %s"
              .formatted(
                  what,
                  SafeText.printable(given),
                  Suggestion.didYouMean(given, known),
                  SafeText.printable(String.join(", ", known))));
    }

    private @Nullable Long cost(String limit, @Nullable Long byId, boolean hasSeveralBuckets) {
      Long cost = byId;
      Long byName = byLimit.get(limit);
      if (byName != null) {
        if (hasSeveralBuckets) {
          throw new InvalidRequestException(
              Field.LIMIT,
              "the reservation has several buckets of %s; give the cost of each id, or reserve each id by itself"
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
            "cost of %s: found 0, expected 1 or more; if the call cost nothing, set allowZero (ALLOWZERO over the Redis protocol)"
                .formatted(limit));
      }
      return cost;
    }
  }

  /**
   * The result of {@link #settle(Costs)}.
   *
   * @param settled whether the whole settlement was applied; false if a part of the settlement
   *     still waits, or if the call did nothing because the reservation was denied, settled,
   *     cancelled or closed before
   * @param waiting whether a part of the settlement waits in the memory of this process because the
   *     store cannot be reached. The waiting part of a settlement is applied if the store can be
   *     reached again within 10 s. The waiting part of a settlement is lost if the store stays
   *     unreachable, or if 10,000 settlements wait already; {@link LimiterObserver#settlementLost}
   *     is then called
   * @param parts the results, one for each bucket to which a limit applies now, in the order of the
   *     transactions; a limit with several quotas has one bucket per quota, and the transaction of
   *     a result has the quota of the bucket. A bucket has no result if its settlement still waits,
   *     or if the bucket keeps its estimate and could not be read
   */
  public record Settlement(boolean settled, boolean waiting, List<Settlement.Part> parts) {

    static final Settlement NOTHING = new Settlement(false, false, List.of());

    /**
     * Makes the result of a settlement.
     *
     * @param settled see above
     * @param waiting see above
     * @param parts the results for the buckets; the list is copied
     */
    public Settlement {
      parts = List.copyOf(parts);
    }

    /**
     * The effect of a settlement on one bucket; all numbers are tokens.
     *
     * @param transaction the reserved transaction
     * @param charged the total charge of the call, including the reserved tokens that were not
     *     given back. The charge is the true cost minus {@code cut}, or more if unused tokens
     *     refilled before they could be given back
     * @param givenBack how many reserved tokens were given back, rounded down. A fraction of a
     *     token refills between the reservation and the settlement, so a cost of 0 usually leaves
     *     {@code charged} at 1, even if the bucket is full
     * @param owed the present debt of the bucket from all spends, rounded up
     * @param cut the tokens of the true cost that neither the bucket nor its debt could hold, and
     *     that were not charged
     * @param remaining the tokens left in the bucket now
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
   * <p>A process that uses a receipt does not know which other tokens were given back since the
   * reservation, so {@link Limiter#cancel(Receipt)} is less exact than {@link
   * Reservation#cancel()}, and {@link Limiter#settle} is less exact than {@link
   * Reservation#settle(Costs)}. The tokens that a receipt gives back are computed as if no other
   * tokens had been given back since the reservation. A receipt never overfills a bucket. The
   * caller must not use a receipt twice; nothing checks this.
   *
   * @param parts the tokens of each transaction that is not check-only; empty if the reservation is
   *     no longer open, or took no tokens from the store
   */
  public record Receipt(List<Receipt.Part> parts) {

    /**
     * Makes a receipt.
     *
     * @param parts the tokens of each transaction; the list is copied
     */
    public Receipt {
      parts = List.copyOf(parts);
    }

    /**
     * The tokens taken from one bucket.
     *
     * @param transaction the transaction on the bucket, whose cost is the number of tokens taken
     * @param intervalNanos the emission interval of the spend, 0 if no limit applied; multiplied by
     *     the cost it must fit into 64 bits
     * @param untilNanos the TAT after the spend, in unsigned nanoseconds since the Unix epoch by
     *     the store's clock. After {@code untilNanos}, all tokens have refilled, so none can be
     *     given back. The value 0 means that no tokens can be given back now
     */
    public record Part(Transaction transaction, long intervalNanos, long untilNanos) {

      private static final String TRIAL = "~"; // no name of a limit contains this character

      /**
       * Makes a part.
       *
       * @param transaction the transaction on the bucket
       * @param intervalNanos the emission interval of the spend
       * @param untilNanos the instant from which no tokens are left to give back
       * @throws IllegalArgumentException if the interval is negative or too large
       */
      public Part {
        Objects.requireNonNull(transaction, "transaction");
        long cost = transaction.cost();
        if (intervalNanos < 0 || (cost > 0 && intervalNanos > Long.MAX_VALUE / cost)) {
          throw new IllegalArgumentException(
              "intervalNanos: found %s with the cost %s, expected at least 0 and a product that fits into 64 bits"
                  .formatted(intervalNanos, cost));
        }
      }

      /**
       * Makes a receipt's part from plain values that another process has sent.
       *
       * @param limits the current limits; the receipt's part has no effect if these limits no
       *     longer have the limit's name, or the format of the limit's ids has changed
       * @param limit the text that {@link #limit} returns
       * @param id the id in canonical form
       * @param tokens the number of tokens taken, 0 or more; can be higher than the limit's current
       *     burst
       * @param intervalNanos see above
       * @param untilNanos see above
       * @return the part
       * @throws IllegalArgumentException if a number is out of range
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
        boolean isTrial = limit.startsWith(TRIAL);
        int slash = limit.indexOf('/');
        String name = limit.substring(isTrial ? 1 : 0, slash < 0 ? limit.length() : slash);
        try {
          Transaction spent = Transaction.of(limits, name, id).took(tokens);
          Transaction whole = isTrial ? spent.inShadow() : spent;
          Transaction part = whole.part(slash < 0 ? null : limit.substring(slash + 1));
          return part == null
              ? new Part(whole, Held.UNCHARGED, Gcra.NO_TAT)
              : new Part(part, intervalNanos, untilNanos);
        } catch (InvalidRequestException e) {
          return new Part(Transaction.unlimited(name, id), Held.UNCHARGED, Gcra.NO_TAT);
        }
      }

      /**
       * Returns the limit's name in the form that {@link #of} reads. If a limit has several quotas,
       * "/" and the quota's period are appended to the name, except for the longest period. The
       * text for a {@linkplain Transaction#inShadow trial} begins with "~".
       *
       * @return the text, such as {@code Calls}, {@code Calls/1s} or {@code ~Calls}
       */
      public String limit() {
        String period = transaction.furtherPeriod();
        String name = (transaction.isShadow() ? TRIAL : "") + transaction.name().name();
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

    /** Returns the refunds of all tokens, except tokens of ids to which no limit applies now. */
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

    List<Held> held(TrackedStore store) {
      return parts.stream()
          .map(part -> part.held(refund -> store.reservations().send(List.of(refund)).get(0)))
          .toList();
    }
  }

  /**
   * Estimates costs that are known only after a call, from the settlements of earlier reservations.
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
   * <p>The estimate is the mean cost of earlier calls, not their highest cost. Reserving more
   * tokens than a call uses would waste tokens, since unused tokens have often refilled before they
   * can be given back.
   *
   * <p>A group of calls, such as all calls of a model, has its own mean after 20 settlements. For a
   * group with fewer than 20 settlements, the estimate is the mean cost of all calls. Until the
   * groups have 20 settlements in total, the estimate is the highest estimate. The mean of a group
   * of calls is determined by the group's latest 1,000 settlements; older settlements have little
   * weight. A true cost of more than ten times the highest estimate counts as ten times the highest
   * estimate. This process keeps the means of the 1,000 most recently used groups of calls.
   *
   * <p>Thread-safe; never blocks for long.
   */
  public static final class Estimate {

    private static final int FEWEST = 20;
    private static final int MOST_GROUPS = 1_000;
    private static final double MEMORY = 1_000; // older settlements have little weight in the mean
    private static final double MOST_LEARNED = 10; // caps costs at 10 times the highest estimate

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
     * Returns an estimate based on the mean ratio of cost to {@linkplain #of(String, long) hint}.
     *
     * @param least the lowest estimate, at least 1
     * @param most the highest estimate, at least {@code least}; also the first estimate
     * @return a new estimate, without settlements
     * @throws IllegalArgumentException if the bounds are out of range
     */
    public static Estimate mean(long least, long most) {
      if (least < 1 || most < least) {
        throw new IllegalArgumentException(
            "found estimates from %s to %s, expected a lowest estimate of 1 or more, and a highest estimate that is not lower"
                .formatted(least, most));
      }
      return new Estimate(least, most);
    }

    /**
     * Estimates the cost of a call without a hint.
     *
     * @param group a name for calls with similar costs
     * @return the estimated cost, for one call
     */
    public EstimatedCost of(String group) {
      return of(group, 1);
    }

    /**
     * Estimates the cost of a call in proportion to a hint.
     *
     * @param group a name for calls with a similar ratio of cost to hint, such as a model's name
     * @param hint a number that is known before the call and is roughly proportional to the cost,
     *     such as the length of a prompt; 0 counts as 1
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

    /** Sums of costs and hints, in which older settlements weigh less. */
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
     * The estimated cost of one call, for {@link Transaction#withCost(EstimatedCost)}. Several
     * transactions of the call can share this estimated cost; only the first settlement updates the
     * estimate. Thread-safe.
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
       * @return the number of tokens, within the bounds of the {@link Estimate}
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
