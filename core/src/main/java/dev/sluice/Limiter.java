// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * Decides whether requests may pass, by named limits and a store of buckets.
 *
 * <p>Each verb comes in two forms: for a limit's name and an id, with or without a cost, and for
 * transactions: a single one, or a batch, which is all or nothing. {@link AsyncLimiter} has the
 * same forms. A cost lies between 0 (reads the bucket) and the limit's burst. A transaction may
 * have a quota of its own ({@link Transaction#of(LimitName, Quota, String)}); one batch may mix
 * both kinds.
 *
 * <p>Thread-safe. A call blocks while the store decides: briefly in memory; over a network for a
 * round trip, up to the store's time-out. {@link #async} never blocks. Every verb throws an {@link
 * InvalidRequestException} for an invalid name, id, cost or batch. For an id that has neither a
 * default nor an override this is a {@link MissingDefaultException}, unless {@link
 * Builder#missingDefault} allows it. Every verb throws a {@link StoreException} if the store could
 * not decide and no {@link FailureRule} decides instead.
 */
public final class Limiter {

  private final CurrentLimits limits;
  private final Engine engine;
  private final TimeSource time;
  private final Map<String, Limit> named = new ConcurrentHashMap<>();

  private Limiter(CurrentLimits limits, Engine engine, TimeSource time) {
    this.limits = limits;
    this.engine = engine;
    this.time = time;
  }

  /**
   * Returns a limiter with limits that don't change.
   *
   * @param limits the limits
   * @param store where the buckets are kept; not closed by the limiter
   * @return the limiter
   */
  public static Limiter of(Limits limits, BucketStore store) {
    return builder(limits, store).build();
  }

  /**
   * Returns a limiter with limits that can be replaced while it runs.
   *
   * @param limits the current limits
   * @param store where the buckets are kept; not closed by the limiter
   * @return the limiter
   */
  public static Limiter of(CurrentLimits limits, BucketStore store) {
    return builder(limits, store).build();
  }

  /**
   * Returns a limiter without named limits: callers supply the quotas, by {@link
   * Transaction#of(LimitName, Quota, String)} and {@link #limit(LimitName, Quota, Quota...)}.
   *
   * @param store where the buckets are kept; not closed by the limiter
   * @return the limiter
   */
  public static Limiter of(BucketStore store) {
    return of(Limits.builder(Catalogue.of()).build(), store);
  }

  /**
   * Returns a builder for a limiter with limits that don't change.
   *
   * @param limits the limits
   * @param store where the buckets are kept; not closed by the limiter
   * @return a builder
   */
  public static Builder builder(Limits limits, BucketStore store) {
    return builder(new CurrentLimits(limits), store);
  }

  /**
   * Returns a builder for a limiter with an observer, a clock or failure rules.
   *
   * @param limits the current limits
   * @param store where the buckets are kept; not closed by the limiter
   * @return a builder
   */
  public static Builder builder(CurrentLimits limits, BucketStore store) {
    return new Builder(limits, store);
  }

  /**
   * Returns one limit, which callers may keep: its name and quota are looked up once, and again
   * when the limits are replaced.
   *
   * @param limit the limit's name
   * @return a view of this limiter
   * @throws UnknownLimitException if the catalogue has no such name
   * @throws MissingDefaultException if the limit now has neither a default nor an override; a limit
   *     that loses both later refuses requests
   */
  public Limit limit(String limit) {
    Limit known = named.get(Objects.requireNonNull(limit, "limit"));
    if (known == null) {
      known = new Limit(engine, limits, limit);
      engine.requireConfigured(known.name());
      named.put(limit, known); // if two threads race, either limit is correct
    }
    return known;
  }

  /**
   * Returns one limit with a quota supplied by the caller, who may keep it; see {@link
   * Transaction#of(LimitName, Quota, String)}.
   *
   * @param name the limit's name
   * @param quota how much may pass for each id
   * @param more further quotas that apply as well, each with another period
   * @return a view of this limiter
   * @throws InvalidRequestException if the catalogue gives the name's number to another name, or
   *     the name another number
   * @throws IllegalArgumentException if the quotas do not fit together ({@link Quota#ofOneLimit})
   */
  public Limit limit(LimitName name, Quota quota, Quota... more) {
    return limit(name, Limit.listOf(quota, more));
  }

  Limit limit(LimitName name, List<Quota> quotas) {
    return new Limit(engine, limits, name, quotas);
  }

  /**
   * Returns a transaction under the current limits that checks and spends one token.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @return the transaction
   */
  public Transaction transaction(String limit, String id) {
    return Transaction.of(limits.get(), limit, id);
  }

  /**
   * Returns whether one token could be spent, and changes nothing.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @return the decision that a spend would have returned
   */
  public Decision check(String limit, String id) {
    return check(limit, id, 1);
  }

  /**
   * Returns whether a cost could be spent, and changes nothing.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param cost tokens
   * @return the decision that a spend would have returned
   */
  public Decision check(String limit, String id, long cost) {
    return limit(limit).check(id, cost);
  }

  /**
   * Returns whether a transaction could be spent, and changes nothing. Its kind does not matter,
   * except that an allow-only transaction has no bucket.
   *
   * @param transaction which bucket, at what cost
   * @return the decision that a spend would have returned
   */
  public Decision check(Transaction transaction) {
    return engine.decide(Act.CHECK, transaction);
  }

  /**
   * Returns whether a batch could be spent, and changes nothing.
   *
   * @param transactions no two on one bucket
   * @return the strictest decision, with each transaction's own
   */
  public Decision check(List<Transaction> transactions) {
    return engine.decideBatch(Act.CHECK, transactions);
  }

  /**
   * Spends one token if the bucket has one.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @return allowed if it was spent; a denial changes nothing
   */
  public Decision spend(String limit, String id) {
    return spend(limit, id, 1);
  }

  /**
   * Spends a cost if the bucket has as many tokens.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param cost tokens
   * @return allowed if it was spent; a denial changes nothing
   */
  public Decision spend(String limit, String id, long cost) {
    return limit(limit).spend(id, cost);
  }

  /**
   * Spends a transaction, as a batch of one.
   *
   * @param transaction which bucket, at what cost
   * @return allowed if it was spent; a denial changes nothing
   */
  public Decision spend(Transaction transaction) {
    return spend(Engine.alone(transaction));
  }

  /**
   * Spends a batch: every transaction or none.
   *
   * @param transactions no two on one bucket
   * @return the strictest decision, with each transaction's own; a denial changes no bucket
   */
  public Decision spend(List<Transaction> transactions) {
    return engine.decideBatch(Act.SPEND, transactions);
  }

  /**
   * Spends as many tokens as the bucket has, up to a number; {@link Decision#taken} says how many.
   *
   * <p>Of a limit with several quotas, it takes the tokens that all of its buckets have. A store is
   * then called twice if not all tokens fit, and up to eight times while other callers spend from
   * these buckets; the last call asks for one token. All calls share one time-out.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param most tokens, 1 or more; a number above the limit's burst asks for the burst
   * @return allowed if at least one token was spent; a denial says how long to wait for one
   */
  public Decision spendUpTo(String limit, String id, long most) {
    return spendUpTo(transaction(limit, id), most);
  }

  /**
   * Spends as many tokens as the bucket has, up to a number; {@link Decision#taken} says how many.
   *
   * @param transaction which bucket; its cost does not matter
   * @param most as above
   * @return as above
   */
  public Decision spendUpTo(Transaction transaction, long most) {
    return engine.decide(Act.SPEND, Objects.requireNonNull(transaction, "transaction").upTo(most));
  }

  /**
   * Gives one token back. A refund never fills a bucket beyond its burst, and creates no bucket.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @return allowed if something was given back, and the state of the bucket
   */
  @CanIgnoreReturnValue
  public Decision refund(String limit, String id) {
    return refund(limit, id, 1);
  }

  /**
   * Gives a cost back, or the part that a full bucket can take; creates no bucket.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param cost tokens
   * @return allowed if something was given back, and the state of the bucket
   */
  @CanIgnoreReturnValue
  public Decision refund(String limit, String id, long cost) {
    return engine.decide(Act.REFUND, transaction(limit, id).withCost(cost));
  }

  /**
   * Gives a transaction's cost back, or the part that a full bucket can take; creates no bucket.
   *
   * @param transaction which bucket, at what cost
   * @return allowed if something was given back, and the state of the bucket
   */
  @CanIgnoreReturnValue
  public Decision refund(Transaction transaction) {
    return engine.decide(Act.REFUND, transaction);
  }

  /**
   * Gives back what a batch spent. Check-only transactions are never refunded, spend-only ones are.
   *
   * @param transactions no two on one bucket
   * @return the strictest decision, with each transaction's own
   */
  @CanIgnoreReturnValue
  public Decision refund(List<Transaction> transactions) {
    return engine.decideBatch(Act.REFUND, transactions);
  }

  /**
   * Resets a bucket to full.
   *
   * @param limit the limit's name
   * @param id what is limited
   */
  public void reset(String limit, String id) {
    reset(List.of(transaction(limit, id)));
  }

  /**
   * Resets a transaction's bucket to full.
   *
   * @param transaction which bucket; kind and cost don't matter
   */
  public void reset(Transaction transaction) {
    reset(Engine.alone(transaction));
  }

  /**
   * Resets the buckets of a batch to full; the kinds of its transactions don't matter.
   *
   * @param transactions no two on one bucket
   */
  public void reset(List<Transaction> transactions) {
    engine.reset(transactions);
  }

  /**
   * Spends one token that can be given back if the attempt turns out good.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @return the reservation, denied if there was no token
   */
  public Reservation reserve(String limit, String id) {
    return reserve(limit, id, 1);
  }

  /**
   * Spends a cost that can be given back if the attempt turns out good.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param cost tokens
   * @return the reservation, denied if the tokens were not there
   */
  public Reservation reserve(String limit, String id, long cost) {
    return reserve(transaction(limit, id).withCost(cost));
  }

  /**
   * Spends a transaction that can be given back if the attempt turns out good.
   *
   * @param transaction which bucket, at what cost
   * @return the reservation, denied if the tokens were not there
   */
  public Reservation reserve(Transaction transaction) {
    return reserve(Engine.alone(transaction));
  }

  /**
   * Spends a batch, all or nothing, that can be given back if the attempt turns out good.
   *
   * @param transactions no two on one bucket
   * @return the reservation, denied if one of the transactions was
   */
  public Reservation reserve(List<Transaction> transactions) {
    return engine.reserve(transactions);
  }

  /**
   * Gives back the tokens of another process's reservation, except those that have refilled since;
   * gives nothing back if the limit is disabled now.
   *
   * @param receipt which tokens were taken; to be used once
   * @throws StoreException if the store failed; the tokens then stay spent, or were given back if
   *     only the answer was lost
   */
  public void cancel(Receipt receipt) {
    engine.cancel(receipt);
  }

  /**
   * Replaces the reserved costs of another process's reservation by the true ones; see {@link
   * Reservation#settle(Costs)}.
   *
   * @param receipt which tokens were taken; to be used once
   * @param costs the true costs
   * @return what each bucket was charged
   * @throws IllegalArgumentException as {@link Reservation#settle(Costs)}
   * @throws StoreException as {@link Reservation#settle(Costs)}
   */
  @CanIgnoreReturnValue
  public Settlement settle(Receipt receipt, Costs costs) {
    return engine.settle(receipt, costs);
  }

  /**
   * Spends one token, and waits until it has refilled; see {@link #acquire(Transaction, Duration)}.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param maxWait the longest wait, zero or more
   * @return allowed, once the token has refilled; a denial comes at once
   * @throws InterruptedException if the caller is interrupted, and gives up
   */
  public Decision acquire(String limit, String id, Duration maxWait) throws InterruptedException {
    return acquire(limit, id, 1, maxWait);
  }

  /**
   * Spends a cost, and waits until its tokens have refilled; see {@link #acquire(Transaction,
   * Duration)}.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param cost tokens
   * @param maxWait the longest wait, zero or more
   * @return allowed, once the tokens have refilled; a denial comes at once
   * @throws InterruptedException if the caller is interrupted, and gives up
   */
  public Decision acquire(String limit, String id, long cost, Duration maxWait)
      throws InterruptedException {
    return acquire(transaction(limit, id).withCost(cost), maxWait);
  }

  /**
   * Spends a transaction, and waits until its tokens have refilled.
   *
   * <p>The store decides in one round trip. If the tokens will have refilled within {@code
   * maxWait}, the store takes them now. So the wait is known and certain, and every later caller,
   * in whatever process, queues behind. Otherwise the transaction is denied at once, nothing is
   * taken, and {@link Decision#retryIn} says how long the wait would have been.
   *
   * <ul>
   *   <li>{@code maxWait} counts from the decision of the store; the round trip and the scheduler
   *       add to it. It is cut to {@link LimitName#longestWait}, which must be the same in every
   *       process that shares the buckets.
   *   <li>Turns come in the order in which the store decided. Plain spends are denied while others
   *       wait, with a {@link Decision#retryIn} after the last of them.
   *   <li>A caller that gives up returns its tokens if no other caller has taken tokens after it,
   *       and this process has given nothing back to the bucket since. Otherwise the tokens stay
   *       spent until they refill, and the callers behind keep their turns ({@code
   *       docs/decisions/013}).
   *   <li>The decision describes the bucket at the moment at which the tokens were taken.
   *   <li>A cost of 0, and an id that nothing limits, never waits. With a {@code maxWait} of zero
   *       this is a plain spend.
   *   <li>A new quota, a reset or a refund does not change the turns of callers that already wait.
   *   <li>If the store is closed, waiting callers still get their turn; a caller that then gives up
   *       cannot return its tokens.
   *   <li>Where a {@link FailureRule} decides in place of the store, {@code allow} passes and
   *       {@code deny} denies at once, and {@code local} waits for this process's share.
   *   <li>A limiter has about 1,000,000 places, one per waiting caller and bucket; when all are
   *       taken, nobody else may wait.
   * </ul>
   *
   * <p>Waits are measured by the clock {@link Builder#time}.
   *
   * @param transaction which bucket, at what cost
   * @param maxWait the longest wait, zero or more
   * @return allowed, once the tokens have refilled; a denial comes at once
   * @throws InvalidRequestException also for a negative wait, and for a limit whose name declares
   *     no {@link LimitName#longestWait}
   * @throws InterruptedException if the caller is interrupted, and gives up
   */
  public Decision acquire(Transaction transaction, Duration maxWait) throws InterruptedException {
    return acquire(Engine.alone(transaction), maxWait);
  }

  /**
   * Spends a batch, every transaction or none, and waits until all of its tokens have refilled; see
   * {@link #acquire(Transaction, Duration)}. The batch is denied if one transaction would have to
   * wait for longer than {@code maxWait}. Check-only transactions must pass now, and spend-only
   * ones are spent if they fit now: neither kind waits.
   *
   * @param transactions no two on one bucket
   * @param maxWait the longest wait, zero or more
   * @return allowed, once all tokens have refilled; a denial comes at once
   * @throws InvalidRequestException also for a negative wait, and for a limit whose name declares
   *     no {@link LimitName#longestWait}
   * @throws InterruptedException if the caller is interrupted, and gives up
   */
  public Decision acquire(List<Transaction> transactions, Duration maxWait)
      throws InterruptedException {
    return engine.acquire(transactions, maxWait);
  }

  /**
   * Leases tokens of one hot bucket that many threads use at once.
   *
   * @param limit the limit's name
   * @param id what is limited
   * @param tokens how many are taken from the store at a time, at least 1; cut to the burst
   * @return the lease, which holds nothing yet
   * @throws InvalidRequestException for a name or id that cannot be decided on
   * @throws IllegalArgumentException for fewer tokens than 1
   */
  public Lease lease(String limit, String id, int tokens) {
    return lease(limit, id, tokens, time::nanos, sharesOfALease());
  }

  boolean settlesLater() {
    return engine.store().settlesLater();
  }

  OpenReservations openReservations() {
    return engine.store().reservations();
  }

  int waiting() {
    return engine.waiting();
  }

  Lease lease(String limit, String id, int tokens, LongSupplier ticker, int threads) {
    engine.requireUsable(List.of(transaction(limit, id)));
    return lease(now -> Transaction.of(now, limit, id), tokens, ticker, threads);
  }

  /**
   * Leases tokens of one hot bucket with a quota supplied by the caller; see {@link
   * Transaction#of(LimitName, Quota, String)}. The lease keeps this quota; for another one, close
   * it and take a new lease.
   *
   * @param limit the limit's name
   * @param quota how much may pass
   * @param id what is limited
   * @param tokens how many are taken from the store at a time, at least 1; cut to the burst
   * @return the lease, which holds nothing yet
   * @throws InvalidRequestException for a name or id that cannot be decided on
   * @throws IllegalArgumentException for fewer tokens than 1
   */
  public Lease lease(LimitName limit, Quota quota, String id, int tokens) {
    Transaction supplied = Transaction.of(limit, quota, id);
    limits.get().catalogue().requireNoClash(limit);
    return lease(now -> supplied, tokens, time::nanos, sharesOfALease());
  }

  private Lease lease(
      Function<Limits, Transaction> source, int tokens, LongSupplier ticker, int threads) {
    return new Lease(engine, limits, source, tokens, ticker, threads);
  }

  private static int sharesOfALease() {
    return 2 * Runtime.getRuntime().availableProcessors();
  }

  /**
   * Returns a view of this limiter whose methods never block.
   *
   * @return a view of this limiter
   */
  public AsyncLimiter async() {
    return new AsyncLimiter(limits, engine);
  }

  /**
   * Returns the current limits.
   *
   * @return the reference that a reload replaces
   */
  public CurrentLimits limits() {
    return limits;
  }

  /**
   * Throws, like all methods that decide, if a transaction has no quota because a default is
   * missing. For callers that use the limiter only if there is a quota.
   *
   * @param transaction the transaction
   * @throws MissingDefaultException unless missing defaults are allowed
   */
  public void requireDefault(Transaction transaction) {
    engine.requireUsable(Engine.alone(transaction));
  }

  /**
   * Returns the observer of this limiter, to which filters and adapters report their own events.
   *
   * @return an observer that never throws; one that does nothing if the builder set none
   */
  public LimiterObserver observer() {
    return engine.observer();
  }

  /**
   * Returns what this limiter does with an id that has neither a default nor an override.
   *
   * @return {@link MissingDefault#REFUSE} unless the builder set another policy
   */
  public MissingDefault missingDefault() {
    return engine.onMissing();
  }

  /** Returns the current limits. */
  @Override
  public String toString() {
    return "limiter of " + limits;
  }

  /** Makes a {@link Limiter}. Not thread-safe. */
  public static final class Builder {
    private final CurrentLimits limits;
    private final BucketStore store;
    private LimiterObserver observer = Engine.NOBODY;
    private TimeSource time = TimeSource.system();
    private FailureRule onFailure = FailureRule.fail();
    private IntSupplier processes = () -> 0;
    private MissingDefault onMissing = MissingDefault.REFUSE;
    private Parking parking = Parking.OF_THREADS;
    private final Map<String, FailureRule> onFailureByLimit = new HashMap<>();

    private Builder(CurrentLimits limits, BucketStore store) {
      this.limits = Objects.requireNonNull(limits, "limits");
      this.store = Objects.requireNonNull(store, "store");
    }

    /**
     * Sets the observer. The first exception that it throws is logged; none reaches a caller.
     *
     * @param newObserver counts and times what the limiter does
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder observer(LimiterObserver newObserver) {
      this.observer = new GuardedObserver(Objects.requireNonNull(newObserver, "observer"));
      return this;
    }

    /**
     * Sets the clock of this process, for whatever is decided without the store: {@link
     * FailureRule#local}, the tokens of a {@link Lease}, how long a {@link Reservation} is held and
     * how long a caller waits. The default is {@link TimeSource#system}. Stores have clocks of
     * their own.
     *
     * @param newTime the clock; it must not step
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder time(TimeSource newTime) {
      this.time = Objects.requireNonNull(newTime, "time");
      return this;
    }

    @CanIgnoreReturnValue
    Builder parking(Parking newParking) {
      this.parking = newParking;
      return this;
    }

    /**
     * Sets the rule that decides when the store could not.
     *
     * @param rule for all limits that have no rule of their own
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder onFailure(FailureRule rule) {
      this.onFailure = Objects.requireNonNull(rule, "rule");
      return this;
    }

    /**
     * Sets the rule that decides for one limit when the store could not.
     *
     * @param limit the limit's name
     * @param rule for this limit
     * @return this
     * @throws UnknownLimitException if the catalogue has no such name
     */
    @CanIgnoreReturnValue
    public Builder onFailure(String limit, FailureRule rule) {
      onFailureByLimit.put(
          limits.get().catalogue().get(limit).name(), Objects.requireNonNull(rule, "rule"));
      return this;
    }

    /**
     * Sets the rule that decides for one limit when the store could not; also for a limit that is
     * not in the catalogue, whose quotas callers supply.
     *
     * @param limit the limit's name
     * @param rule for this limit
     * @return this
     * @throws InvalidRequestException if the catalogue gives the name's number to another name, or
     *     the name another number
     */
    @CanIgnoreReturnValue
    public Builder onFailure(LimitName limit, FailureRule rule) {
      limits.get().catalogue().requireNoClash(limit);
      onFailureByLimit.put(limit.name(), Objects.requireNonNull(rule, "rule"));
      return this;
    }

    /**
     * Sets the number of processes that share the limits, for {@link FailureRule#localAuto}.
     *
     * @param newProcesses returns the number, 0 while it is unknown; called for each decision that
     *     a failure rule makes, so it must not block
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder processes(IntSupplier newProcesses) {
      this.processes = Objects.requireNonNull(newProcesses, "processes");
      return this;
    }

    /**
     * Sets what happens for an id that has neither a default nor an override, if its limit is not
     * declared unlimited; {@link MissingDefault#REFUSE} if not called. {@code WARN} and {@code
     * ALLOW} let requests pass because of a forgotten line.
     *
     * @param policy for all limits except those {@linkplain LimitName#disabledWithoutDefault
     *     disabled without a default}
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder missingDefault(MissingDefault policy) {
      this.onMissing = Objects.requireNonNull(policy, "policy");
      return this;
    }

    /**
     * Makes the limiter.
     *
     * @return the limiter
     */
    public Limiter build() {
      FailureRules rules = new FailureRules(onFailure, onFailureByLimit, time, processes);
      Engine engine = new Engine(limits, store, observer, rules, onMissing, time, parking);
      return new Limiter(limits, engine, time);
    }
  }
}
