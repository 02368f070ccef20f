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
    LOCAL,
    LOCAL_AUTO
  }

  private static final FailureRule FAIL = new FailureRule(Kind.FAIL, 1);
  private static final FailureRule ALLOW = new FailureRule(Kind.ALLOW, 1);
  private static final FailureRule DENY = new FailureRule(Kind.DENY, 1);
  private static final FailureRule LOCAL_AUTO = new FailureRule(Kind.LOCAL_AUTO, 0);

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
    return new FailureRule(Kind.LOCAL, positive(processes));
  }

  /**
   * Returns the rule {@link #local} for the number of processes that {@link
   * Limiter.Builder#processes} supplies, such as that of a {@link Fleet}. While that number is
   * unknown, the rule denies.
   *
   * @return the rule
   */
  public static FailureRule localAuto() {
    return LOCAL_AUTO;
  }

  /**
   * Returns the rule {@link #local} for the number of processes that {@link
   * Limiter.Builder#processes} supplies.
   *
   * @param processesIfUnknown how many processes share the limits while that number is unknown, at
   *     least 1
   * @return the rule
   */
  public static FailureRule localAuto(int processesIfUnknown) {
    return new FailureRule(Kind.LOCAL_AUTO, positive(processesIfUnknown));
  }

  private static int positive(int processes) {
    if (processes < 1) {
      throw new IllegalArgumentException("processes: found " + processes + ", expected at least 1");
    }
    return processes;
  }

  Kind kind() {
    return kind;
  }

  int processes() {
    return processes;
  }

  /**
   * Returns whether this rule divides by the number of processes that {@link
   * Limiter.Builder#processes} supplies.
   *
   * @return true for {@link #localAuto}
   */
  public boolean isAuto() {
    return kind == Kind.LOCAL_AUTO;
  }

  /**
   * Returns the rule that decides while a number of processes share the limits.
   *
   * @param processesSeen the number; 0 while it is unknown
   * @return for {@link #localAuto} either {@link #local} or {@link #deny}; else this rule
   */
  public FailureRule during(int processesSeen) {
    if (kind != Kind.LOCAL_AUTO) {
      return this;
    }
    int divisor = processesSeen > 0 ? processesSeen : processes;
    return divisor > 0 ? local(divisor) : DENY;
  }

  @Override
  public String toString() {
    return switch (kind) {
      case FAIL -> "fail";
      case ALLOW -> "allow";
      case DENY -> "deny";
      case LOCAL -> "local, a share of 1/" + processes;
      case LOCAL_AUTO -> "local, a share for each process";
    };
  }
}
