// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Penalty;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The result of a transaction: whether it was allowed, the tokens left, and the time to wait.
 *
 * <p>The decision of a batch is its strictest decision. A denial is stricter than an allowed
 * decision. Of two denials, or two allowed decisions, the decision with the longer {@link #retryIn}
 * is stricter; if the waits are equal, the decision with fewer {@link #remaining} tokens. {@link
 * #parts} returns the decision of each transaction.
 *
 * <p>Immutable and thread-safe. Callers must check {@link #allowed}: a denial that the caller
 * ignores limits nothing.
 */
public final class Decision {

  private static final DateTimeFormatter SECONDS =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss 'UTC'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);
  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private final @Nullable Transaction transaction;
  private final Answer answer;
  private final DecidedBy decidedBy;
  private final List<Decision> parts;
  private final @Nullable Penalty penalty;
  private final boolean spends;
  private final List<Decision> quotas;

  /**
   * Creates a decision.
   *
   * @param transaction the transaction, null for a batch in which no transaction was checked
   * @param decidedBy the store, or the failure rule that decided in place of the store
   * @param parts the decisions of a batch, empty for a single transaction
   * @param penalty the penalty in force on the bucket, null if there is none
   * @param spends whether the operation can take tokens: true for a spend
   * @param quotas the decisions on the quotas of a limit with several quotas, otherwise empty
   */
  private Decision(
      @Nullable Transaction transaction,
      Answer answer,
      DecidedBy decidedBy,
      List<Decision> parts,
      @Nullable Penalty penalty,
      boolean spends,
      List<Decision> quotas) {
    this.transaction = transaction;
    this.answer = answer;
    this.decidedBy = decidedBy;
    this.parts = parts;
    this.penalty = penalty;
    this.spends = spends;
    this.quotas = quotas;
  }

  static Decision of(Act act, Transaction transaction, Answer answer) {
    return of(act, transaction, answer, null);
  }

  /**
   * Returns the transaction; the cost of a spend-up-to becomes the tokens taken, 1 if it was
   * denied.
   */
  private static Transaction spent(Transaction transaction, Answer answer) {
    return transaction.isUpTo()
        ? transaction.took(answer.allowed() ? transaction.cost() : 1)
        : transaction;
  }

  /** Returns the decision on one transaction; during a penalty, the bucket counts as empty. */
  static Decision of(Act act, Transaction transaction, Answer answer, @Nullable Penalty penalty) {
    return new Decision(
        spent(transaction, answer),
        answer,
        DecidedBy.STORE,
        List.of(),
        penalty,
        act == Act.SPEND,
        List.of());
  }

  /** Returns this decision, marked as made by a failure rule in place of the store. */
  Decision by(DecidedBy rule) {
    return new Decision(transaction, answer, rule, parts, penalty, spends, quotas);
  }

  /**
   * Returns a copy of this decision on an allowed spend, changed to report that the spend took no
   * tokens because its batch was denied.
   *
   * @param quota the transaction's quota, null if no store was called for the transaction
   */
  Decision unspent(Transaction asked, @Nullable Quota quota) {
    Answer unspent =
        penalty == null && quota != null ? answer.unspent(asked.cost(), quota) : answer;
    return new Decision(transaction, unspent, decidedBy, parts, penalty, false, quotas);
  }

  /**
   * Returns the decision on a limit with several quotas: the strictest of the decisions on the
   * quotas. If several decisions are equally strict, returns the decision on the longest period. A
   * refund is allowed if any of the buckets took tokens back.
   *
   * @param each the decision on each quota, the longest period first
   */
  static Decision ofQuotas(Act act, List<Decision> each) {
    List<Decision> quotas = each.stream().map(Decision::described).toList();
    Decision strictest = quotas.get(0);
    for (Decision one : quotas) {
      boolean isFirstToGiveBack = act == Act.REFUND && one.allowed() && strictest.denied();
      boolean isFull = act == Act.REFUND && one.denied();
      strictest = isFirstToGiveBack ? one : isFull ? strictest : strictest.stricter(one);
    }
    return new Decision(
        strictest.transaction,
        strictest.answer,
        strictest.decidedBy,
        List.of(),
        strictest.penalty,
        strictest.spends,
        quotas);
  }

  /** Converts this decision on one quota of a limit to a decision on the whole limit. */
  private Decision described() {
    Transaction described = transaction == null ? null : transaction.described();
    return new Decision(described, answer, decidedBy, parts, penalty, spends, quotas);
  }

  /**
   * Returns the decision of a batch: its strictest decision. If several decisions are equally
   * strict, returns the last one, as Boulder does. If {@code counting} is empty, the batch is
   * allowed, even if it is a refund.
   *
   * @param counting the decisions from which the strictest is chosen
   */
  static Decision ofBatch(List<Decision> counting, List<Decision> parts) {
    Decision strictest = null;
    for (Decision one : counting) {
      strictest = strictest == null ? one : one.stricter(strictest);
    }
    if (strictest == null) {
      strictest =
          new Decision(null, Answer.UNLIMITED, DecidedBy.STORE, List.of(), null, false, List.of());
    }
    DecidedBy decidedBy = strictest.decidedBy;
    for (Decision part : parts) {
      decidedBy = decidedBy == DecidedBy.STORE ? part.decidedBy : decidedBy;
    }
    return new Decision(
        strictest.transaction,
        strictest.answer,
        decidedBy,
        List.copyOf(parts),
        strictest.penalty,
        strictest.spends,
        strictest.quotas);
  }

  /**
   * Returns the stricter of two decisions ({@link Decision}), this decision if both are equal.
   *
   * @param other the decision to compare with
   * @return the stricter of this decision and {@code other}
   */
  public Decision stricter(Decision other) {
    return other.answer.isStricterThan(answer) ? other : this;
  }

  /**
   * Returns whether the request may pass. For a refund, returns whether any tokens were given back.
   *
   * @return true if allowed
   */
  public boolean allowed() {
    return answer.allowed();
  }

  /**
   * Returns whether the request must not pass.
   *
   * @return true if denied
   */
  public boolean denied() {
    return !answer.allowed();
  }

  /**
   * Returns whether a limit applied. If no limit applied, {@link Transaction#coverage} of the
   * {@link #transaction} returns the reason: the limit is declared unlimited, or its default is
   * missing.
   *
   * @return false if nothing limits the id, or if no transaction of the batch had to be checked
   */
  public boolean limited() {
    return transaction != null
        && transaction.kind() != Transaction.Kind.ALLOW_ONLY
        && transaction.quota() != null;
  }

  /** The store, or the failure rule that decided in place of the store. */
  public enum DecidedBy {
    /** The store decided. */
    STORE,
    /**
     * The store failed, and this process decided with its own share of the limit. In a {@code
     * LOCAL} decision, the quota of the {@link #transaction} is this process's share, not the whole
     * limit.
     */
    LOCAL,
    /**
     * The store failed, and the failure rule allowed the request; the remaining tokens are unknown.
     */
    ALLOW,
    /**
     * The store failed, and the failure rule denied the request; the remaining tokens are unknown.
     */
    DENY;

    private final String word = name().toLowerCase(Locale.ROOT);

    /**
     * Returns the constant's name in the form that responses and headers use.
     *
     * @return the name of this value in lower case
     */
    public String word() {
      return word;
    }

    /**
     * Returns whether {@link #remaining}, {@link #resetIn} and the quota describe a bucket.
     *
     * @return whether the store or the rule {@link #LOCAL} decided
     */
    public boolean knowsBucket() {
      return this == STORE || this == LOCAL;
    }
  }

  /**
   * Returns whether the store decided, or which {@link FailureRule} decided in place of the store.
   * For a batch, returns the failure rule that made the strictest decision; if the store made it, a
   * failure rule that made any decision of the batch; if there is none, the store.
   *
   * @return the store, or the failure rule that decided in place of the store
   */
  public DecidedBy decidedBy() {
    return decidedBy;
  }

  /**
   * Returns whether a {@link FailureRule} decided because the store could not. Under the failure
   * rules {@code allow} and {@code deny}, {@link #remaining} is 0, and {@link #retryIn} of a denial
   * is one second.
   *
   * @return true if {@link #decidedBy} is not the store
   */
  public boolean degraded() {
    return decidedBy != DecidedBy.STORE;
  }

  /**
   * Returns the penalty that made the bucket count as empty. During a penalty, {@link #retryIn}
   * ends when the penalty has ended and the bucket has enough tokens.
   *
   * @return the penalty, null if no penalty was in force
   */
  public @Nullable Penalty penalty() {
    return penalty;
  }

  /**
   * Returns the number of whole tokens left in the bucket.
   *
   * @return from 0 to the burst; {@link Long#MAX_VALUE} if no limit applied
   */
  public long remaining() {
    return answer.remaining();
  }

  /**
   * Returns the time from the decision until the same cost can be spent again.
   *
   * @return the wait, zero if the cost can be spent at once
   */
  public Duration retryIn() {
    return Duration.ofNanos(answer.retryInNanos());
  }

  /**
   * Returns how many tokens a spend took: its cost, or for {@link Limiter#spendUpTo} the tokens
   * that the bucket had. For a batch, returns the tokens that the strictest transaction took.
   *
   * @return the number of tokens taken; 0 for a check, a refund, a denial and in a denied batch
   */
  public long taken() {
    return spends
            && allowed()
            && transaction != null
            && transaction.kind() != Transaction.Kind.CHECK_ONLY
        ? transaction.cost()
        : 0;
  }

  /**
   * Returns the time from the decision until the bucket is full again.
   *
   * @return the time, zero if the bucket is full
   */
  public Duration resetIn() {
    return Duration.ofNanos(answer.resetInNanos());
  }

  /**
   * Returns {@link #retryIn} in nanoseconds.
   *
   * @return the wait in nanoseconds, 0 if the cost can be spent at once
   */
  public long retryInNanos() {
    return answer.retryInNanos();
  }

  /**
   * Returns {@link #resetIn} in nanoseconds.
   *
   * @return the time in nanoseconds, 0 for a full bucket
   */
  public long resetInNanos() {
    return answer.resetInNanos();
  }

  /**
   * Returns the moment of the decision, by the store's clock.
   *
   * @return the moment; the epoch if no limit applied, since no store was called
   */
  public Instant decidedAt() {
    return instant(answer.nowNanos());
  }

  /**
   * Returns the theoretical arrival time (TAT), at which the bucket is full again.
   *
   * @return {@link #decidedAt} plus {@link #resetIn}
   */
  public Instant tat() {
    return decidedAt().plusNanos(answer.resetInNanos());
  }

  /**
   * Returns the transaction of this decision; for a batch the one with the strictest decision.
   *
   * @return the transaction, null for a batch in which no transaction was checked
   */
  public @Nullable Transaction transaction() {
    return transaction;
  }

  /**
   * Returns the decision on each quota of a limit with several quotas. This decision equals the
   * strictest of the decisions on the quotas.
   *
   * @return the decisions, the longest period first; empty for a limit with one quota
   */
  public List<Decision> quotas() {
    return quotas;
  }

  /**
   * Returns the decisions of a batch, one for each transaction, in the order of the transactions. A
   * denied batch spends nothing. In a denied batch, a transaction with an allowed decision would
   * have been spent if no other transaction had been denied; the decision's {@link #remaining} and
   * {@link #resetIn} describe the unchanged bucket.
   *
   * @return the decisions; only this decision if the request was not a batch
   */
  public List<Decision> parts() {
    return parts.isEmpty() && transaction != null ? List.of(this) : parts;
  }

  /**
   * Returns the message for a denied client: the limit, its rate, and the time for a retry.
   *
   * <p>The time for a retry is rounded up to a whole second, so it is never too early. The same
   * share of the wait is added as to {@link #retryAfterSeconds}, but nothing if the largest share
   * ({@link LimitName#jitter}) is less than a second. The share differs between decisions.
   *
   * @return the message; empty if the request was allowed, and for a refund
   */
  public String message() {
    Quota quota = transaction == null ? null : transaction.quota();
    boolean mustWait =
        denied() && answer.retryInNanos() > 0; // false for a refund that gave no tokens back
    if (!mustWait || transaction == null || quota == null) {
      return "";
    }
    if (!decidedBy.knowsBucket()) {
      return "the limit %s cannot be checked at the moment, retry after %s"
          .formatted(transaction.name(), SECONDS.format(retryAt()));
    }
    String help = transaction.name().helpLink();
    if (penalty != null) {
      return "a penalty on this id of the limit %s is in force, retry after %s%s"
          .formatted(
              transaction.name(), SECONDS.format(retryAt()), help == null ? "" : ": see " + help);
    }
    return transaction.name().denial(quota, transaction.id())
        + ", retry after "
        + SECONDS.format(retryAt())
        + (help == null ? "" : ": see " + help);
  }

  /**
   * Returns the value of a {@code Retry-After} header, which is {@link #retryIn} in whole seconds,
   * rounded up, plus jitter ({@link LimitName#jitter}). The jitter keeps clients from retrying all
   * at once, even clients that were denied at the same moment. A jitter above 0 adds up to one
   * second even to a very short wait, since a {@code Retry-After} header has whole seconds.
   *
   * @return the wait in seconds, at least 1 for a denial after which a retry can succeed
   */
  public long retryAfterSeconds() {
    long retryInNanos = answer.retryInNanos();
    long roundedUp =
        retryInNanos / NANOS_PER_SECOND + (retryInNanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    return roundedUp + jitter(NANOS_PER_SECOND, 1);
  }

  /**
   * Returns {@link #retryIn} in nanoseconds, plus jitter ({@link LimitName#jitter}), for clients
   * that do not need whole seconds. A short wait stays short. The result and {@link
   * #retryAfterSeconds} differ by less than two seconds.
   *
   * @return the wait in nanoseconds, 0 if the cost can be spent at once
   */
  public long retryAfterNanos() {
    long retryInNanos = answer.retryInNanos();
    return retryInNanos + Math.min(jitter(1, 0), Long.MAX_VALUE - retryInNanos);
  }

  /** Returns the time for a retry, in whole seconds, never before the end of the wait. */
  Instant retryAt() {
    Instant earliest = decidedAt().plusNanos(answer.retryInNanos());
    long roundedUp = earliest.getEpochSecond() + (earliest.getNano() > 0 ? 1 : 0);
    return Instant.ofEpochSecond(roundedUp + jitter(NANOS_PER_SECOND, 0));
  }

  /**
   * Returns the jitter of this decision, which is the same part of its maximum in every unit.
   *
   * @param nanosPerUnit the unit of the result, in nanoseconds
   * @param leastSpread the maximum of the jitter for short waits, in the unit
   */
  private long jitter(long nanosPerUnit, long leastSpread) {
    long retryInNanos = answer.retryInNanos();
    if (transaction == null || retryInNanos == 0 || transaction.name().jitter() == 0) {
      return 0;
    }
    long share = (long) (transaction.name().jitter() * retryInNanos / nanosPerUnit);
    long mixed =
        (answer.nowNanos() ^ Long.rotateLeft(answer.resetInNanos(), 32)) * 0x9E3779B97F4A7C15L;
    // Many clients can get a decision on one id at the same moment; the decision's identity spreads
    // their retries.
    mixed ^= (long) transaction.id().hashCode() << 32 ^ System.identityHashCode(this);
    mixed = (mixed ^ (mixed >>> 32)) * 0xD6E8FEB86659FD93L;
    double part = ((mixed ^ (mixed >>> 32)) >>> 11) * 0x1p-53; // at least 0, below 1
    return (long) (part * (Math.max(share, leastSpread) + 1.0));
  }

  /**
   * Returns this decision if the request was allowed, and throws an exception if it was denied.
   *
   * @return this decision
   * @throws DeniedException if this decision is a denial
   */
  public Decision orThrow() {
    if (denied()) {
      throw new DeniedException(this);
    }
    return this;
  }

  private static Instant instant(long nanos) {
    return Instant.ofEpochSecond(nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
  }

  @Override
  public String toString() {
    return "%s%s, remaining %s, retry in %s, reset in %s, %s"
        .formatted(
            allowed() ? "allowed" : "denied",
            degraded() ? " (degraded)" : "",
            remaining(),
            retryIn(),
            resetIn(),
            transaction);
  }

  /** A denial as an exception, thrown by {@link Decision#orThrow}. */
  public static final class DeniedException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final transient Decision decision;

    DeniedException(Decision decision) {
      super(message(decision), null, false, false);
      this.decision = decision;
    }

    private static String message(Decision decision) {
      String message = decision.message();
      Transaction transaction = decision.transaction;
      return "%s (%sthe exception's decision() has the id, the quota and the wait)"
          .formatted(
              message.isEmpty() ? "denied" : message,
              transaction == null ? "" : "limit " + transaction.name() + "; ");
    }

    /**
     * Returns the denial.
     *
     * @return the decision
     */
    public Decision decision() {
      return decision;
    }
  }
}
