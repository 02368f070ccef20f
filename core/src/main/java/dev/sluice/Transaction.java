// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidIdException;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.UnknownLimitException;
import dev.sluice.text.SafeText;
import org.jspecify.annotations.Nullable;

/**
 * One line of a request to a {@link Limiter}: which bucket, under which limit, at what cost, and
 * what is to be done.
 *
 * <p>Immutable and thread-safe. The limit is read when the transaction is made, so make it for the
 * request at hand and do not keep it.
 */
public final class Transaction {

  private final Terms terms;
  private final String id;
  private final Kind kind;
  private final long cost;
  private final boolean shadow;

  Transaction(Terms terms, String id, Kind kind, long cost, boolean shadow) {
    this.terms = terms;
    this.id = id;
    this.kind = kind;
    this.cost = cost;
    this.shadow = shadow;
  }

  /**
   * A transaction that checks and spends one token; one that allows only where nothing limits the
   * id. A limiter refuses the latter if {@linkplain Coverage#isMissing nobody wrote so}.
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
    return of(Terms.of(limits, name, canonicalId), canonicalId);
  }

  /**
   * Returns a transaction that checks and spends one token of a quota supplied by the caller: a
   * customer's plan, say, or a quota that came with the request. Limits have no say in it: neither
   * their default nor an override applies, and a reload changes nothing.
   *
   * <p>The bucket is that of the name and the id, whatever the quota. So the quota of an id may
   * change from one request to the next, and the bucket follows. Where two quotas work on one
   * bucket at a time, or a named limit does beside them, it gives out what the larger one allows,
   * plus a bounded amount ({@code docs/decisions/009}).
   *
   * <p>The name need not be in a catalogue. Keep it as a constant: it labels metrics, so it must
   * not be made from what a request brings. Its number must be its own: a limiter refuses a name
   * that the catalogue of its limits gives another number, and a number that it gives another name.
   *
   * @param limit the limit's name
   * @param quota how much may pass; a quota of zero tokens does not exist, so a caller with such a
   *     plan denies without asking
   * @param id the id, made canonical
   * @return the transaction
   * @throws InvalidIdException if the id does not match the name's format
   */
  public static Transaction of(LimitName limit, Quota quota, String id) {
    return of(Terms.ofCaller(limit, quota), limit.id().canonical(id, Strictness.LENIENT));
  }

  static Transaction of(Terms terms, String canonicalId) {
    return of(terms, canonicalId, 1);
  }

  /** For a cost that is known to be in its range. */
  static Transaction of(Terms terms, String canonicalId, long cost) {
    Kind kind = terms.quota() == null ? Kind.ALLOW_ONLY : Kind.CHECK_AND_SPEND;
    return new Transaction(terms, canonicalId, kind, cost, false);
  }

  /**
   * This transaction at another price.
   *
   * @param newCost tokens, 0 (reads the bucket) to the limit's burst
   * @return a new transaction
   * @throws InvalidRequestException if the cost is negative or above the burst
   */
  public Transaction withCost(long newCost) {
    if (newCost < 0) {
      throw new InvalidRequestException(
          Field.COST, "invalid cost, must be >= 0: found " + newCost + " for " + name());
    }
    Quota quota = terms.quota();
    if (quota != null && newCost > quota.burst()) {
      throw new InvalidRequestException(
          Field.COST,
          "cost %s exceeds the burst (%s) of %s"
              .formatted(
                  newCost, quota.burst(), name().equals(Limit.ALONE) ? "the limit" : name()));
    }
    return new Transaction(terms, id, kind, newCost, shadow);
  }

  /**
   * This transaction, which checks and never spends (nor is refunded).
   *
   * @return a new transaction
   */
  public Transaction checkOnly() {
    return as(Kind.CHECK_ONLY);
  }

  /**
   * This transaction, which spends if it fits, as a best effort, and never denies a batch.
   *
   * @return a new transaction
   */
  public Transaction spendOnly() {
    return as(Kind.SPEND_ONLY);
  }

  /**
   * This transaction, which is good for {@link Limiter#reset} only.
   *
   * @return a new transaction
   */
  public Transaction resetOnly() {
    return new Transaction(terms, id, Kind.RESET_ONLY, cost, shadow);
  }

  /**
   * This transaction, which always allows and stores nothing, whatever the quota of its limit.
   *
   * @return a new transaction
   */
  public Transaction allowOnly() {
    return new Transaction(terms, id, Kind.ALLOW_ONLY, cost, shadow);
  }

  /**
   * Returns this transaction as a trial, whose denial refuses nobody. It has a bucket of its own,
   * so that a trial takes nothing from what is in force. Observers count it apart. The limiter
   * decides on it as on any other; to keep its denial from the others, spend it in a batch of its
   * own.
   *
   * @return a new transaction
   */
  public Transaction inShadow() {
    return new Transaction(terms, id, kind, cost, true);
  }

  private Transaction as(Kind newKind) {
    // A disabled limit has no bucket to check or spend from.
    Kind possible = quota() == null ? Kind.ALLOW_ONLY : newKind;
    return new Transaction(terms, id, possible, cost, shadow);
  }

  Terms terms() {
    return terms;
  }

  /** This transaction, held to a share of its quota. */
  Transaction heldTo(Quota share) {
    return share.equals(quota())
        ? this
        : new Transaction(terms.heldTo(share), id, kind, cost, shadow);
  }

  /** Returns the quota of the id under the limits that hold now, null where nothing limits it. */
  @Nullable Quota quotaIn(Limits now) {
    return terms.quotaIn(now, id);
  }

  /**
   * The limit's name.
   *
   * @return the name
   */
  public LimitName name() {
    return terms.name();
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
   * Returns the quota of the bucket.
   *
   * @return the quota, null where nothing limits the id; {@link #coverage} says why
   */
  public @Nullable Quota quota() {
    return terms.quota();
  }

  /**
   * Returns whether the limits hold the id to a quota, and if not, why.
   *
   * @return {@link Coverage#LIMITED} where there is a quota
   */
  public Coverage coverage() {
    return terms.coverage();
  }

  /**
   * Returns whether the quota is an override of the limit's default.
   *
   * @return true for an override, false for a default and for a quota that the caller supplied
   */
  public boolean overridden() {
    return terms.overridden();
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
   * The price.
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
   * The key of the bucket.
   *
   * @return the name's number, ":" and the id; before them "shadow-" for a trial
   */
  public String bucketKey() {
    String key = name().bucketKey(id);
    return shadow ? "shadow-" + key : key; // no colon: a tag begins behind the first
  }

  @Override
  public String toString() {
    return "%s %s, cost %s, %s".formatted(kind, SafeText.printable(bucketKey()), cost, quota());
  }

  /** The acts on a bucket. */
  public enum Kind {
    /** Checked, spent, and part of the batch's decision. */
    CHECK_AND_SPEND,
    /** Checked and part of the batch's decision; never spent, never refunded. */
    CHECK_ONLY,
    /** Spent if it fits, as a best effort; no part of the batch's decision. */
    SPEND_ONLY,
    /** Forgotten; for resets only. */
    RESET_ONLY,
    /** Neither checked nor spent: nothing limits the id. */
    ALLOW_ONLY
  }
}
