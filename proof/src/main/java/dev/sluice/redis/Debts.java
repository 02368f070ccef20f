// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.Reference.Asked;
import dev.sluice.store.Charge;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The debts that processes forgave: once for a process, a bucket and a burst offset within the time
 * of that offset (decision 003). For one thread.
 */
final class Debts {

  private final Map<Debt, Long> forgivenUntil = new HashMap<>();
  private final Map<Debt, Long> tried = new HashMap<>();
  private final Conditions conditions;
  private final long afterwardsNanos;

  /**
   * No debt yet.
   *
   * @param conditions whether there can be any, and how long a call may be under way
   * @param afterwardsNanos how much later a second call that follows a first may be decided on
   */
  Debts(Conditions conditions, long afterwardsNanos) {
    this.conditions = conditions;
    this.afterwardsNanos = afterwardsNanos;
  }

  private record Debt(int process, String key, long offsetNanos) {

    @Override
    public String toString() {
      return "p" + process + " " + key + " " + offsetNanos;
    }
  }

  /** A process tries to forgive a debt, which may be gone by now. */
  void tried(int process, Charge charge, long nowNanos) {
    tried.put(new Debt(process, charge.key(), charge.offsetNanos()), nowNanos);
  }

  /**
   * Returns what is wrong with forgiving a debt, null for nothing. Its time is counted from the
   * answer that told the debt, so a call that arrives late is later than that, nobody knows by how
   * much.
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
