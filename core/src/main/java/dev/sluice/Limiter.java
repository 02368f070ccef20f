// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.PendingAcquire.Parking;
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
 * Decides whether requests are allowed, by named limits and a store of buckets.
 *
 * <p>Each operation takes a limit's name and an id, with or without a cost, or one transaction, or
 * a batch of transactions, which succeeds or fails as a whole. {@link AsyncLimiter} has
 * non-blocking forms of all operations. A cost lies between 0, which only reads the bucket, and the
 * limit's burst. The caller can supply the quota of a transaction ({@link Transaction#of(LimitName,
 * Quota, String)}); a batch can contain transactions with and without such a quota.
 *
 * <p>Thread-safe. Each operation blocks while the store decides. A memory store decides at once; a
 * store on a server needs one round trip, and fails after its time-out. The methods of {@link
 * #async} never block. Every operation throws an {@link InvalidRequestException} for an invalid
 * name, id, cost or batch. For an id that has neither a default nor an override, every operation
 * throws a {@link MissingDefaultException}, unless {@link Builder#missingDefault} allows requests
 * without a quota. Every operation throws a {@link StoreException} if the store could not decide
 * and no {@link FailureRule} decides instead.
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
   * Returns a limiter with limits that never change.
   *
   * @param limits the limits
   * @param store the store that holds the buckets; the limiter does not close it
   * @return the limiter
   */
  public static Limiter of(Limits limits, BucketStore store) {
    return builder(limits, store).build();
  }

  /**
   * Returns a limiter with limits that can be replaced while it runs.
   *
   * @param limits the current limits
   * @param store the store that holds the buckets; the limiter does not close it
   * @return the limiter
   */
  public static Limiter of(CurrentLimits limits, BucketStore store) {
    return builder(limits, store).build();
  }

  /**
   * Returns a limiter without a catalogue of limits. Callers of the limiter supply the quotas by
   * {@link Transaction#of(LimitName, Quota, String)} or {@link #limit(LimitName, Quota, Quota...)}.
   *
   * @param store the store that holds the buckets; the limiter does not close it
   * @return the limiter
   */
  public static Limiter of(BucketStore store) {
    return of(Limits.builder(Catalogue.of()).build(), store);
  }

  /**
   * Returns a builder for a limiter with limits that never change.
   *
   * @param limits the limits
   * @param store the store that holds the buckets; the limiter does not close it
   * @return a builder
   */
  public static Builder builder(Limits limits, BucketStore store) {
    return builder(new CurrentLimits(limits), store);
  }

  /**
   * Returns a builder for a limiter with limits that can be replaced while it runs.
   *
   * @param limits the current limits
   * @param store the store that holds the buckets; the limiter does not close it
   * @return a builder
   */
  public static Builder builder(CurrentLimits limits, BucketStore store) {
    return new Builder(limits, store);
  }

  /**
   * Returns one limit as an object that the caller can keep. The returned object looks up the
   * limit's name and quota in the limits once, and again after each replacement of the limits.
   *
   * @param limit the limit's name
   * @return a view of this limiter
   * @throws UnknownLimitException if the catalogue has no such name
   * @throws MissingDefaultException if the limit now has neither a default nor an override. If a
   *     reload removes the default and the overrides, the returned limit refuses requests
   */
  public Limit limit(String limit) {
    Limit kept = kept(limit);
    engine.requireConfigured(kept.name());
    return kept;
  }

  /** Returns the same as {@link #limit}, but a limit that has no quota is refused only on use. */
  private Limit kept(String limit) {
    Limit known = named.get(Objects.requireNonNull(limit, "limit"));
    if (known == null) {
      known = new Limit(engine, limits, limit);
      named.put(limit, known); // if two threads race, either limit is correct
    }
    return known;
  }

  /**
   * Returns one limit with a quota supplied by the caller. The caller can keep the returned limit;
   * see {@link Transaction#of(LimitName, Quota, String)}.
   *
   * @param name the limit's name
   * @param quota the rate and burst for each id
   * @param more further quotas of the same limit, each with a different period
   * @return a view of this limiter
   * @throws InvalidRequestException if the catalogue has the limit's number with another name, or
   *     the limit's name with another number
   * @throws IllegalArgumentException if {@link Quota#ofOneLimit} refuses the quotas
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
   * @param id the id to limit, such as an IP address
   * @return the transaction
   */
  public Transaction transaction(String limit, String id) {
    return Transaction.of(limits.get(), limit, id);
  }

  /**
   * Checks whether one token could be spent now. Changes nothing.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   */
  public Decision check(String limit, String id) {
    return check(limit, id, 1);
  }

  /**
   * Checks whether a cost could be spent now. Changes nothing.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   */
  public Decision check(String limit, String id, long cost) {
    return kept(limit).check(id, cost);
  }

  /**
   * Checks whether a transaction could be spent now. Changes nothing. The transaction's kind is
   * ignored, except that an allow-only transaction is always allowed.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   * @throws InvalidRequestException if the transaction is reset-only
   */
  public Decision check(Transaction transaction) {
    return engine.decide(Act.CHECK, transaction);
  }

  /**
   * Checks whether a batch could be spent now. Changes nothing.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the strictest decision, which includes the decision of each transaction
   */
  public Decision check(List<Transaction> transactions) {
    return engine.decideBatch(Act.CHECK, transactions);
  }

  /**
   * Spends one token if the bucket has one.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the decision, allowed if the tokens were spent; a denial changes no bucket
   */
  public Decision spend(String limit, String id) {
    return spend(limit, id, 1);
  }

  /**
   * Spends a cost if the bucket has enough tokens.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the decision, allowed if the tokens were spent; a denial changes no bucket
   */
  public Decision spend(String limit, String id, long cost) {
    return kept(limit).spend(id, cost);
  }

  /**
   * Spends a transaction; same as a batch with one transaction.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the decision, allowed if the tokens were spent; a denial changes no bucket
   */
  public Decision spend(Transaction transaction) {
    return spend(Engine.alone(transaction));
  }

  /**
   * Spends all transactions of a batch, or none.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the strictest decision, with the decision of each transaction
   */
  public Decision spend(List<Transaction> transactions) {
    return engine.decideBatch(Act.SPEND, transactions);
  }

  /**
   * Spends all tokens that the bucket has, up to a given number; {@link Decision#taken} is the
   * number of tokens spent.
   *
   * <p>After a denial, {@link Decision#retryIn} is the wait for one token. For a limit with several
   * quotas, the call takes the same number of tokens from each bucket of the id, at most the number
   * in the bucket with the fewest tokens. If fewer tokens are left than requested, a limit with
   * several quotas needs two calls of the store, or up to eight calls if other callers spend from
   * the same buckets at the same time; the eighth call requests one token. All store calls of one
   * operation share one time-out.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param most the highest number of tokens, 1 or more; cut to the limit's burst
   * @return the decision, allowed if at least one token was spent
   */
  public Decision spendUpTo(String limit, String id, long most) {
    return spendUpTo(transaction(limit, id), most);
  }

  /**
   * Spends all tokens that the bucket has, up to a given number; {@link Decision#taken} is the
   * number of tokens spent.
   *
   * @param transaction the transaction on the bucket; its cost is ignored
   * @param most the highest number of tokens, 1 or more; cut to the limit's burst
   * @return the decision, allowed if at least one token was spent
   */
  public Decision spendUpTo(Transaction transaction, long most) {
    return engine.decide(Act.SPEND, Objects.requireNonNull(transaction, "transaction").upTo(most));
  }

  /**
   * Gives one token back. A refund never fills a bucket beyond its burst, and creates no bucket.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the decision, allowed if the bucket took any tokens back
   */
  @CanIgnoreReturnValue
  public Decision refund(String limit, String id) {
    return refund(limit, id, 1);
  }

  /**
   * Gives a cost back, but never fills a bucket beyond its burst; creates no bucket.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the decision, allowed if the bucket took any tokens back
   */
  @CanIgnoreReturnValue
  public Decision refund(String limit, String id, long cost) {
    return engine.decide(Act.REFUND, transaction(limit, id).withCost(cost));
  }

  /**
   * Gives a transaction's cost back, but never fills a bucket beyond its burst; creates no bucket.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the decision, allowed if the bucket took any tokens back
   */
  @CanIgnoreReturnValue
  public Decision refund(Transaction transaction) {
    return engine.decide(Act.REFUND, transaction);
  }

  /**
   * Gives back the tokens that a batch spent. Spend-only transactions are refunded, check-only
   * transactions are not. If no transaction can be refunded, because no limit applies, the decision
   * is allowed.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the strictest decision, which includes the decision of each transaction
   */
  @CanIgnoreReturnValue
  public Decision refund(List<Transaction> transactions) {
    return engine.decideBatch(Act.REFUND, transactions);
  }

  /**
   * Resets a bucket to full.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   */
  public void reset(String limit, String id) {
    reset(List.of(transaction(limit, id)));
  }

  /**
   * Resets a transaction's bucket to full.
   *
   * @param transaction the transaction on the bucket; its kind and cost are ignored
   */
  public void reset(Transaction transaction) {
    reset(Engine.alone(transaction));
  }

  /**
   * Resets the buckets of a batch to full. The kinds and costs of the transactions are ignored.
   *
   * @param transactions the transactions, each on a different bucket
   */
  public void reset(List<Transaction> transactions) {
    engine.reset(transactions);
  }

  /**
   * Reserves one token: spends the token now; the reservation can give it back.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @return the reservation, denied if the bucket had no token
   */
  public Reservation reserve(String limit, String id) {
    return reserve(limit, id, 1);
  }

  /**
   * Reserves a cost: spends the tokens now; the reservation can give them back.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @return the reservation, denied if the bucket had too few tokens
   */
  public Reservation reserve(String limit, String id, long cost) {
    return reserve(transaction(limit, id).withCost(cost));
  }

  /**
   * Reserves a transaction's cost: spends the tokens now; the reservation can give them back.
   *
   * @param transaction a transaction with the bucket and the cost
   * @return the reservation, denied if the bucket had too few tokens
   */
  public Reservation reserve(Transaction transaction) {
    return reserve(Engine.alone(transaction));
  }

  /**
   * Reserves a batch: spends all costs or none now; the reservation can give them back.
   *
   * @param transactions the transactions, each on a different bucket
   * @return the reservation, denied if one of its transactions was denied
   */
  public Reservation reserve(List<Transaction> transactions) {
    return engine.reserve(transactions);
  }

  /**
   * Cancels a reservation that another process made: gives its tokens back, except tokens that have
   * refilled since. No tokens are given back if the limit is disabled now.
   *
   * @param receipt the tokens that the reservation took; no caller may use a receipt twice
   * @throws StoreException if the store failed; the tokens then stay spent, unless the store gave
   *     them back and only its answer was lost
   */
  public void cancel(Receipt receipt) {
    engine.cancel(receipt);
  }

  /**
   * Settles a reservation that another process made: replaces the reserved costs with the true
   * costs; see {@link Reservation#settle(Costs)}.
   *
   * @param receipt the tokens that the reservation took; no caller may use a receipt twice
   * @param costs the true costs
   * @return the result for each bucket
   * @throws IllegalArgumentException see {@link Reservation#settle(Costs)}
   * @throws StoreException see {@link Reservation#settle(Costs)}
   */
  @CanIgnoreReturnValue
  public Settlement settle(Receipt receipt, Costs costs) {
    return engine.settle(receipt, costs);
  }

  /**
   * Spends one token. If the bucket has no token now, takes the next token and waits until this
   * token has refilled; see {@link #acquire(Transaction, Duration)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param maxWait the longest wait, zero or more
   * @return the decision, allowed once the token has refilled; a denial is returned at once
   * @throws InterruptedException if the calling thread is interrupted, which ends its wait
   */
  public Decision acquire(String limit, String id, Duration maxWait) throws InterruptedException {
    return acquire(limit, id, 1, maxWait);
  }

  /**
   * Spends a cost. If the bucket has too few tokens now, takes the next tokens and waits until
   * these tokens have refilled; see {@link #acquire(Transaction, Duration)}.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens
   * @param maxWait the longest wait, zero or more
   * @return the decision, allowed once the tokens have refilled; a denial is returned at once
   * @throws InterruptedException if the calling thread is interrupted, which ends its wait
   */
  public Decision acquire(String limit, String id, long cost, Duration maxWait)
      throws InterruptedException {
    return acquire(transaction(limit, id).withCost(cost), maxWait);
  }

  /**
   * Spends a transaction. If the bucket has too few tokens now, takes the next tokens and waits
   * until these tokens have refilled.
   *
   * <p>The store decides in one round trip. If the tokens will have refilled within {@code
   * maxWait}, the store takes them now. The length of the wait is therefore known at its start, and
   * later callers, in any process, get their tokens after the caller that waits. If the tokens
   * refill only after {@code maxWait}, the transaction is denied at once, takes no tokens, and
   * {@link Decision#retryIn} is the necessary wait.
   *
   * <ul>
   *   <li>{@code maxWait} counts from the store's decision; the round trip and the thread scheduler
   *       can make a call longer. {@code maxWait} is cut to {@link LimitName#longestWait}, which
   *       must be the same in every process that shares the buckets.
   *   <li>Callers get their tokens in the order of the store's decisions. While callers wait,
   *       spends that do not wait are denied, with a {@link Decision#retryIn} that ends after the
   *       wait of the last waiting caller.
   *   <li>The tokens of a caller that stops waiting are given back if no later caller has taken
   *       tokens, and if this process has since given no tokens back to the bucket. Tokens that are
   *       not given back stay spent until they refill, and the waits of later callers do not change
   *       ({@code docs/decisions/013}).
   *   <li>The decision describes the bucket at the moment at which the tokens were taken.
   *   <li>A call with a cost of 0, or for an id to which no limit applies, never waits. A call with
   *       a {@code maxWait} of zero is an ordinary spend.
   *   <li>A new quota, a reset, a refund or a cancellation does not change the waits of callers
   *       that already wait. So tokens that are returned while callers wait are granted beyond the
   *       limit, once, but at most as many as the waiting callers have taken.
   *   <li>If the store is closed, waiting callers still get their tokens; a caller that then stops
   *       waiting cannot return its tokens.
   *   <li>If a {@link FailureRule} decides in place of the store, the rule {@code allow} allows at
   *       once, and the rule {@code deny} denies at once. With the rule {@code local}, a caller
   *       waits for tokens of this process's share of the limit.
   *   <li>A limiter has about 1,000,000 waiting places, one per waiting caller and bucket; while
   *       all places are taken, no other caller can wait.
   * </ul>
   *
   * <p>The waits are measured with the clock that {@link Builder#time} sets.
   *
   * @param transaction a transaction with the bucket and the cost
   * @param maxWait the longest wait, zero or more
   * @return the decision, allowed once the tokens have refilled; a denial is returned at once
   * @throws InvalidRequestException if the wait is negative, the limit's name declares no {@link
   *     LimitName#longestWait}, or the request is invalid in another way
   * @throws InterruptedException if the calling thread is interrupted, which ends its wait
   */
  public Decision acquire(Transaction transaction, Duration maxWait) throws InterruptedException {
    return acquire(Engine.alone(transaction), maxWait);
  }

  /**
   * Spends all transactions of a batch or none, and waits until all of its tokens have refilled;
   * see {@link #acquire(Transaction, Duration)}. The batch is denied if one transaction would have
   * to wait for longer than {@code maxWait}. Check-only and spend-only transactions never wait:
   * without enough tokens now, a check-only transaction denies the batch, and a spend-only
   * transaction is not spent.
   *
   * @param transactions the transactions, each on a different bucket
   * @param maxWait the longest wait, zero or more
   * @return the decision, allowed once all tokens have refilled; a denial is returned at once
   * @throws InvalidRequestException if the wait is negative, a limit's name declares no {@link
   *     LimitName#longestWait}, or the request is invalid in another way
   * @throws InterruptedException if the calling thread is interrupted, which ends its wait
   */
  public Decision acquire(List<Transaction> transactions, Duration maxWait)
      throws InterruptedException {
    return engine.acquire(transactions, maxWait);
  }

  /**
   * Returns a lease on the tokens of one hot bucket that many threads use at once.
   *
   * @param limit the limit's name
   * @param id the id to limit, such as an IP address
   * @param tokens how many tokens the lease takes from the store at a time, at least 1
   * @return the lease, which holds no tokens yet
   * @throws InvalidRequestException if the name or id is invalid
   * @throws IllegalArgumentException if {@code tokens} is below 1
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
   * Returns a lease on the tokens of one hot bucket, with a quota supplied by the caller; see
   * {@link Transaction#of(LimitName, Quota, String)}. To change the quota of a lease, close the
   * lease and take a new lease.
   *
   * @param limit the limit's name
   * @param quota the rate and burst
   * @param id the id to limit, such as an IP address
   * @param tokens how many tokens the lease takes from the store at a time, at least 1
   * @return the lease, which holds no tokens yet
   * @throws InvalidRequestException if the name or id is invalid
   * @throws IllegalArgumentException if {@code tokens} is below 1
   */
  public Lease lease(LimitName limit, Quota quota, String id, int tokens) {
    Transaction supplied = Transaction.of(limit, quota, id);
    return lease(
        now -> {
          now.catalogue().requireNoClash(limit);
          return supplied;
        },
        tokens,
        time::nanos,
        sharesOfALease());
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
   * @return the reference to the limits, whose content a reload replaces
   */
  public CurrentLimits limits() {
    return limits;
  }

  /**
   * Checks that a transaction has a quota, or that its limit is declared unlimited. Code that does
   * not call the limiter for transactions without a quota must call {@code requireDefault} instead,
   * so that a missing default is noticed.
   *
   * @param transaction the transaction
   * @throws MissingDefaultException if a default is missing, unless the builder allows missing
   *     defaults
   */
  public void requireDefault(Transaction transaction) {
    engine.requireUsable(Engine.alone(transaction));
  }

  /**
   * Returns this limiter's observer, to which filters and adapters report their own events.
   *
   * @return an observer that never throws; if the builder set no observer, the returned observer
   *     does nothing
   */
  public LimiterObserver observer() {
    return engine.observer();
  }

  /**
   * Returns what happens to a request whose id has neither a default nor an override.
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
     * Sets the observer. The observer's first exception is logged; none of its exceptions reaches a
     * caller.
     *
     * @param newObserver the observer, which counts and times the operations of the limiter
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder observer(LimiterObserver newObserver) {
      this.observer = new GuardedObserver(Objects.requireNonNull(newObserver, "observer"));
      return this;
    }

    /**
     * Sets the clock of this process. The limiter uses this clock where it decides without the
     * store, for {@link FailureRule#local}, the tokens of a {@link Lease}, the time for which a
     * {@link Reservation} is kept, and the waits of callers. The default clock is {@link
     * TimeSource#system}. Stores have their own clocks.
     *
     * @param newTime the clock, which must never jump
     * @return this builder
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
     * Sets the rule that decides when the store cannot decide.
     *
     * @param rule the failure rule for all limits that have no failure rule of their own
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder onFailure(FailureRule rule) {
      this.onFailure = Objects.requireNonNull(rule, "rule");
      return this;
    }

    /**
     * Sets the rule that decides for one limit when the store cannot decide.
     *
     * @param limit the limit's name
     * @param rule the failure rule for this limit
     * @return this builder
     * @throws UnknownLimitException if the catalogue has no such name
     */
    @CanIgnoreReturnValue
    public Builder onFailure(String limit, FailureRule rule) {
      onFailureByLimit.put(
          limits.get().catalogue().get(limit).name(), Objects.requireNonNull(rule, "rule"));
      return this;
    }

    /**
     * Sets the rule that decides for one limit when the store cannot decide. The limit need not be
     * in the catalogue: callers can supply its quotas.
     *
     * @param limit the limit's name
     * @param rule the failure rule for this limit
     * @return this builder
     * @throws InvalidRequestException if the catalogue has the limit's number with another name, or
     *     the limit's name with another number
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
     * @param newProcesses a function that returns the number of processes, 0 while the number is
     *     unknown; called for each decision of a failure rule, so it must not block
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder processes(IntSupplier newProcesses) {
      this.processes = Objects.requireNonNull(newProcesses, "processes");
      return this;
    }

    /**
     * Sets what happens to a request whose id has neither a default nor an override, if its limit
     * is not declared unlimited. The default policy is {@link MissingDefault#REFUSE}. With {@code
     * WARN} and {@code ALLOW}, a line missing from a limit file allows all requests of its limit.
     *
     * @param policy the policy for all limits except limits that are {@linkplain
     *     LimitName#disabledWithoutDefault disabled without a default}
     * @return this builder
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
      FailureRules rules =
          new FailureRules(onFailure, onFailureByLimit, time, processes, FailureRules.MOST_BUCKETS);
      Engine engine =
          new Engine(limits, store, observer, rules, onMissing, time, parking, WaitQueues.MOST);
      return new Limiter(limits, engine, time);
    }
  }
}
