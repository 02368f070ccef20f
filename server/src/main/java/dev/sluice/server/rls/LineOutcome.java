// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.server.rls.Lines.Line;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of a line. Immutable.
 *
 * @param line the line
 * @param over whether it denies
 * @param remaining tokens that are left
 * @param retryInNanos how long to wait; 0 where that helps nobody
 * @param resetInNanos how long until the bucket is full
 * @param decision what the limiter said; null where it was not asked
 */
record LineOutcome(
    Line line,
    boolean over,
    long remaining,
    long retryInNanos,
    long resetInNanos,
    @Nullable Decision decision) {

  /** Of a limit of zero. */
  static LineOutcome closed(Line line) {
    return new LineOutcome(line, true, 0, 0, 0, null);
  }

  /**
   * Of what the limiter said.
   *
   * @param spent whether the cost was taken if it was there; otherwise it is still in the bucket
   */
  static LineOutcome of(Line line, Decision decision, boolean spent) {
    Quota quota = line.quota();
    if (line.neverFits() || quota == null) {
      return new LineOutcome(
          line, true, decision.remaining(), 0, decision.resetInNanos(), decision);
    }
    boolean untouched = decision.allowed() && !decision.degraded() && (line.isProbe() || !spent);
    long cost = untouched ? Math.max(1, line.cost()) : 0;
    return new LineOutcome(
        line,
        decision.denied(),
        decision.remaining() + cost,
        decision.denied() ? decision.retryInNanos() : 0,
        Math.max(0, decision.resetInNanos() - quota.incrementNanos(cost)),
        decision);
  }

  /**
   * Of hits that were given back: nobody is refused for that, whether or not the bucket lacked any.
   */
  static LineOutcome refunded(Line line, Decision decision) {
    return new LineOutcome(
        line, false, line.remaining(decision), 0, decision.resetInNanos(), decision);
  }

  /** Whether it refuses the request; a trial refuses nobody. */
  boolean refuses() {
    return over && !line.isShadow();
  }

  /** When to come back, where that helps: whole seconds. */
  long retryAfterSeconds() {
    return Objects.requireNonNull(decision).retryAfterSeconds();
  }

  /** The store, or the failure rule that decided in its place. */
  DecidedBy decidedBy() {
    return decision == null ? DecidedBy.STORE : decision.decidedBy();
  }

  /** Whether a rule decided that asks no bucket: nobody knows what is left. */
  boolean isBlind() {
    return !decidedBy().knowsBucket();
  }

  /** The quota that it was held to: a share of the line's where this process decided alone. */
  @Nullable Quota quota() {
    Decision made = decision;
    Transaction transaction =
        made != null && made.decidedBy() == DecidedBy.LOCAL ? made.transaction() : null;
    return transaction == null ? line.quota() : transaction.quota();
  }

  /**
   * The one that a status tells: a refusal before a pass, what is in force before a trial, then the
   * smaller remaining. Clients are held to no trial.
   */
  LineOutcome stricter(LineOutcome other) {
    if (refuses() != other.refuses()) {
      return refuses() ? this : other;
    }
    if (line.isShadow() != other.line.isShadow()) {
      return line.isShadow() ? other : this;
    }
    return other.remaining < remaining ? other : this;
  }
}
