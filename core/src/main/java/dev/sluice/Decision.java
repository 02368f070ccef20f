package dev.sluice;

import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.store.Reading;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
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
  private static final long DEGRADED_RETRY_NANOS = NANOS_PER_SECOND;

  private final boolean allowed;
  private final @Nullable Terms terms; // with id and cost, for a decision on one spend or check
  private final @Nullable String id;
  private final long cost;
  private @Nullable Transaction transaction; // made of those when it is asked for
  private final long remaining;
  private final long retryInNanos;
  private final long resetInNanos;
  private final long nowNanos;
  private final boolean degraded;
  private final List<Decision> parts;

  private Decision(
      boolean allowed,
      @Nullable Transaction transaction,
      long remaining,
      long retryInNanos,
      long resetInNanos,
      long nowNanos,
      boolean degraded) {
    this.allowed = allowed;
    this.terms = null;
    this.id = null;
    this.cost = 0;
    this.transaction = transaction;
    this.remaining = remaining;
    this.retryInNanos = retryInNanos;
    this.resetInNanos = resetInNanos;
    this.nowNanos = nowNanos;
    this.degraded = degraded;
    this.parts = List.of();
  }

  /** On one spend or check, without a transaction: the hot path makes this object and no other. */
  private Decision(
      Terms terms,
      Quota quota,
      String id,
      long cost,
      long aheadNanos,
      long roomNanos,
      long nowNanos) {
    long incrementNanos = quota.incrementNanos(cost);
    this.allowed = roomNanos >= 0;
    this.terms = terms;
    this.id = id;
    this.cost = cost;
    this.resetInNanos = allowed ? aheadNanos + incrementNanos : aheadNanos;
    this.remaining = Gcra.remaining(resetInNanos, quota.intervalNanos(), quota.offsetNanos());
    this.retryInNanos = Gcra.retryInNanos(roomNanos, incrementNanos);
    this.nowNanos = nowNanos;
    this.degraded = false;
    this.parts = List.of();
  }

  private Decision(Decision strictest, List<Decision> parts) {
    this.allowed = strictest.allowed;
    this.terms = strictest.terms;
    this.id = strictest.id;
    this.cost = strictest.cost;
    this.transaction = strictest.transaction;
    this.remaining = strictest.remaining;
    this.retryInNanos = strictest.retryInNanos;
    this.resetInNanos = strictest.resetInNanos;
    this.nowNanos = strictest.nowNanos;
    this.degraded = strictest.degraded || parts.stream().anyMatch(part -> part.degraded);
    this.parts = List.copyOf(parts);
  }

  /** What a spend, or a check of one, comes to. */
  static Decision ofSpend(Transaction transaction, Quota quota, Reading reading) {
    long offset = quota.offsetNanos();
    long increment = quota.incrementNanos(transaction.cost());
    long ahead = Gcra.aheadNanos(reading.nowNanos(), reading.tatNanos());
    long room = Gcra.roomNanos(ahead, increment, offset);
    boolean allowed = room >= 0;
    long aheadAfter = allowed ? ahead + increment : ahead;
    return new Decision(
        allowed,
        transaction,
        Gcra.remaining(aheadAfter, quota.intervalNanos(), offset),
        Gcra.retryInNanos(room, increment),
        aheadAfter,
        reading.nowNanos(),
        false);
  }

  /** The same for a spend or check of an id under the terms that hold for it. */
  static Decision ofSpend(
      Terms terms, String id, long incrementNanos, long nowNanos, long tatNanos) {
    Quota quota = Objects.requireNonNull(terms.quota());
    long ahead = Gcra.aheadNanos(nowNanos, tatNanos);
    long room = Gcra.roomNanos(ahead, incrementNanos, quota.offsetNanos());
    long cost = incrementNanos / quota.intervalNanos();
    return new Decision(terms, quota, id, cost, ahead, room, nowNanos);
  }

  /** What a refund comes to: allowed if something was given back. */
  static Decision ofRefund(
      Transaction transaction, Quota quota, long refundNanos, Reading reading) {
    long offset = quota.offsetNanos();
    long ahead = Gcra.aheadNanos(reading.nowNanos(), reading.tatNanos());
    long aheadAfter = Gcra.aheadAfterRefundNanos(ahead, refundNanos);
    return new Decision(
        aheadAfter != ahead,
        transaction,
        Gcra.remaining(aheadAfter, quota.intervalNanos(), offset),
        0,
        aheadAfter,
        reading.nowNanos(),
        false);
  }

  /** Nothing stood in the way: nothing limits the id, or there was nothing to check. */
  static Decision unlimited(@Nullable Transaction transaction) {
    return new Decision(true, transaction, Long.MAX_VALUE, 0, 0, 0, false);
  }

  /** A refund where nothing limits the id: there is no bucket to give anything back to. */
  static Decision nothingRefunded(@Nullable Transaction transaction) {
    return new Decision(false, transaction, Long.MAX_VALUE, 0, 0, 0, false);
  }

  /** What a failure rule says without any bucket; a denial sends the client away for a second. */
  static Decision degraded(Transaction transaction, boolean allowed, long nowNanos) {
    long waitNanos = allowed ? 0 : DEGRADED_RETRY_NANOS;
    return new Decision(allowed, transaction, 0, waitNanos, waitNanos, nowNanos, true);
  }

  /** This decision, of a bucket that stands in for the store's. */
  Decision asDegraded() {
    return new Decision(
        allowed, transaction(), remaining, retryInNanos, resetInNanos, nowNanos, true);
  }

  /** This decision of a spend that fits and did not happen, as another one denied the batch. */
  Decision unspent(Transaction asked, Quota quota) {
    long aheadNanos = resetInNanos - quota.incrementNanos(asked.cost());
    return new Decision(
        true,
        asked,
        Gcra.remaining(aheadNanos, quota.intervalNanos(), quota.offsetNanos()),
        0,
        aheadNanos,
        nowNanos,
        degraded);
  }

  /** The decision of a batch: the strictest that counts; of equals the last, as in Boulder. */
  static Decision ofBatch(List<Decision> counting, List<Decision> parts) {
    Decision strictest = unlimited(null);
    for (Decision decision : counting) {
      strictest = decision.stricter(strictest);
    }
    return new Decision(strictest, parts);
  }

  /**
   * The stricter of two decisions: a denial before an allowance, then the longer {@link #retryIn},
   * then the smaller {@link #remaining}; this one where they are equal.
   *
   * @param other the decision to compare with
   * @return this or the other
   */
  public Decision stricter(Decision other) {
    return other.isStricterThan(this) ? other : this;
  }

  private boolean isStricterThan(Decision other) {
    if (allowed != other.allowed) {
      return !allowed;
    }
    if (retryInNanos != other.retryInNanos) {
      return retryInNanos > other.retryInNanos;
    }
    return remaining < other.remaining;
  }

  /**
   * Whether the request may pass; for a refund, whether anything was given back.
   *
   * @return true if allowed
   */
  public boolean allowed() {
    return allowed;
  }

  /**
   * Whether the request must not pass.
   *
   * @return true if denied
   */
  public boolean denied() {
    return !allowed;
  }

  /**
   * Whether a limit was asked. Where none was, {@link Transaction#coverage} of the {@link
   * #transaction} says why: somebody wrote that it is unlimited, or its default is missing.
   *
   * @return false if nothing limits the id, or a batch had nothing to check
   */
  public boolean limited() {
    if (terms != null) {
      return terms.quota() != null;
    }
    return transaction != null
        && transaction.kind() != Transaction.Kind.ALLOW_ONLY
        && transaction.quota() != null;
  }

  /**
   * Whether the store could not decide and a {@link FailureRule} did in its place. Unless the rule
   * is to decide locally, {@link #remaining} is 0 then, and a denial's {@link #retryIn} one second.
   *
   * @return true if the store, or for a batch one of its parts, was not asked or did not answer
   */
  public boolean degraded() {
    return degraded;
  }

  /**
   * The whole tokens that are left in the bucket.
   *
   * @return from 0 to the burst; {@link Long#MAX_VALUE} where no limit applied
   */
  public long remaining() {
    return remaining;
  }

  /**
   * How long to wait until the same cost can be spent (again), from the moment of the decision.
   *
   * @return zero for at once
   */
  public Duration retryIn() {
    return Duration.ofNanos(retryInNanos);
  }

  /**
   * How long it takes until the bucket is full again, from the moment of the decision.
   *
   * @return zero for a full bucket
   */
  public Duration resetIn() {
    return Duration.ofNanos(resetInNanos);
  }

  /**
   * {@link #retryIn} as a number.
   *
   * @return nanoseconds, 0 for at once
   */
  public long retryInNanos() {
    return retryInNanos;
  }

  /**
   * {@link #resetIn} as a number.
   *
   * @return nanoseconds, 0 for a full bucket
   */
  public long resetInNanos() {
    return resetInNanos;
  }

  /**
   * The moment of the decision, by the store's clock.
   *
   * @return the moment; the epoch where no limit applied and no store was asked
   */
  public Instant decidedAt() {
    return instant(nowNanos);
  }

  /**
   * The theoretical arrival time after the decision: when the bucket will be full again.
   *
   * @return {@link #decidedAt} plus {@link #resetIn}
   */
  public Instant tat() {
    return decidedAt().plusNanos(resetInNanos);
  }

  /**
   * The transaction that was decided on; for a batch the one with the strictest decision.
   *
   * @return the transaction, null for a batch in which nothing was checked
   */
  public @Nullable Transaction transaction() {
    Transaction made = transaction; // read once: another thread may be about to set it
    if (made == null && terms != null && id != null) {
      made = Transaction.of(terms, id).withCost(cost);
      transaction = made;
    }
    return made;
  }

  /**
   * The decisions of a batch, one for each transaction, in their order. A denied batch spends
   * nothing: a part that is allowed there had room, and its {@link #remaining} and {@link #resetIn}
   * are those of its bucket as it is.
   *
   * @return the decisions; this one alone if it is not a batch's
   */
  public List<Decision> parts() {
    return parts.isEmpty() && transaction() != null ? List.of(this) : parts;
  }

  /**
   * What to tell a denied client: which limit, how much it lets through, and when to come back.
   *
   * <p>The time is never too early: it is rounded up to a whole second, and a part of the wait is
   * added ({@link LimitName#jitter}), different from decision to decision, so that clients don't
   * come back together.
   *
   * @return the message; empty for an allowance and for a refund
   */
  public String message() {
    Transaction transaction = transaction();
    Quota quota = transaction == null ? null : transaction.quota();
    boolean mustWait = !allowed && retryInNanos > 0; // not so for a refund that gave nothing back
    if (!mustWait || transaction == null || quota == null) {
      return "";
    }
    if (degraded) {
      return "the limit %s can not be decided on at the moment, retry after %s"
          .formatted(transaction.name(), SECONDS.format(retryAt()));
    }
    String help = transaction.name().helpLink();
    return "%s, retry after %s%s"
        .formatted(
            transaction.name().denial(quota, transaction.id()),
            SECONDS.format(retryAt()),
            help == null ? "" : ": see " + help);
  }

  /**
   * The value of a {@code Retry-After} header: {@link #retryIn} in whole seconds, rounded up, and
   * some more ({@link LimitName#jitter}) so that clients don't come back together: of clients that
   * are denied at the same moment, each is told another time. As a header has no parts of a second,
   * up to one second is added where the limit's share is less; {@link #message} is for people, and
   * has the share alone.
   *
   * @return seconds, at least 1 for a denial that can be waited out
   */
  public long retryAfterSeconds() {
    long roundedUp =
        retryInNanos / NANOS_PER_SECOND + (retryInNanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    // Of one id, too, many are denied at the same moment: they differ as objects.
    return roundedUp + jitterSeconds(1, System.identityHashCode(this));
  }

  /** Whole seconds, never before the wait is over. */
  Instant retryAt() {
    Instant earliest = decidedAt().plusNanos(retryInNanos);
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
    Transaction transaction = transaction();
    if (transaction == null || retryInNanos == 0 || transaction.name().jitter() == 0) {
      return 0;
    }
    long share = (long) (transaction.name().jitter() * retryInNanos / NANOS_PER_SECOND);
    long mixed = (nowNanos ^ Long.rotateLeft(resetInNanos, 32)) * 0x9E3779B97F4A7C15L;
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
            allowed ? "allowed" : "denied",
            degraded ? " (degraded)" : "",
            remaining,
            retryIn(),
            resetIn(),
            transaction());
  }
}
