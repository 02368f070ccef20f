// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Reference.Asked;
import dev.sluice.store.BucketStore.Charge;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks that a process forgives a bucket's debt at most once within the burst offset (decision
 * 003), and only in runs that can cause debts. Not thread-safe.
 */
final class DebtJudge {

  private final Map<Debt, Long> forgivenUntil = new HashMap<>();
  private final Map<Debt, Long> tried = new HashMap<>();
  private final Conditions conditions;
  private final long afterwardsNanos;

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

  /** Records that a process tries to forgive a debt, which may no longer exist. */
  void tried(int process, Charge charge, long nowNanos) {
    tried.put(new Debt(process, charge.key(), charge.offsetNanos()), nowNanos);
  }

  /**
   * Checks a call that forgives a debt, and returns the violation, or null. The process does not
   * forgive the debt again until one burst offset after the answer that reported the debt. A late
   * call is not checked, because the time of the answer that reported the debt is unknown.
   */
  @Nullable String forgiven(Asked by, Charge charge, long nowNanos, boolean clocksWereStepped) {
    Debt debt = new Debt(by.process(), charge.key(), charge.offsetNanos());
    Long until = forgivenUntil.remove(debt);
    if (by.isPrompt()) {
      forgivenUntil.put(debt, nowNanos + charge.offsetNanos());
    }
    if (!conditions.debtsAppear()) {
      return debt + ": a debt was forgiven, though nothing in this simulation can cause debts";
    }
    boolean tooSoon = until != null && until - afterwardsNanos > nowNanos;
    return tooSoon && !clocksWereStepped
        ? debt + ": a debt was forgiven a second time before " + until
        : null;
  }

  /** Returns whether a process recently tried to forgive a debt, with or without success. */
  boolean wasForgiven(int process, String key, long offsetNanos, long nowNanos) {
    Long last = tried.get(new Debt(process, key, offsetNanos));
    return last != null && last > nowNanos - offsetNanos - conditions.timeoutNanos();
  }
}
