// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.internal.text.SafeText;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Decides what happens to a check or spend if the store cannot decide.
 *
 * <p>A decision made by a rule is {@link Decision#degraded}. No rule applies to refunds and resets:
 * they fail if the store fails. The rule also decides if the calling thread is interrupted during
 * the store call; the thread stays interrupted. Immutable and thread-safe.
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

  private static final Pattern LOCAL = Pattern.compile("local:(auto,)?([1-9][0-9]{0,8})");

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
   * Returns the default rule, which throws the store's exception to the caller.
   *
   * @return the rule
   */
  public static FailureRule fail() {
    return FAIL;
  }

  /**
   * Returns the rule that allows the request, for limits that are only a convenience.
   *
   * @return the rule
   */
  public static FailureRule allow() {
    return ALLOW;
  }

  /**
   * Returns the rule that denies the request and asks for a retry after a second, for limits that
   * protect something critical.
   *
   * @return the rule
   */
  public static FailureRule deny() {
    return DENY;
  }

  /**
   * Returns the rule that decides in this process's memory, with a share of each limit: the limit's
   * burst and rate divided by the number of processes. The share of a burst is at least one token;
   * a cost above this share is denied. The memory has room for 1,000,000 buckets that are not full;
   * without room for a request's buckets, the rule throws a {@code StoreException}.
   *
   * @param processes the number of processes that share the limits, at least 1
   * @return the rule
   */
  public static FailureRule local(int processes) {
    return new FailureRule(Kind.LOCAL, positive(processes));
  }

  /**
   * Returns the rule {@link #local} for the number of processes that {@link
   * Limiter.Builder#processes} supplies. While the number of processes is unknown, the rule denies
   * every request.
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
   * @param processesIfUnknown the number of processes to assume while the real number is unknown,
   *     at least 1
   * @return the rule
   */
  public static FailureRule localAuto(int processesIfUnknown) {
    return new FailureRule(Kind.LOCAL_AUTO, positive(processesIfUnknown));
  }

  /**
   * Returns the rule that a text names, such as a setting or a {@link #toString}.
   *
   * @param text {@code fail}, {@code allow}, {@code deny}, {@code local:4} for {@code local(4)},
   *     {@code local:auto}, or {@code local:auto,4} for {@code localAuto(4)}
   * @return the rule
   * @throws IllegalArgumentException if the text names no rule
   */
  public static FailureRule parse(String text) {
    return switch (text) {
      case "fail" -> FAIL;
      case "allow" -> ALLOW;
      case "deny" -> DENY;
      case "local:auto" -> LOCAL_AUTO;
      default -> {
        Matcher local = LOCAL.matcher(text);
        if (!local.matches()) {
          throw new IllegalArgumentException(
              "found %s, expected fail, allow, deny, local:N for N processes that share the limits, such as local:4, or local:auto[,N]"
                  .formatted(SafeText.quote(text)));
        }
        int processes = Integer.parseInt(local.group(2));
        yield local.group(1) == null ? local(processes) : localAuto(processes);
      }
    };
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
   * Returns whether this rule divides limits by the number of processes that {@link
   * Limiter.Builder#processes} supplies.
   *
   * @return true for {@link #localAuto}
   */
  public boolean isAuto() {
    return kind == Kind.LOCAL_AUTO;
  }

  /**
   * Returns the rule to apply for a given number of processes.
   *
   * @param processesSeen the number of processes; 0 while the number is unknown
   * @return {@link #local} or {@link #deny} for the rule {@link #localAuto}, otherwise this rule
   */
  public FailureRule during(int processesSeen) {
    if (kind != Kind.LOCAL_AUTO) {
      return this;
    }
    int divisor = processesSeen > 0 ? processesSeen : processes;
    return divisor > 0 ? local(divisor) : DENY;
  }

  /** Returns the rule's text, which {@link #parse} reads. */
  @Override
  public String toString() {
    return switch (kind) {
      case FAIL -> "fail";
      case ALLOW -> "allow";
      case DENY -> "deny";
      case LOCAL -> "local:" + processes;
      case LOCAL_AUTO -> "local:auto" + (processes == 0 ? "" : "," + processes);
    };
  }
}
