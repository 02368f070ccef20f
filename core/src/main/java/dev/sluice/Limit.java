// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.AsyncLimiter.AsyncLimit;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.DirectStore.BucketPipeline;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.internal.direct.DirectStore.ReadingMapper;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SpendPipeline;
import dev.sluice.internal.direct.SpendPipeline.DirectLimit;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One limit, with a bucket for each id.
 *
 * <pre>{@code
 * Limit logins = Limit.of(Quota.per(10, Duration.ofMinutes(1)));
 *
 * Decision login = logins.spend("192.0.2.7");
 * }</pre>
 *
 * <p>{@link #of} returns a standalone limit, whose buckets are in this process's memory. {@link
 * Limiter#limit(String)} returns a named limit of a limiter, which is the fastest way to use a
 * limiter: the limit looks up its configuration once, and again after each replacement of the
 * limits. A named limit uses the same buckets as the limiter's methods.
 *
 * <p>{@code trySpend} allocates nothing for a cost up to 63 if the store is in memory, there is no
 * observer, and the id is canonical: an IPv4 address, a number, a UUID or an ASCII text. {@code
 * spend} and {@code check} allocate the decision, which consists of three small objects. A limit
 * with overrides converts ids that are bytes or numbers to text, to look up the id's override. A
 * spend from a limit with several quotas takes as long as a batch with one transaction per quota.
 *
 * <p>Thread-safe; blocks like the limiter's methods, and throws the same exceptions. Throws a
 * {@link MissingDefaultException} if the limits were replaced and no longer have a default.
 */
@SuppressWarnings("exports") // DirectLimit is for Sluice's own modules
public final class Limit implements DirectLimit {

  /** The name of standalone limits. */
  static final LimitName ALONE =
      LimitName.builder(1, "Limit")
          .message("denied: at most {rate}")
          .longestWait(Duration.ofNanos(Long.MAX_VALUE))
          .build();

  private static final int SMALL_COSTS = 64;

  /** Returns null for a bucket in debt: only {@link Debts} can decide whether to deny the spend. */
  @SuppressWarnings("NullAway") // NullAway does not see that the type argument is nullable
  private static final ReadingMapper<@Nullable Boolean> ALLOWED =
      (id, effect, nowNanos, tatNanos) ->
          effect.fits(nowNanos, tatNanos)
              ? Boolean.TRUE
              : effect.isInDebt(nowNanos, tatNanos) ? null : Boolean.FALSE;

  private final Engine engine;
  private final CurrentLimits limits;
  private final Function<Limits, EffectiveQuota> source; // for an id without an override
  private volatile Resolved resolved;

  Limit(Engine engine, CurrentLimits limits, String name) {
    this(engine, limits, now -> EffectiveQuota.ofDefault(now, now.catalogue().get(name)));
  }

  Limit(Engine engine, CurrentLimits limits, LimitName name, List<Quota> quotas) {
    this(engine, limits, supplied(EffectiveQuota.ofCaller(name, quotas)));
  }

  private Limit(Engine engine, CurrentLimits limits, Function<Limits, EffectiveQuota> source) {
    this.engine = engine;
    this.limits = limits;
    this.source = source;
    this.resolved = resolve(limits.get());
  }

  private static Function<Limits, EffectiveQuota> supplied(EffectiveQuota effective) {
    return now -> {
      now.catalogue().requireNoClash(effective.name());
      return effective;
    };
  }

  /**
   * Returns a standalone limit: a limit without a name, with its own buckets in this process's
   * memory. Ids are texts without control characters.
   *
   * <p>Create a {@link Limiter} for limits that have a name, are configured in files, are
   * overridden for single ids, are spent together or are kept in Redis. {@link
   * Limiter#limit(String)} returns one limit of a limiter, with the same methods as a standalone
   * limit.
   *
   * @param quota the rate and burst for each id
   * @param more further quotas of the same limit, each with a different period, as in {@code
   *     Limit.of(Quota.per(1000, hour), Quota.per(10, second))}
   * @return the limit
   * @throws IllegalArgumentException if {@link Quota#ofOneLimit} refuses the quotas
   */
  public static Limit of(Quota quota, Quota... more) {
    return of(listOf(quota, more), TimeSource.system());
  }

  /**
   * Returns a standalone limit with a given clock, for tests.
   *
   * @param quota the rate and burst for each id
   * @param time the clock, which must never jump
   * @return the limit
   */
  public static Limit of(Quota quota, TimeSource time) {
    return of(listOf(quota), time);
  }

  /**
   * Returns a standalone limit with several quotas and a given clock, for tests.
   *
   * @param quotas the rate and burst for each id; {@link Quota#ofOneLimit} checks them
   * @param time the clock, which must never jump
   * @return the limit
   * @throws IllegalArgumentException if {@link Quota#ofOneLimit} refuses the quotas
   */
  public static Limit of(List<Quota> quotas, TimeSource time) {
    CurrentLimits none = new CurrentLimits(Limits.builder(Catalogue.of(ALONE)).build());
    Objects.requireNonNull(time, "time");
    Limiter limiter = Limiter.builder(none, BucketStore.inMemory(time)).time(time).build();
    return limiter.limit(ALONE, quotas);
  }

  static List<Quota> listOf(Quota quota, Quota... more) {
    List<Quota> quotas = new ArrayList<>(more.length + 1);
    quotas.add(Objects.requireNonNull(quota, "quota"));
    for (Quota one : more) {
      quotas.add(Objects.requireNonNull(one, "more"));
    }
    return quotas;
  }

  /** What the limit's name means under the current limits: its quota, overrides and buckets. */
  record Resolved(
      Limits limits,
      LimitName name,
      EffectiveQuota effective,
      boolean hasOverrides,
      boolean hasPenalties,
      @Nullable Buckets buckets,
      SmallSpends spends) {

    /** Whether some ids have an override or a penalty; {@link #effective} includes neither. */
    boolean hasExceptions() {
      return hasOverrides || hasPenalties;
    }

    /** Returns the debt depth of a bucket ({@link Debts#depthNanos}). */
    long depthNanos(Quota quota) {
      return Debts.depthNanos(name, quota, limits.debtOf(name));
    }
  }

  /** Caches the effects of spends with small costs, so that trySpend allocates nothing. */
  static final class SmallSpends {
    // Two threads may create the same effect: the race is harmless, since either object is correct.
    private final @Nullable Effect[] ofSmallCosts = new Effect[SMALL_COSTS];

    Effect of(Quota quota, long cost) {
      Effect known = cost < SMALL_COSTS ? ofSmallCosts[(int) cost] : null;
      if (known == null) {
        known = Effect.of(Effect.Op.SPEND, quota.incrementNanos(cost), quota.offsetNanos());
        if (cost < SMALL_COSTS) {
          ofSmallCosts[(int) cost] = known;
        }
      }
      return known;
    }
  }

  private Resolved resolve(Limits now) {
    EffectiveQuota effective = source.apply(now);
    LimitName name = effective.name();
    boolean hasOverrides = !effective.ofCaller() && !now.overridesOf(name).isEmpty();
    boolean hasPenalties = !now.penaltiesOf(name).isEmpty();
    return new Resolved(
        now, name, effective, hasOverrides, hasPenalties, engine.buckets(name), new SmallSpends());
  }

  private Resolved resolved() {
    Resolved last = resolved;
    if (!limits.isStill(last.limits())) {
      last = resolve(limits.get());
      resolved = last;
    }
    return last;
  }

  /** Returns the limit's name and its default quotas. */
  @Override
  public String toString() {
    // Uses the last known limits, since toString() must not throw if the limit was removed.
    Resolved last = resolved;
    List<Quota> quotas = last.effective().quotas();
    boolean isUnlimited = last.limits().coverage(last.name()) == Coverage.UNLIMITED;
    return "limit %s: %s"
        .formatted(
            last.name(),
            !quotas.isEmpty()
                ? quotas.stream().map(Quota::toString).collect(Collectors.joining(" and "))
                : isUnlimited ? "unlimited" : "no default");
  }

  /**
   * Returns the limit's current name.
   *
   * @return the name
   * @throws UnknownLimitException if the limits were replaced and no longer have the name
   */
  public LimitName name() {
    return resolved().name();
  }

  /**
   * Spends one token if the bucket has one.
   *
   * @param id the id to limit, such as an IP address
   * @return true if the tokens were spent
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpend(CharSequence id) {
    return trySpend(id, 1);
  }

  /**
   * Spends a cost if the bucket has enough tokens.
   *
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return true if the tokens were spent
   * @throws InvalidRequestException if the id's format is wrong, or the cost is out of range
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpend(CharSequence id, long cost) {
    IdBytes bytes = IdBytes.ofThisThread();
    boolean ascii = bytes.set(Objects.requireNonNull(id, "id"));
    return trySpend(bytes, ascii, id, cost);
  }

  /**
   * Spends one token if the bucket has one.
   *
   * @param utf8Id the id to limit, as UTF-8; the limiter keeps no reference to the array
   * @return true if the tokens were spent
   * @throws InvalidIdException if the bytes are not UTF-8, or the id's format is wrong
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpendUtf8(byte[] utf8Id) {
    return trySpendUtf8(utf8Id, 1);
  }

  /**
   * Spends a cost if the bucket has enough tokens.
   *
   * @param utf8Id the id to limit, as UTF-8; the limiter keeps no reference to the array
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return true if the tokens were spent
   * @throws InvalidRequestException if the bytes are not UTF-8, the id does not match the limit's
   *     id format, or the cost is out of range
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpendUtf8(byte[] utf8Id, long cost) {
    IdBytes bytes = IdBytes.ofThisThread();
    boolean ascii = bytes.set(Objects.requireNonNull(utf8Id, "utf8Id"));
    return trySpend(bytes, ascii, null, cost);
  }

  /**
   * Spends one token if the bucket has one.
   *
   * @param id the id to limit, as a number
   * @return true if the tokens were spent
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpendId(long id) {
    return trySpendId(id, 1);
  }

  /**
   * Spends a cost if the bucket has enough tokens.
   *
   * @param id the id to limit, as a number
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return true if the tokens were spent
   * @throws InvalidRequestException if the id's format is wrong, or the cost is out of range
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public boolean trySpendId(long id, long cost) {
    IdBytes bytes = IdBytes.ofThisThread();
    bytes.set(id);
    return trySpend(bytes, true, null, cost);
  }

  /**
   * Spends one token for each id whose bucket has a token. The results are the same as from one
   * call of {@link #trySpend(CharSequence)} per id, in the order of the list. A memory store looks
   * up many buckets at once, and reads the clock once per 32 ids, plus once for each id that is
   * denied or has no bucket yet. A store on a server receives the charges of many ids in one
   * request, and all ids share one time-out. The ids are not a batch: if one id is denied, the
   * other ids are still spent.
   *
   * @param ids the ids to limit; an id can occur more than once
   * @return an array that has, at the index of each id, whether a token was spent
   * @throws InvalidIdException if an id does not match the limit's id format; nothing is spent then
   * @throws StoreException if the store could not decide and no failure rule decides instead. Other
   *     ids can be charged already, unless {@link StoreException#chargedNothing} is true
   */
  public boolean[] trySpendEach(List<? extends CharSequence> ids) {
    return trySpendEach(
        Objects.requireNonNull(ids, "ids").toArray(new CharSequence[0]),
        IdBytes::set,
        CharSequence::toString);
  }

  /**
   * Spends one token for each id whose bucket has a token, without converting ids to text; see
   * {@link #trySpendEach(List)}.
   *
   * @param utf8Ids the ids to limit, each as UTF-8; an id can occur more than once; the limiter
   *     keeps no reference to the arrays
   * @return an array that has, at the index of each id, whether a token was spent
   * @throws InvalidIdException if an id is not UTF-8, or its format is wrong; nothing is spent then
   * @throws StoreException if the store could not decide and no failure rule decides instead. Other
   *     ids can be charged already, unless {@link StoreException#chargedNothing} is true
   */
  public boolean[] trySpendEach(byte[]... utf8Ids) {
    return trySpendEach(
        Objects.requireNonNull(utf8Ids, "utf8Ids"),
        IdBytes::set,
        utf8Id -> {
          IdBytes bytes = IdBytes.ofThisThread();
          bytes.set(utf8Id);
          return text(bytes, null);
        });
  }

  /** Converts an id to bytes, and returns whether the whole id is ASCII. */
  private interface IntoBytes<T> {
    boolean set(IdBytes target, T id);
  }

  private <T> boolean[] trySpendEach(T[] ids, IntoBytes<T> into, Function<T, String> text) {
    Resolved now = resolved();
    Quota quota = now.effective().onlyQuota();
    Buckets buckets = now.buckets();
    boolean[] spent = new boolean[ids.length];
    if (quota == null || buckets == null || now.hasExceptions() || engine.mayAnswerForTheStore()) {
      List<Transaction> spends = new ArrayList<>(ids.length);
      for (T id : ids) {
        spends.add(transaction(now, text.apply(id)));
      }
      engine.requireUsable(spends);
      List<Decision> decisions =
          buckets == null ? engine.decideEach(spends) : decideEach(now, spends);
      for (int i = 0; i < spent.length; i++) {
        spent[i] = decisions.get(i).allowed();
      }
      return spent;
    }
    BucketPipeline pipeline = buckets.pipeline(spent.length);
    IdBytes bytes = IdBytes.ofThisThread();
    IdFormat format = now.name().id();
    for (T id : ids) {
      if (!into.set(bytes, id) || !format.isCanonical(bytes.bytes(), bytes.length())) {
        bytes.set(format.canonical(text.apply(id), Strictness.LENIENT));
      }
      pipeline.add(bytes);
    }
    Effect effect = now.spends().of(quota, 1);
    int i = 0;
    try {
      for (; i < spent.length; i++) {
        Boolean allowed = pipeline.charge(i, effect, ALLOWED);
        spent[i] =
            allowed == null
                ? engine.decide(Act.SPEND, transaction(now, text.apply(ids[i]))).allowed()
                : allowed;
      }
    } catch (StoreException e) {
      throw i == 0 ? e : Engine.amongOthers(e);
    }
    return spent;
  }

  private List<Decision> decideEach(Resolved now, List<Transaction> spends) {
    List<Decision> decisions = new ArrayList<>(spends.size());
    try {
      for (Transaction spend : spends) {
        decisions.add(decide(Act.SPEND, now, spend.id(), 1));
      }
    } catch (StoreException e) {
      throw decisions.isEmpty() ? e : Engine.amongOthers(e);
    }
    return decisions;
  }

  @Override
  public @Nullable SpendPipeline spends() {
    return resolved().buckets() == null ? null : new LimitPipeline(engine, this::resolved);
  }

  /**
   * Spends one token if the bucket has one.
   *
   * @param id the id to limit, such as an IP address
   * @return the decision, allowed if the tokens were spent; a denial changes no bucket
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Decision spend(CharSequence id) {
    return spend(id, 1);
  }

  /**
   * Spends a cost if the bucket has enough tokens.
   *
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return the decision, allowed if the tokens were spent; a denial changes no bucket
   * @throws InvalidRequestException if the id's format is wrong, or the cost is out of range
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Decision spend(CharSequence id, long cost) {
    return decide(Act.SPEND, resolved(), textOf(id), cost);
  }

  /**
   * Spends all tokens that the bucket has, up to a given number; {@link Decision#taken} is the
   * number of tokens spent.
   *
   * @param id the id to limit, such as an IP address
   * @param most the highest number of tokens, 1 or more; cut to the limit's burst
   * @return the decision, allowed if at least one token was spent
   * @throws InvalidRequestException if the id's format is wrong, or {@code most} is below 1
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Decision spendUpTo(CharSequence id, long most) {
    return engine.decide(Act.SPEND, transaction(id).upTo(most));
  }

  /**
   * Checks whether one token could be spent now. Changes nothing.
   *
   * @param id the id to limit, such as an IP address
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Decision check(CharSequence id) {
    return check(id, 1);
  }

  /**
   * Checks whether a cost could be spent now. Changes nothing.
   *
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return the decision that a spend would have returned, unless the spend forgave a debt
   * @throws InvalidRequestException if the id's format is wrong, or the cost is out of range
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Decision check(CharSequence id, long cost) {
    return decide(Act.CHECK, resolved(), textOf(id), cost);
  }

  /**
   * Gives one token back. A refund never fills a bucket beyond its burst, and creates no bucket.
   *
   * @param id the id to limit, such as an IP address
   * @return the decision, allowed if the bucket took any tokens back
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store failed
   */
  @CanIgnoreReturnValue
  public Decision refund(CharSequence id) {
    return refund(id, 1);
  }

  /**
   * Gives a cost back, but never fills a bucket beyond its burst; creates no bucket.
   *
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return the decision, allowed if the bucket took any tokens back
   * @throws InvalidRequestException if the id's format is wrong, or the cost is out of range
   * @throws StoreException if the store failed
   */
  @CanIgnoreReturnValue
  public Decision refund(CharSequence id, long cost) {
    return engine.decide(Act.REFUND, transaction(id).withCost(cost));
  }

  /**
   * Resets a bucket to full.
   *
   * @param id the id to limit, such as an IP address
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store failed
   */
  public void reset(CharSequence id) {
    engine.reset(List.of(transaction(id)));
  }

  /**
   * Reserves one token: spends the token now; the reservation can give it back.
   *
   * @param id the id to limit, such as an IP address
   * @return the reservation, denied if the bucket had no token
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Reservation reserve(CharSequence id) {
    return reserve(id, 1);
  }

  /**
   * Reserves a cost: spends the tokens now; the reservation can give them back.
   *
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens, from 0 to the limit's burst
   * @return the reservation, denied if the bucket had too few tokens
   * @throws InvalidRequestException if the id's format is wrong, or the cost is out of range
   * @throws StoreException if the store could not decide and no failure rule decides instead
   */
  public Reservation reserve(CharSequence id, long cost) {
    return engine.reserve(List.of(transaction(id).withCost(cost)));
  }

  /**
   * Spends one token. If the bucket has no token now, takes the next token and waits until this
   * token has refilled; see {@link Limiter#acquire(Transaction, Duration)}.
   *
   * @param id the id to limit, such as an IP address
   * @param maxWait the longest wait, zero or more
   * @return the decision, allowed once the token has refilled; a denial is returned at once
   * @throws InvalidRequestException if the id does not match the limit's id format, or the name
   *     declares no {@link LimitName#longestWait}
   * @throws StoreException if the store could not decide and no failure rule decides instead
   * @throws InterruptedException if the calling thread is interrupted, which ends its wait
   */
  public Decision acquire(CharSequence id, Duration maxWait) throws InterruptedException {
    return acquire(id, 1, maxWait);
  }

  /**
   * Spends a cost. If the bucket has too few tokens now, takes the next tokens and waits until
   * these tokens have refilled; see {@link Limiter#acquire(Transaction, Duration)}.
   *
   * @param id the id to limit, such as an IP address
   * @param cost the number of tokens, from 0 to the limit's burst
   * @param maxWait the longest wait, zero or more
   * @return the decision, allowed once the tokens have refilled; a denial is returned at once
   * @throws InvalidRequestException if the id's format is wrong, the cost is out of range, or the
   *     name declares no {@link LimitName#longestWait}
   * @throws StoreException if the store could not decide and no failure rule decides instead
   * @throws InterruptedException if the calling thread is interrupted, which ends its wait
   */
  public Decision acquire(CharSequence id, long cost, Duration maxWait)
      throws InterruptedException {
    return engine.acquire(List.of(transaction(id).withCost(cost)), maxWait);
  }

  /**
   * Returns a view of this limit whose methods never block.
   *
   * @return a view of this limit
   */
  public AsyncLimit async() {
    return new AsyncLimit(this, engine);
  }

  /**
   * Returns a transaction under the current quota that spends one token, for use in a batch. A
   * limiter refuses a transaction of a {@linkplain #of standalone} limit, whose buckets are not in
   * the limiter's store.
   *
   * @param id the id to limit, such as an IP address
   * @return the transaction
   * @throws InvalidIdException if the id does not match the limit's id format
   */
  public Transaction transaction(CharSequence id) {
    return transaction(resolved(), textOf(id));
  }

  private static Transaction transaction(Resolved now, String id) {
    String canonical = now.name().id().canonical(id, Strictness.LENIENT);
    return Transaction.of(effective(now, canonical), canonical);
  }

  private static EffectiveQuota effective(Resolved now, String canonicalId) {
    return now.hasOverrides()
        ? EffectiveQuota.of(now.limits(), now.name(), canonicalId)
        : now.effective();
  }

  private boolean trySpend(IdBytes id, boolean ascii, @Nullable CharSequence text, long cost) {
    Resolved now = resolved();
    boolean plain =
        ascii && !now.hasExceptions() && now.name().id().isCanonical(id.bytes(), id.length());
    return plain
        ? decide(Act.SPEND, now, now.effective(), id, text, cost, ALLOWED, Decision::allowed)
        : decide(Act.SPEND, now, text(id, text), cost).allowed();
  }

  private static String textOf(CharSequence id) {
    return Objects.requireNonNull(id, "id").toString();
  }

  private static String text(IdBytes id, @Nullable CharSequence text) {
    if (text != null) {
      return text.toString();
    }
    try { // a decoder that replaced invalid bytes would let different ids share a bucket
      return StandardCharsets.UTF_8
          .newDecoder()
          .decode(ByteBuffer.wrap(id.bytes(), 0, id.length()))
          .toString();
    } catch (CharacterCodingException e) {
      throw new InvalidIdException(
          "invalid id, found bytes that are not UTF-8 (read as \"%s\"), expected UTF-8"
              .formatted(id));
    }
  }

  private Decision decide(Act act, Resolved now, String text, long cost) {
    IdBytes bytes = IdBytes.ofThisThread();
    IdFormat format = now.name().id();
    boolean canonical = bytes.set(text) && format.isCanonical(bytes.bytes(), bytes.length());
    String id = canonical ? text : format.canonical(text, Strictness.LENIENT);
    if (!canonical) {
      bytes.set(id);
    }
    EffectiveQuota effective = effective(now, id);
    return decide(act, now, effective, bytes, id, cost, effective.decision(), decision -> decision);
  }

  /**
   * Decides on one id: in the store's buckets directly, or through the engine if an observer, a
   * failure rule or {@link Debts} is involved.
   *
   * @param text the canonical id, null if the id was given only as bytes
   * @param answer a function that computes the result from a reading; returns null if the bucket
   *     may be in debt
   */
  private <R> R decide(
      Act act,
      Resolved now,
      EffectiveQuota effective,
      IdBytes id,
      @Nullable CharSequence text,
      long cost,
      ReadingMapper<@Nullable R> answer,
      Function<Decision, R> ofEngine) {
    Quota quota = effective.onlyQuota();
    Buckets buckets = now.buckets();
    if (quota != null
        && buckets != null
        && cost >= 0
        && cost <= quota.burst()
        && !now.hasPenalties()
        && !engine.isObserved()) {
      try {
        String known = text instanceof String same ? same : null;
        R made = buckets.charge(id, known, effect(act, now, effective, quota, cost), answer);
        if (made != null) {
          return made;
        }
      } catch (StoreException e) {
        return ofEngine.apply(
            engine.onFailure(act, Transaction.of(effective, text(id, text), cost), e));
      }
    }
    return ofEngine.apply(
        engine.decide(act, Transaction.of(effective, text(id, text)).withCost(cost)));
  }

  private static Effect effect(
      Act act, Resolved now, EffectiveQuota effective, Quota quota, long cost) {
    if (act == Act.SPEND && effective == now.effective()) {
      return now.spends().of(quota, cost);
    }
    Effect.Op what = act == Act.SPEND ? Effect.Op.SPEND : Effect.Op.CHECK;
    return Effect.of(what, quota.incrementNanos(cost), quota.offsetNanos());
  }
}
