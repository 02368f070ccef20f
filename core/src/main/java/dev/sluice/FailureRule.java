// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

/**
 * The outcome of a check or spend when the store could not decide.
 *
 * <p>Such a decision is {@link Decision#degraded}. Refunds and resets have no rule: they fail. The
 * rule also decides for a caller that is interrupted while it waits for the store; the interrupt
 * stays set. Immutable and thread-safe.
 *
 * @see Limiter.Builder#onFailure(FailureRule)
 */
public final class FailureRule {

  enum Kind {
    FAIL,
    ALLOW,
    DENY,
    LOCAL
  }

  private static final FailureRule FAIL = new FailureRule(Kind.FAIL, 1);
  private static final FailureRule ALLOW = new FailureRule(Kind.ALLOW, 1);
  private static final FailureRule DENY = new FailureRule(Kind.DENY, 1);

  private final Kind kind;
  private final int processes;

  private FailureRule(Kind kind, int processes) {
    this.kind = kind;
    this.processes = processes;
  }

  /**
   * Returns the default rule, by which the caller gets the store's exception.
   *
   * @return the rule
   */
  public static FailureRule fail() {
    return FAIL;
  }

  /**
   * Returns the rule that lets the request pass, for limits that protect convenience.
   *
   * @return the rule
   */
  public static FailureRule allow() {
    return ALLOW;
  }

  /**
   * Returns the rule that denies the request for a second, for limits that protect something
   * critical.
   *
   * @return the rule
   */
  public static FailureRule deny() {
    return DENY;
  }

  /**
   * Returns the rule that decides in this process's memory, with a share of each limit: burst and
   * rate divided by the number of processes. The share of a burst is at least one token; a cost
   * above the share of the burst is denied.
   *
   * @param processes how many processes share the limits, at least 1
   * @return the rule
   */
  public static FailureRule local(int processes) {
    if (processes < 1) {
      throw new IllegalArgumentException("processes: found " + processes + ", expected at least 1");
    }
    return new FailureRule(Kind.LOCAL, processes);
  }

  Kind kind() {
    return kind;
  }

  int processes() {
    return processes;
  }

  @Override
  public String toString() {
    return switch (kind) {
      case FAIL -> "fail";
      case ALLOW -> "allow";
      case DENY -> "deny";
      case LOCAL -> "local, a share of 1/" + processes;
    };
  }
}
