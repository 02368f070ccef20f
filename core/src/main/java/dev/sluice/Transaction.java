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
 * One item of a request to a {@link Limiter}: the limit, the bucket, the cost and the kind of act.
 *
 * <p>Immutable and thread-safe. The quota is read when the transaction is created, so create it for
 * each request and do not keep it.
 */
public final class Transaction {

  private final EffectiveQuota effective;
  private final String id;
  private final Kind kind;
  private final long cost;
  private final boolean shadow;
  private final boolean upTo;
  private final @Nullable EstimatedCost estimate; // learns the true cost

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
   * Returns a transaction that checks and spends one token; an allow-only one if nothing limits the
   * id. A limiter refuses the latter if the default is {@linkplain Coverage#isMissing missing}.
   *
   * @param limits the limits to look the quota up in
   * @param limit the limit's name
   * @param id the id, made canonical
   * @return the transaction
   * @throws UnknownLimitException if the catalogue has no such name
   * @throws InvalidIdException if the id does not match the name's format
   */
  public static Transaction of(Limits limits, String limit, String id) {
    LimitName name = limits.catalogue().get(limit);
    String canonicalId = name.id().canonical(id, Strictness.LENIENT);
    return of(EffectiveQuota.of(limits, name, canonicalId), canonicalId);
  }

  /**
   * Returns a transaction that checks and spends one token of a quota supplied by the caller, such
   * as a customer's plan. Neither the default nor an override of the limits applies to it, but a
   * penalty on the id does if the catalogue has the name.
   *
   * <p>The bucket depends on the name and the id, not on the quota. So the quota of an id may
   * change from one request to the next, and the bucket stays the same. If two quotas are used on
   * one bucket at the same time, the bucket grants what the larger one allows, plus a bounded
   * amount ({@code docs/decisions/009}).
   *
   * <p>The name need not be in a catalogue. Keep it as a constant: it labels metrics, so it must
   * not be built from request data. A limiter refuses a name or a number that the catalogue of its
   * limits pairs differently.
   *
   * @param limit the limit's name
   * @param quota how much may pass; a quota of zero tokens does not exist: deny such a request
   *     yourself
   * @param id the id, made canonical
   * @return the transaction
   * @throws InvalidIdException if the id does not match the name's format
   */
  public static Transaction of(LimitName limit, Quota quota, String id) {
    return of(EffectiveQuota.ofCaller(limit, quota), limit.id().canonical(id, Strictness.LENIENT));
  }

  /**
   * Returns a transaction that checks and spends one token of each of several quotas supplied by
   * the caller; otherwise as {@link #of(LimitName, Quota, String)}.
   *
   * @param limit the limit's name
   * @param quotas how much may pass, as {@link Quota#ofOneLimit} takes them
   * @param id the id, made canonical
   * @return the transaction
   * @throws InvalidIdException if the id does not match the name's format
   * @throws IllegalArgumentException if the quotas do not fit together
   */
  public static Transaction of(LimitName limit, List<Quota> quotas, String id) {
    return of(EffectiveQuota.ofCaller(limit, quotas), limit.id().canonical(id, Strictness.LENIENT));
  }

  static Transaction of(EffectiveQuota effective, String canonicalId) {
    return of(effective, canonicalId, 1);
  }

  /** Returns a transaction of a limit that is not known, and so limits nothing. */
  static Transaction unlimited(String limit, String id) {
    LimitName name = LimitName.builder(limit).id(IdFormat.string()).build();
    EffectiveQuota effective =
        EffectiveQuota.ofDefault(Limits.builder(Catalogue.of(name)).unlimited(limit).build(), name);
    return of(effective, id, 0);
  }

  /** Returns a transaction with a cost that is known to be in range. */
  static Transaction of(EffectiveQuota effective, String canonicalId, long cost) {
    Kind kind = effective.quota() == null ? Kind.ALLOW_ONLY : Kind.CHECK_AND_SPEND;
    return new Transaction(effective, canonicalId, kind, cost, false);
  }

  /**
   * Returns this transaction with another cost.
   *
   * @param newCost tokens, 0 (reads the bucket) to the limit's burst, the smallest of several
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
   * Returns this transaction with an estimated cost, for a reservation; {@link Reservation#settle}
   * replaces it by the true one, from which the estimate learns.
   *
   * @param estimated the cost; if it is above the limit's burst (the smallest of several), the cost
   *     is that burst
   * @return a new transaction
   */
  public Transaction withCost(EstimatedCost estimated) {
    long possible = Math.min(estimated.tokens(), Quota.leastBurst(quotas()));
    return new Transaction(effective, id, kind, possible, shadow, false, estimated);
  }

  /** Reports the true cost to the estimate, if the cost was estimated. */
  void learn(long trueCost) {
    if (estimate != null) {
      estimate.learn(trueCost);
    }
  }

  /**
   * Returns this transaction as check-only: never spent, never refunded.
   *
   * @return a new transaction
   */
  public Transaction checkOnly() {
    return as(Kind.CHECK_ONLY);
  }

  /**
   * Returns this transaction as spend-only: spent if it fits, as a best effort; never denies a
   * batch. Of several quotas, each bucket that has the tokens is charged.
   *
   * @return a new transaction
   */
  public Transaction spendOnly() {
    return as(Kind.SPEND_ONLY);
  }

  /**
   * Returns this transaction as reset-only: valid for {@link Limiter#reset} alone.
   *
   * @return a new transaction
   */
  public Transaction resetOnly() {
    return new Transaction(effective, id, Kind.RESET_ONLY, cost, shadow);
  }

  /**
   * Returns this transaction as allow-only: always allowed, stores nothing, ignores the quota. A
   * refund gives nothing back, so {@link Decision#allowed} is false for it.
   *
   * @return a new transaction
   */
  public Transaction allowOnly() {
    return new Transaction(effective, id, Kind.ALLOW_ONLY, cost, shadow, false, estimate);
  }

  /**
   * Returns this transaction as a trial, whose denial refuses nobody. A trial has its own bucket,
   * so that it takes no tokens from other transactions. Observers count it separately. The limiter
   * decides on it like on any other; spend trials in a separate batch, since a denied trial denies
   * its batch.
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
   * Returns this transaction as a spend of as many tokens as fit; for a batch of one. The most that
   * it takes is its cost.
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

  /** Returns the plain spend that this transaction came to. */
  Transaction took(long tokens) {
    return new Transaction(effective, id, kind, tokens, shadow);
  }

  EffectiveQuota effective() {
    return effective;
  }

  /** Returns this transaction with a share of its quota, or with another of its quotas. */
  Transaction heldTo(Quota share) {
    return share.equals(quota()) ? this : under(effective.heldTo(share));
  }

  private Transaction under(EffectiveQuota other) {
    return new Transaction(other, id, kind, cost, shadow, upTo, estimate);
  }

  /** Whether the limit has several quotas, each with a bucket of its own. */
  boolean isSeveral() {
    return !effective.parts().isEmpty();
  }

  /** Returns a transaction for each quota of a limit with several. */
  List<Transaction> parts() {
    return effective.parts().stream().map(this::under).toList();
  }

  /**
   * Returns the part on the bucket of one quota, null if the limit no longer has it.
   *
   * @param furtherPeriod the period, null for the longest quota
   */
  @Nullable Transaction part(@Nullable String furtherPeriod) {
    List<Transaction> parts = isSeveral() ? parts() : List.of(this);
    return parts.stream()
        .filter(one -> Objects.equals(one.furtherPeriod(), furtherPeriod))
        .findFirst()
        .orElse(null);
  }

  /** Returns the period in the bucket's key; null for the longest quota, and for an only one. */
  @Nullable String furtherPeriod() {
    return effective.furtherPeriod();
  }

  /** Returns the transaction that this is a part of; this if it is not one of several. */
  Transaction whole() {
    EffectiveQuota whole = effective.whole();
    return whole == effective ? this : under(whole);
  }

  /**
   * Returns the whole transaction, with the quota of this part; this if it is not one of several.
   */
  Transaction described() {
    Quota own = quota();
    return own == null ? this : whole().heldTo(own);
  }

  /** Returns the quota of the id under the given limits, null if nothing limits it. */
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
   * Returns the id of what is limited, in canonical form.
   *
   * @return the id
   */
  public String id() {
    return id;
  }

  /**
   * Returns the quota of the bucket. For a limit with several quotas, it is the one with the
   * longest period; in a decision, it is the one that the decision describes.
   *
   * @return the quota, null where nothing limits the id; {@link #coverage} says why
   */
  public @Nullable Quota quota() {
    return effective.quota();
  }

  /**
   * Returns all quotas of the limit for the id.
   *
   * @return the quotas, the longest period first; none where nothing limits the id
   */
  public List<Quota> quotas() {
    return effective.quotas();
  }

  /**
   * Returns whether a quota limits the id, and if not, why.
   *
   * @return {@link Coverage#LIMITED} where there is a quota
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
   * Returns whether the caller supplied the quota ({@link #of(LimitName, Quota, String)}).
   *
   * @return false for a quota of the limits
   */
  public boolean supplied() {
    return effective.ofCaller();
  }

  /**
   * Returns the kind of act.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * Returns the cost.
   *
   * @return tokens, 0 to the limit's burst
   */
  public long cost() {
    return cost;
  }

  /**
   * Returns whether a denial refuses nobody.
   *
   * @return true for a trial
   */
  public boolean isShadow() {
    return shadow;
  }

  /**
   * Returns the key of the bucket; for a limit with several quotas, that of the longest period.
   *
   * @return {@link LimitName#bucketKey}; before it "shadow-" for a trial
   */
  public String bucketKey() {
    String key = effective.bucketKey(id);
    return shadow ? "shadow-" + key : key; // a hyphen, since a tag begins after the first colon
  }

  @Override
  public String toString() {
    String quotas =
        isSeveral()
            ? quotas().stream().map(Quota::toString).collect(Collectors.joining(" and "))
            : String.valueOf(quota());
    return "%s %s, cost %s, %s".formatted(kind, SafeText.printable(bucketKey()), cost, quotas);
  }

  /** The acts on a bucket. */
  public enum Kind {
    /** Checked and spent; counts in the batch's decision. */
    CHECK_AND_SPEND,
    /** Checked; counts in the batch's decision; never spent, never refunded. */
    CHECK_ONLY,
    /** Spent if it fits, as a best effort; does not count in the batch's decision. */
    SPEND_ONLY,
    /** For resets only. */
    RESET_ONLY,
    /** Neither checked nor spent: nothing limits the id. */
    ALLOW_ONLY
  }
}
