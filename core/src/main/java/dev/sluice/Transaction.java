// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.Reservation.Estimate.EstimatedCost;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One item of a request to a {@link Limiter}: the limit, the bucket, the cost and the kind.
 *
 * <p>Immutable and thread-safe. A transaction keeps the quota from its creation, so create a new
 * transaction for each request.
 */
public final class Transaction {

  private final EffectiveQuota effective;
  private final String id;
  private final Kind kind;
  private final long cost;
  private final boolean shadow;
  private final boolean upTo;
  private final @Nullable EstimatedCost estimate; // receives the true cost

  Transaction(EffectiveQuota effective, String id, Kind kind, long cost, boolean shadow) {
    this(effective, id, kind, cost, shadow, false, null);
  }

  private Transaction(
      EffectiveQuota effective,
      String id,
      Kind kind,
      long cost,
      boolean shadow,
      boolean upTo,
      @Nullable EstimatedCost estimate) {
    this.effective = effective;
    this.id = id;
    this.kind = kind;
    this.cost = cost;
    this.shadow = shadow;
    this.upTo = upTo;
    this.estimate = estimate;
  }

  /**
   * Returns a transaction that checks and spends one token. If nothing limits the id, the
   * transaction is allow-only; a limiter refuses an allow-only transaction if the default is
   * {@linkplain Coverage#isMissing missing}.
   *
   * @param limits the limits that contain the quota
   * @param limit the limit's name
   * @param id the id, converted to its canonical form
   * @return the transaction
   * @throws UnknownLimitException if the catalogue has no such name
   * @throws InvalidIdException if the id does not match the limit's id format
   */
  public static Transaction of(Limits limits, String limit, String id) {
    LimitName name = limits.catalogue().get(limit);
    String canonicalId = name.id().canonical(id, Strictness.LENIENT);
    return of(EffectiveQuota.of(limits, name, canonicalId), canonicalId);
  }

  /**
   * Returns a transaction that checks and spends one token of a quota supplied by the caller, such
   * as a customer's plan. The defaults and overrides of limit files do not apply to this
   * transaction. A penalty on the id applies if the catalogue has the limit's name.
   *
   * <p>The limit's name and the id determine the bucket, the quota does not. The quota of an id can
   * therefore change from one request to the next, and the id keeps its bucket. If two quotas are
   * used on one bucket at the same time, the bucket grants what the larger quota allows, plus a
   * bounded amount ({@code docs/decisions/009}).
   *
   * <p>The limit's name need not be in a catalogue. Keep the name in a constant: the name is a
   * label of metrics, so it must not contain request data. A limiter refuses a name if its
   * catalogue has the same name with another number, or the same number with another name. Nothing
   * checks that the same name also has the catalogue's id format and longest wait. If the id
   * formats differ, an id can have two buckets, and a penalty on the id may not apply; if the
   * longest waits differ, tokens of waiting callers can be granted twice.
   *
   * @param limit the limit's name
   * @param quota the rate and burst; to allow zero tokens, deny the request yourself
   * @param id the id, converted to its canonical form
   * @return the transaction
   * @throws InvalidIdException if the id does not match the limit's id format
   */
  public static Transaction of(LimitName limit, Quota quota, String id) {
    return of(EffectiveQuota.ofCaller(limit, quota), limit.id().canonical(id, Strictness.LENIENT));
  }

  /**
   * Returns a transaction that checks and spends one token of each of several quotas supplied by
   * the caller; see {@link #of(LimitName, Quota, String)}.
   *
   * @param limit the limit's name
   * @param quotas the rates and bursts; {@link Quota#ofOneLimit} checks them
   * @param id the id, converted to its canonical form
   * @return the transaction
   * @throws InvalidIdException if the id does not match the limit's id format
   * @throws IllegalArgumentException if {@link Quota#ofOneLimit} refuses the quotas
   */
  public static Transaction of(LimitName limit, List<Quota> quotas, String id) {
    return of(EffectiveQuota.ofCaller(limit, quotas), limit.id().canonical(id, Strictness.LENIENT));
  }

  static Transaction of(EffectiveQuota effective, String canonicalId) {
    return of(effective, canonicalId, 1);
  }

  /** Returns an allow-only transaction for a limit that the current limits do not have. */
  static Transaction unlimited(String limit, String id) {
    LimitName name = LimitName.builder(limit).id(IdFormat.string()).build();
    EffectiveQuota effective =
        EffectiveQuota.ofDefault(Limits.builder(Catalogue.of(name)).unlimited(limit).build(), name);
    return of(effective, id, 0);
  }

  /** Returns a transaction with a cost, which the caller has checked. */
  static Transaction of(EffectiveQuota effective, String canonicalId, long cost) {
    Kind kind = effective.quota() == null ? Kind.ALLOW_ONLY : Kind.CHECK_AND_SPEND;
    return new Transaction(effective, canonicalId, kind, cost, false);
  }

  /**
   * Returns this transaction with another cost.
   *
   * @param newCost the number of tokens, from 0 to the limit's burst (for several quotas the
   *     smallest burst); a cost of 0 only reads the bucket
   * @return a new transaction
   * @throws InvalidRequestException if the cost is negative or above the burst
   */
  public Transaction withCost(long newCost) {
    if (newCost < 0) {
      throw new InvalidRequestException(
          Field.COST, "invalid cost, must be >= 0: found " + newCost + " for " + name());
    }
    Quota least = effective.leastBurst();
    if (least != null && newCost > least.burst()) {
      throw new InvalidRequestException(
          Field.COST,
          "cost %s exceeds the burst (%s) of %s%s"
              .formatted(
                  newCost,
                  least.burst(),
                  isSeveral()
                      ? "the quota with the period %s of "
                          .formatted(GoDuration.shortened(least.period()))
                      : "",
                  name().equals(Limit.ALONE) ? "the limit" : name()));
    }
    return new Transaction(effective, id, kind, newCost, shadow);
  }

  /**
   * Returns this transaction with an estimated cost, for a reservation. {@link Reservation#settle}
   * replaces the estimated cost with the true cost, and updates {@code estimated} for later calls.
   *
   * @param estimated the cost, cut to the limit's burst (for several quotas the smallest burst)
   * @return a new transaction
   */
  public Transaction withCost(EstimatedCost estimated) {
    long possible = Math.min(estimated.tokens(), Quota.leastBurst(quotas()));
    return new Transaction(effective, id, kind, possible, shadow, false, estimated);
  }

  /**
   * Returns this transaction with the higher of two costs, for two charges of one bucket that
   * become one charge. If one of the costs is estimated, a settlement updates the estimate, even if
   * the other cost is higher.
   *
   * @param other a transaction on the same bucket; an estimated cost is cut to the burst of this
   *     transaction's limit
   * @return a new transaction
   * @throws InvalidRequestException if the other cost is not estimated, and is above the burst
   */
  public Transaction withHigherCost(Transaction other) {
    EstimatedCost estimated = other.estimate;
    Transaction costing = estimated == null ? withCost(other.cost) : withCost(estimated);
    boolean learnsOther = estimate == null || (estimated != null && costing.cost > cost);
    return new Transaction(
        effective,
        id,
        kind,
        Math.max(cost, costing.cost),
        shadow,
        false,
        learnsOther ? estimated : estimate);
  }

  /** Updates the cost's estimate with the true cost; does nothing if the cost was not estimated. */
  void learn(long trueCost) {
    if (estimate != null) {
      estimate.learn(trueCost);
    }
  }

  /**
   * Returns a check-only copy: a check-only transaction is never spent and never refunded.
   *
   * @return a new transaction
   */
  public Transaction checkOnly() {
    return as(Kind.CHECK_ONLY);
  }

  /**
   * Returns a spend-only copy: a spend-only transaction is spent if the bucket has enough tokens,
   * and never denies a batch. For several quotas, each bucket that has enough tokens is charged.
   *
   * @return a new transaction
   */
  public Transaction spendOnly() {
    return as(Kind.SPEND_ONLY);
  }

  /**
   * Returns a reset-only copy: a reset-only transaction is valid only for {@link Limiter#reset}.
   *
   * @return a new transaction
   */
  public Transaction resetOnly() {
    return new Transaction(effective, id, Kind.RESET_ONLY, cost, shadow);
  }

  /**
   * Returns an allow-only copy: an allow-only transaction is always allowed, and uses no bucket. A
   * refund of an allow-only transaction gives nothing back, so {@link Decision#allowed} is false.
   *
   * @return a new transaction
   */
  public Transaction allowOnly() {
    return new Transaction(effective, id, Kind.ALLOW_ONLY, cost, shadow, false, estimate);
  }

  /**
   * Returns a trial of this transaction, for a new limit whose denials are only counted. A trial
   * has its own bucket, so it takes no tokens from other transactions. Observers count trials
   * separately from other transactions. The limiter denies a trial like any other transaction; the
   * caller must ignore the denial. Put trials into a batch of their own, since a denied trial
   * denies its whole batch.
   *
   * @return a new transaction
   */
  public Transaction inShadow() {
    return new Transaction(effective, id, kind, cost, true, false, estimate);
  }

  private Transaction as(Kind newKind) {
    // A disabled limit has no bucket to check or spend from.
    Kind possible = quota() == null ? Kind.ALLOW_ONLY : newKind;
    return new Transaction(effective, id, possible, cost, shadow, false, estimate);
  }

  /**
   * Returns a spend of all tokens that this transaction's bucket has, up to a given number. A spend
   * up to a number must be alone in its batch.
   *
   * @param most the highest number of tokens, cut to the burst
   */
  Transaction upTo(long most) {
    if (most < 1) {
      throw new InvalidRequestException(
          Field.COST, "invalid cost, must be >= 1: found " + most + " for " + name());
    }
    if (kind != Kind.CHECK_AND_SPEND && kind != Kind.ALLOW_ONLY) {
      throw new InvalidRequestException(
          Field.KIND,
          "the transaction on bucket %s is %s; spendUpTo() takes only a check-and-spend transaction"
              .formatted(SafeText.printable(bucketKey()), kind));
    }
    Quota quota = effective.leastBurst();
    long possible = quota == null ? most : Math.min(most, quota.burst());
    return new Transaction(effective, id, kind, possible, shadow, true, null);
  }

  boolean isUpTo() {
    return upTo;
  }

  /** Converts a spend-up-to to a spend whose cost is the given number of tokens taken. */
  Transaction took(long tokens) {
    return new Transaction(effective, id, kind, tokens, shadow);
  }

  EffectiveQuota effective() {
    return effective;
  }

  /** Returns a copy with another quota: a share of the quota, or another quota of the limit. */
  Transaction heldTo(Quota share) {
    return share.equals(quota()) ? this : under(effective.heldTo(share));
  }

  private Transaction under(EffectiveQuota other) {
    return new Transaction(other, id, kind, cost, shadow, upTo, estimate);
  }

  /** Returns whether the limit has several quotas, each with a bucket of its own. */
  boolean isSeveral() {
    return !effective.parts().isEmpty();
  }

  /** Returns one transaction for each quota of a limit with several quotas. */
  List<Transaction> parts() {
    return effective.parts().stream().map(this::under).toList();
  }

  /**
   * Returns the transaction on the bucket of one quota, null if the limit no longer has this quota.
   *
   * @param furtherPeriod the period of the quota, null for the longest period
   */
  @Nullable Transaction part(@Nullable String furtherPeriod) {
    List<Transaction> parts = isSeveral() ? parts() : List.of(this);
    return parts.stream()
        .filter(one -> Objects.equals(one.furtherPeriod(), furtherPeriod))
        .findFirst()
        .orElse(null);
  }

  /** Returns the period in the bucket's key; null for the longest period and for a single quota. */
  @Nullable String furtherPeriod() {
    return effective.furtherPeriod();
  }

  /** Returns the transaction on the whole limit; this transaction if the limit has one quota. */
  Transaction whole() {
    EffectiveQuota whole = effective.whole();
    return whole == effective ? this : under(whole);
  }

  /** Returns the transaction on the whole limit, but with the quota of this transaction. */
  Transaction described() {
    Quota own = quota();
    return own == null ? this : whole().heldTo(own);
  }

  /** Returns the quota of the id under the given limits, null if nothing limits the id. */
  @Nullable Quota quotaIn(Limits now) {
    return effective.quotaIn(now, id);
  }

  /**
   * Returns the limit's name.
   *
   * @return the name
   */
  public LimitName name() {
    return effective.name();
  }

  /**
   * Returns the id in canonical form.
   *
   * @return the id
   */
  public String id() {
    return id;
  }

  /**
   * Returns the quota of the bucket. For a limit with several quotas, returns the quota with the
   * longest period; the transaction of a decision returns the quota that the decision describes.
   *
   * @return the quota; null if nothing limits the id ({@link #coverage} returns the reason)
   */
  public @Nullable Quota quota() {
    return effective.quota();
  }

  /**
   * Returns all quotas of the limit for the id.
   *
   * @return the quotas, the longest period first; empty if nothing limits the id
   */
  public List<Quota> quotas() {
    return effective.quotas();
  }

  /**
   * Returns whether a quota limits the id, and the reason if no quota does.
   *
   * @return {@link Coverage#LIMITED} if a quota limits the id
   */
  public Coverage coverage() {
    return effective.coverage();
  }

  /**
   * Returns whether the quota is an override of the limit's default.
   *
   * @return true for an override, false for a default and for a quota that the caller supplied
   */
  public boolean overridden() {
    return effective.overridden();
  }

  /**
   * Returns whether the caller supplied the quota; see {@link #of(LimitName, Quota, String)}.
   *
   * @return false if the quota comes from the limits
   */
  public boolean supplied() {
    return effective.ofCaller();
  }

  /**
   * Returns the kind of operation.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * Returns the cost.
   *
   * @return the number of tokens, from 0 to the limit's burst
   */
  public long cost() {
    return cost;
  }

  /**
   * Returns whether this transaction is a trial ({@link #inShadow}).
   *
   * @return true for a trial
   */
  public boolean isShadow() {
    return shadow;
  }

  /**
   * Returns the key of the bucket; for several quotas, of the bucket with the longest period.
   *
   * @return the {@link LimitName#bucketKey}; the key of a trial has the prefix "shadow-"
   */
  public String bucketKey() {
    String key = effective.bucketKey(id);
    // The prefix has no colon, because the Redis hash tag begins after the key's first colon.
    return shadow ? "shadow-" + key : key;
  }

  @Override
  public String toString() {
    String quotas =
        isSeveral()
            ? quotas().stream().map(Quota::toString).collect(Collectors.joining(" and "))
            : String.valueOf(quota());
    return "%s %s, cost %s, %s".formatted(kind, SafeText.printable(bucketKey()), cost, quotas);
  }

  /** The kinds of operations on a bucket. */
  public enum Kind {
    /** The transaction takes the tokens, or denies the batch if the bucket has too few tokens. */
    CHECK_AND_SPEND,
    /** The transaction takes no tokens, but denies the batch if the bucket has too few tokens. */
    CHECK_ONLY,
    /** The transaction takes the tokens if the bucket has enough, and never denies the batch. */
    SPEND_ONLY,
    /** The transaction is valid only for resets. */
    RESET_ONLY,
    /** The transaction is neither checked nor spent, since nothing limits the id. */
    ALLOW_ONLY
  }
}
