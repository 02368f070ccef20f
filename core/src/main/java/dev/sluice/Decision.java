// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

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
 * <p>The decision of a batch is its strictest one: a denial before an allowance, then the longer
 * {@link #retryIn}, then the smaller {@link #remaining}; {@link #parts} has each transaction's own.
 *
 * <p>Immutable and thread-safe. Must not be ignored: an unread denial is a limit that does not
 * limit.
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

  /**
   * A decision.
   *
   * @param transaction null for a batch in which nothing was checked
   * @param decidedBy the store, or the failure rule in its place
   * @param parts of a batch, none for a single transaction
   * @param penalty what made the bucket count as empty, null for nothing
   */
  private Decision(
      @Nullable Transaction transaction,
      Answer answer,
      DecidedBy decidedBy,
      List<Decision> parts,
      @Nullable Penalty penalty) {
    this.transaction = transaction;
    this.answer = answer;
    this.decidedBy = decidedBy;
    this.parts = parts;
    this.penalty = penalty;
  }

  /** The decision on one transaction. */
  static Decision of(Transaction transaction, Answer answer) {
    return new Decision(transaction, answer, DecidedBy.STORE, List.of(), null);
  }

  /** The decision on one transaction whose bucket counts as empty. */
  static Decision of(Transaction transaction, Answer answer, Penalty penalty) {
    return new Decision(transaction, answer, DecidedBy.STORE, List.of(), penalty);
  }

  /** This decision, taken by a failure rule in the store's place. */
  Decision by(DecidedBy rule) {
    return new Decision(transaction, answer, rule, parts, penalty);
  }

  /** This decision of a spend that fits and did not happen, as another one denied the batch. */
  Decision unspent(Transaction asked, Quota quota) {
    return penalty == null
        ? new Decision(transaction, answer.unspent(asked.cost(), quota), decidedBy, parts, null)
        : this; // it would have spent nothing anyway
  }

  /**
   * The decision of a batch: the strictest that counts; of equals the last, as in Boulder.
   *
   * @param otherwise the answer where none counts
   */
  static Decision ofBatch(List<Decision> counting, Answer otherwise, List<Decision> parts) {
    Decision strictest = null;
    for (Decision one : counting) {
      strictest = strictest == null ? one : one.stricter(strictest);
    }
    if (strictest == null) {
      strictest = new Decision(null, otherwise, DecidedBy.STORE, List.of(), null);
    }
    DecidedBy decidedBy = strictest.decidedBy;
    for (Decision part : parts) {
      decidedBy = decidedBy == DecidedBy.STORE ? part.decidedBy : decidedBy;
    }
    return new Decision(
        strictest.transaction, strictest.answer, decidedBy, List.copyOf(parts), strictest.penalty);
  }

  /**
   * The stricter of two decisions: a denial before an allowance, then the longer {@link #retryIn},
   * then the smaller {@link #remaining}; this one where they are equal.
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
   * Returns whether a limit was asked. Where none was, {@link Transaction#coverage} of the {@link
   * #transaction} says why: somebody wrote that it is unlimited, or its default is missing.
   *
   * @return false if nothing limits the id, or a batch had nothing to check
   */
  public boolean limited() {
    return transaction != null
        && transaction.kind() != Transaction.Kind.ALLOW_ONLY
        && transaction.quota() != null;
  }

  /** What decided in place of the store, where it could not. */
  public enum DecidedBy {
    /** The store decided. */
    STORE,
    /**
     * The store could not; this process decided, by the share of the limit that is the {@link
     * #transaction}'s quota then.
     */
    LOCAL,
    /** The store could not, and the rule allowed: nobody knows what is left. */
    ALLOW,
    /** The store could not, and the rule denied for a second: nobody knows what is left. */
    DENY;

    private final String word = name().toLowerCase(Locale.ROOT);

    /**
     * The value as answers and headers write it.
     *
     * @return the name in lower case
     */
    public String word() {
      return word;
    }

    /**
     * Whether {@link #remaining}, {@link #resetIn} and the quota are those of a bucket.
     *
     * @return false for the rules that ask no bucket
     */
    public boolean knowsBucket() {
      return this == STORE || this == LOCAL;
    }
  }

  /**
   * Returns whether the store decided, or which {@link FailureRule} did in its place. That of a
   * batch is the strictest part's; where the store decided that one and a rule another one, the
   * rule.
   *
   * @return what decided
   */
  public DecidedBy decidedBy() {
    return decidedBy;
  }

  /**
   * Returns whether the store could not decide and a {@link FailureRule} did in its place. Unless
   * the rule is to decide locally, {@link #remaining} is 0 then, and a denial's {@link #retryIn}
   * one second.
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
   * @return the penalty, null where none was in force
   */
  public @Nullable Penalty penalty() {
    return penalty;
  }

  /**
   * The whole tokens that are left in the bucket.
   *
   * @return from 0 to the burst; {@link Long#MAX_VALUE} where no limit applied
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
   * Returns the time until the bucket is full again, from the moment of the decision.
   *
   * @return zero for a full bucket
   */
  public Duration resetIn() {
    return Duration.ofNanos(answer.resetInNanos());
  }

  /**
   * {@link #retryIn} as a number.
   *
   * @return nanoseconds, 0 for at once
   */
  public long retryInNanos() {
    return answer.retryInNanos();
  }

  /**
   * {@link #resetIn} as a number.
   *
   * @return nanoseconds, 0 for a full bucket
   */
  public long resetInNanos() {
    return answer.resetInNanos();
  }

  /**
   * The moment of the decision, by the store's clock.
   *
   * @return the moment; the epoch where no limit applied and no store was asked
   */
  public Instant decidedAt() {
    return instant(answer.nowNanos());
  }

  /**
   * The theoretical arrival time after the decision: when the bucket will be full again.
   *
   * @return {@link #decidedAt} plus {@link #resetIn}
   */
  public Instant tat() {
    return decidedAt().plusNanos(answer.resetInNanos());
  }

  /**
   * The transaction that was decided on; for a batch the one with the strictest decision.
   *
   * @return the transaction, null for a batch in which nothing was checked
   */
  public @Nullable Transaction transaction() {
    return transaction;
  }

  /**
   * The decisions of a batch, one for each transaction, in their order. A denied batch spends
   * nothing: a part that is allowed there had room, and its {@link #remaining} and {@link #resetIn}
   * are those of its bucket as it is.
   *
   * @return the decisions; this one alone if it is not a batch's
   */
  public List<Decision> parts() {
    return parts.isEmpty() && transaction != null ? List.of(this) : parts;
  }

  /**
   * Returns the message for a denied client: which limit, how much it lets through, and when to
   * come back.
   *
   * <p>The time is never too early: it is rounded up to a whole second. A part of the wait is added
   * ({@link LimitName#jitter}), different from decision to decision, so that clients don't come
   * back together.
   *
   * @return the message; empty for an allowance and for a refund
   */
  public String message() {
    Quota quota = transaction == null ? null : transaction.quota();
    boolean mustWait =
        denied() && answer.retryInNanos() > 0; // not so for a refund that gave nothing back
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
   * The value of a {@code Retry-After} header: {@link #retryIn} in whole seconds, rounded up, and
   * some more ({@link LimitName#jitter}) so that clients don't come back together. Of clients that
   * are denied at the same moment, each is told another time. As a header has no parts of a second,
   * up to one second is added where the limit's share is less; {@link #message} is for people, and
   * has the share alone.
   *
   * @return seconds, at least 1 for a denial that can be waited out
   */
  public long retryAfterSeconds() {
    long retryInNanos = answer.retryInNanos();
    long roundedUp =
        retryInNanos / NANOS_PER_SECOND + (retryInNanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    // Of one id, too, many are denied at the same moment: they differ as objects.
    return roundedUp + jitterSeconds(1, System.identityHashCode(this));
  }

  /** Whole seconds, never before the wait is over. */
  Instant retryAt() {
    Instant earliest = decidedAt().plusNanos(answer.retryInNanos());
    long roundedUp = earliest.getEpochSecond() + (earliest.getNano() > 0 ? 1 : 0);
    return Instant.ofEpochSecond(roundedUp + jitterSeconds(0, 0));
  }

  /**
   * The same whenever this decision is asked, another for another moment or id.
   *
   * @param leastSpread the seconds over which short waits are spread too, of which the limit's
   *     share is less than one
   * @param salt what else parts decisions
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
   * Turns a denial into an exception, for those who prefer one.
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
}
