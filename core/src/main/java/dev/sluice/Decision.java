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
 * The answer to a transaction: whether it was allowed, what is left, and how long to wait.
 *
 * <p>The decision of a batch is that of its strictest transaction: a denial before an allowance,
 * then the longer {@link #retryIn}, then the smaller {@link #remaining}; {@link #parts} has the
 * decision of each transaction.
 *
 * <p>Immutable and thread-safe. Callers must not ignore it: an unread denial limits nothing.
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
   * @param transaction null for a batch in which nothing was checked
   * @param decidedBy the store, or the failure rule in its place
   * @param parts the decisions of a batch, empty for a single transaction
   * @param penalty the penalty in force on the bucket, null for none
   * @param spends whether an allowance took tokens, unless the transaction is check-only
   * @param quotas the decisions on the quotas of one limit, empty for one quota
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

  /** Returns the decision on one transaction. */
  static Decision of(Act act, Transaction transaction, Answer answer) {
    return of(act, transaction, answer, null);
  }

  /** Returns what a spend of up to some tokens came to: all of them, or one that was denied. */
  private static Transaction spent(Transaction transaction, Answer answer) {
    return transaction.isUpTo()
        ? transaction.took(answer.allowed() ? transaction.cost() : 1)
        : transaction;
  }

  /** Returns the decision on one transaction whose bucket a penalty may make count as empty. */
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

  /** Returns this decision, marked as made by a failure rule in the store's place. */
  Decision by(DecidedBy rule) {
    return new Decision(transaction, answer, rule, parts, penalty, spends, quotas);
  }

  /**
   * Returns this decision for a spend that fits, but that another one in the batch prevented.
   *
   * @param quota null if no bucket was asked
   */
  Decision unspent(Transaction asked, @Nullable Quota quota) {
    Answer unspent =
        penalty == null && quota != null ? answer.unspent(asked.cost(), quota) : answer;
    return new Decision(transaction, unspent, decidedBy, parts, penalty, false, quotas);
  }

  /**
   * Returns the decision on a limit with several quotas: the strictest; of equals the one with the
   * longest period. A refund is allowed if it gave something back to any bucket.
   *
   * @param each the decision on each quota, the longest first
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

  /** Returns this decision, made on one quota of a limit, as one on the limit. */
  private Decision described() {
    Transaction described = transaction == null ? null : transaction.described();
    return new Decision(described, answer, decidedBy, parts, penalty, spends, quotas);
  }

  /**
   * Returns the decision of a batch: the strictest that counts; of equals the last, as in Boulder.
   *
   * @param otherwise the answer if no decision counts
   */
  static Decision ofBatch(List<Decision> counting, Answer otherwise, List<Decision> parts) {
    Decision strictest = null;
    for (Decision one : counting) {
      strictest = strictest == null ? one : one.stricter(strictest);
    }
    if (strictest == null) {
      strictest = new Decision(null, otherwise, DecidedBy.STORE, List.of(), null, false, List.of());
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
   * Returns the stricter of two decisions: a denial before an allowance, then the longer {@link
   * #retryIn}, then the smaller {@link #remaining}; this one if they are equal.
   *
   * @param other the decision to compare with
   * @return this or the other
   */
  public Decision stricter(Decision other) {
    return other.answer.isStricterThan(answer) ? other : this;
  }

  /**
   * Returns whether the request may pass; for a refund, whether anything was given back.
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
   * Returns whether a limit applied. If none did, {@link Transaction#coverage} of the {@link
   * #transaction} says why: the limit is declared unlimited, or its default is missing.
   *
   * @return false if nothing limits the id, or a batch had nothing to check
   */
  public boolean limited() {
    return transaction != null
        && transaction.kind() != Transaction.Kind.ALLOW_ONLY
        && transaction.quota() != null;
  }

  /** What made a decision: the store, or a failure rule in its place. */
  public enum DecidedBy {
    /** The store decided. */
    STORE,
    /**
     * The store failed, and this process decided by its share of the limit, which is then the
     * {@link #transaction}'s quota.
     */
    LOCAL,
    /** The store failed, and the rule allowed; the remaining tokens are unknown. */
    ALLOW,
    /** The store failed, and the rule denied for a second; the remaining tokens are unknown. */
    DENY;

    private final String word = name().toLowerCase(Locale.ROOT);

    /**
     * Returns the value as answers and headers write it.
     *
     * @return the name in lower case
     */
    public String word() {
      return word;
    }

    /**
     * Returns whether {@link #remaining}, {@link #resetIn} and the quota describe a bucket.
     *
     * @return false for {@link #ALLOW} and {@link #DENY}
     */
    public boolean knowsBucket() {
      return this == STORE || this == LOCAL;
    }
  }

  /**
   * Returns whether the store decided, or which {@link FailureRule} did in its place. For a batch
   * this is the value of the strictest part; if that is the store, but a rule decided another part,
   * it is that rule.
   *
   * @return the store or the rule
   */
  public DecidedBy decidedBy() {
    return decidedBy;
  }

  /**
   * Returns whether the store could not decide and a {@link FailureRule} did in its place. Unless
   * that rule decides locally, {@link #remaining} is then 0, and a denial's {@link #retryIn} is one
   * second.
   *
   * @return true if {@link #decidedBy} is not the store
   */
  public boolean degraded() {
    return decidedBy != DecidedBy.STORE;
  }

  /**
   * Returns the penalty that made the bucket count as empty. {@link #retryIn} is then the time to
   * its end, or to when the bucket itself has the tokens, if that is later.
   *
   * @return the penalty, null if none was in force
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
   * Returns the wait until the same cost can be spent (again), from the moment of the decision.
   *
   * @return zero for at once
   */
  public Duration retryIn() {
    return Duration.ofNanos(answer.retryInNanos());
  }

  /**
   * Returns how many tokens a spend took: its cost, or as many as {@link Limiter#spendUpTo} found;
   * for a batch those of the strictest transaction.
   *
   * @return tokens, 0 for a denial and for each part of a denied batch, for a check and for a
   *     refund
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
   * Returns the time until the bucket is full again, from the moment of the decision.
   *
   * @return zero for a full bucket
   */
  public Duration resetIn() {
    return Duration.ofNanos(answer.resetInNanos());
  }

  /**
   * Returns {@link #retryIn} in nanoseconds.
   *
   * @return nanoseconds, 0 for at once
   */
  public long retryInNanos() {
    return answer.retryInNanos();
  }

  /**
   * Returns {@link #resetIn} in nanoseconds.
   *
   * @return nanoseconds, 0 for a full bucket
   */
  public long resetInNanos() {
    return answer.resetInNanos();
  }

  /**
   * Returns the moment of the decision, by the store's clock.
   *
   * @return the moment; the epoch if no limit applied, so that no store was asked
   */
  public Instant decidedAt() {
    return instant(answer.nowNanos());
  }

  /**
   * Returns the theoretical arrival time after the decision: when the bucket will be full again.
   *
   * @return {@link #decidedAt} plus {@link #resetIn}
   */
  public Instant tat() {
    return decidedAt().plusNanos(answer.resetInNanos());
  }

  /**
   * Returns the transaction that was decided on; for a batch the one with the strictest decision.
   *
   * @return the transaction, null for a batch in which nothing was checked
   */
  public @Nullable Transaction transaction() {
    return transaction;
  }

  /**
   * Returns the decision on each quota of a limit that has several. This decision equals the
   * strictest of them in all else.
   *
   * @return the decisions, the longest period first; empty for a limit with one quota
   */
  public List<Decision> quotas() {
    return quotas;
  }

  /**
   * Returns the decisions of a batch, one for each transaction, in their order. A denied batch
   * spends nothing: an allowed part of it had room, and its {@link #remaining} and {@link #resetIn}
   * describe the unchanged bucket.
   *
   * @return the decisions; this decision alone if it is not one of a batch
   */
  public List<Decision> parts() {
    return parts.isEmpty() && transaction != null ? List.of(this) : parts;
  }

  /**
   * Returns the message for a denied client: which limit denied, how much it allows, and when to
   * retry.
   *
   * <p>The time is rounded up to a whole second, so it is never too early. A share of the wait that
   * differs between decisions is added ({@link LimitName#jitter}), so that clients don't all retry
   * at once.
   *
   * @return the message; empty for an allowance and for a refund
   */
  public String message() {
    Quota quota = transaction == null ? null : transaction.quota();
    boolean mustWait =
        denied() && answer.retryInNanos() > 0; // false for a refund that gave nothing back
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
    return "%s, retry after %s%s"
        .formatted(
            transaction.name().denial(quota, transaction.id()),
            SECONDS.format(retryAt()),
            help == null ? "" : ": see " + help);
  }

  /**
   * Returns the value of a {@code Retry-After} header: {@link #retryIn} in whole seconds, rounded
   * up, plus jitter ({@link LimitName#jitter}) so that clients don't all retry at once, even those
   * denied at the same moment. Since the header has whole seconds, up to one second is added if the
   * limit's share is smaller; {@link #message} adds the share alone.
   *
   * @return seconds, at least 1 for a denial that can be waited out
   */
  public long retryAfterSeconds() {
    long retryInNanos = answer.retryInNanos();
    long roundedUp =
        retryInNanos / NANOS_PER_SECOND + (retryInNanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    // Many clients may get a decision on one id at the same moment; the hash spreads their retries.
    return roundedUp + jitterSeconds(1, System.identityHashCode(this));
  }

  /** Returns when to retry, in whole seconds, never before the wait is over. */
  Instant retryAt() {
    Instant earliest = decidedAt().plusNanos(answer.retryInNanos());
    long roundedUp = earliest.getEpochSecond() + (earliest.getNano() > 0 ? 1 : 0);
    return Instant.ofEpochSecond(roundedUp + jitterSeconds(0, 0));
  }

  /**
   * Returns the jitter of this decision; it depends on the decision's moment and id.
   *
   * @param leastSpread the least range in seconds, for short waits whose share is less than one
   * @param salt separates decisions with the same moment and id
   */
  private long jitterSeconds(long leastSpread, int salt) {
    long retryInNanos = answer.retryInNanos();
    if (transaction == null || retryInNanos == 0 || transaction.name().jitter() == 0) {
      return 0;
    }
    long share = (long) (transaction.name().jitter() * retryInNanos / NANOS_PER_SECOND);
    long mixed =
        (answer.nowNanos() ^ Long.rotateLeft(answer.resetInNanos(), 32)) * 0x9E3779B97F4A7C15L;
    mixed ^= (long) transaction.id().hashCode() << 32 ^ salt;
    mixed = (mixed ^ (mixed >>> 32)) * 0xD6E8FEB86659FD93L;
    return Long.remainderUnsigned(mixed ^ (mixed >>> 32), Math.max(share, leastSpread) + 1);
  }

  /**
   * Turns a denial into an exception, for callers that prefer one.
   *
   * @return this decision, if it allows
   * @throws DeniedException if it denies
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
     * The denial.
     *
     * @return the decision
     */
    public Decision decision() {
      return decision;
    }
  }
}
