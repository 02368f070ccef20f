// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Reference.Asked;
import dev.sluice.store.BucketStore.Charge;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Judges the invariant that a process forgives the debt of a bucket at most once per burst offset
 * (decision 003), and only where debts can occur. For one thread.
 */
final class DebtJudge {

  private final Map<Debt, Long> forgivenUntil = new HashMap<>();
  private final Map<Debt, Long> tried = new HashMap<>();
  private final Conditions conditions;
  private final long afterwardsNanos;

  /**
   * Creates a judge without debts.
   *
   * @param conditions whether debts can occur, and how long a call may take
   * @param afterwardsNanos how much later than a call its follow-up may be decided
   */
  DebtJudge(Conditions conditions, long afterwardsNanos) {
    this.conditions = conditions;
    this.afterwardsNanos = afterwardsNanos;
  }

  private record Debt(int process, String key, long offsetNanos) {

    @Override
    public String toString() {
      return "p" + process + " " + key + " " + offsetNanos;
    }
  }

  /** Records that a process tries to forgive a debt, which may be gone meanwhile. */
  void tried(int process, Charge charge, long nowNanos) {
    tried.put(new Debt(process, charge.key(), charge.offsetNanos()), nowNanos);
  }

  /**
   * Judges the forgiving of a debt. Returns the violation, null for none. The burst offset counts
   * from the answer that reported the debt, so a call that arrives late uses more of it, by an
   * unknown time.
   */
  @Nullable String forgiven(Asked by, Charge charge, long nowNanos, boolean clocksWereStepped) {
    Debt debt = new Debt(by.process(), charge.key(), charge.offsetNanos());
    Long until = forgivenUntil.remove(debt);
    if (by.isPrompt()) {
      forgivenUntil.put(debt, nowNanos + charge.offsetNanos());
    }
    if (!conditions.debtsAppear()) {
      return debt + ": a debt is forgiven where none can be";
    }
    boolean tooSoon = until != null && until - afterwardsNanos > nowNanos;
    return tooSoon && !clocksWereStepped
        ? debt + ": a debt is forgiven a second time before " + until
        : null;
  }

  /** Returns whether a process forgave a debt lately, or found it forgiven when it tried. */
  boolean wasForgiven(int process, String key, long offsetNanos, long nowNanos) {
    Long last = tried.get(new Debt(process, key, offsetNanos));
    return last != null && last > nowNanos - offsetNanos - conditions.timeoutNanos();
  }
}
