// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.EnumSet;
import java.util.Set;

/**
 * The kinds of events that can happen when a plan runs. If fewer kinds of events can happen, the
 * checks of the run are stricter.
 *
 * @param hasFaults whether the plan has any fault
 * @param callsMayFail whether a fault of the plan, or a short time-out, can make a call fail
 * @param clientClocks whether buckets use the clocks of the processes
 * @param limitsChange whether a bucket can have two limits, at the same time or in succession
 * @param debtsAppear whether a TAT can be further ahead of the bucket's clock than the tolerance
 * @param callsOvertake whether a server can receive two calls of a process in the wrong order
 * @param callersBlock whether a caller's code can block the thread that completes calls
 * @param apartPpm the largest relative drift between a process's clock and a server's clock, in
 *     parts per million
 * @param onFailure the failure rule of all limits except B, as numbered in a plan
 * @param onFailureOfB the failure rule of the simulation's limit B
 * @param processes the number of processes
 * @param timeoutNanos the time-out of each call
 * @param shortQueues whether queues can be full
 * @param timersFail whether a timer can fail, so that calls end early
 */
record Conditions(
    boolean hasFaults,
    boolean callsMayFail,
    boolean clientClocks,
    boolean limitsChange,
    boolean debtsAppear,
    boolean callsOvertake,
    boolean callersBlock,
    long apartPpm,
    int onFailure,
    int onFailureOfB,
    int processes,
    long timeoutNanos,
    boolean shortQueues,
    boolean timersFail) {

  /** The longest time for which a process remembers a denial, plus the denial's travel time. */
  static final long DENIALS_NANOS = 1_100_000_000;

  private static final int USUAL_TIMEOUT_MILLIS = 500;
  private static final int RULES = 4; // number of failure rules: fail, allow, deny, local

  /** The longest delay with which the store notices that a call has timed out. */
  private static final long FEW_TIMERS_NANOS = 5_000_000;

  /** Faults that cannot make a call fail. */
  private static final Set<Step.Kind> HARMLESS =
      EnumSet.of(
          Step.Kind.OBSERVER_THROWS,
          Step.Kind.LIMITER_OBSERVER_THROWS,
          Step.Kind.FORGET_SCRIPT,
          Step.Kind.LAG,
          Step.Kind.CLOCK_STEP,
          Step.Kind.PROCESS_CLOCK_STEP);

  private static final Set<Step.Kind> OTHER_CLOCKS =
      EnumSet.of(Step.Kind.FAIL_OVER, Step.Kind.MOVE_SLOTS);

  /** Returns the largest clock drift within the time for which a process remembers a denial. */
  long driftNanos() {
    return DENIALS_NANOS / 1_000_000 * apartPpm;
  }

  /** Returns the longest duration of a call. */
  long latestEndNanos() {
    return timeoutNanos + Math.max(timeoutNanos / 10, FEW_TIMERS_NANOS);
  }

  /** Returns whether each refund returns exactly the tokens that have not refilled yet. */
  boolean isExact() {
    return !limitsChange && !clientClocks;
  }

  /** Returns the conditions of a plan, with the failure rules of the first process. */
  static Conditions of(Plan plan) {
    return of(plan, 0);
  }

  /** Returns the conditions of a plan, with the failure rules of one process. */
  static Conditions of(Plan plan, int process) {
    boolean limitsChange =
        plan.setting("limitsDiffer") > 0
            || plan.has(Step.Kind.LIMITS)
            || plan.has(Step.Kind.OVERRIDES);
    boolean clientClocks = plan.setting("clientClocks") > 0;
    boolean clocksDiffer = plan.setting("clocksDiffer") > 0;
    int onFailure = (plan.setting("onFailure") + process * plan.setting("rulesDiffer")) % RULES;
    int ofB = plan.setting("onFailureOfB"); // 0: limit B has the rule of all other limits
    boolean clocksChange =
        clientClocks
            ? plan.processes() > 1 || plan.has(Step.Kind.PROCESS_CLOCK_STEP)
            : plan.has(Step.Kind.CLOCK_STEP)
                || (clocksDiffer && OTHER_CLOCKS.stream().anyMatch(plan::has));
    return new Conditions(
        plan.steps().stream().anyMatch(step -> step.kind().isFault()),
        plan.setting("shortQueues") > 0
            || canBeLate(plan)
            || plan.steps().stream()
                .anyMatch(step -> step.kind().isFault() && !HARMLESS.contains(step.kind())),
        clientClocks,
        limitsChange,
        limitsChange || clocksChange,
        plan.setting("overtaking") > 0 || plan.topology() == Fleet.Topology.DATABASE,
        plan.has(Step.Kind.BLOCK),
        (clocksDiffer ? Fleet.MOST_DRIFT_PPM : 0)
            + (plan.setting("pacesDiffer") > 0 ? Fleet.MOST_PACE_PPM : 0),
        onFailure,
        ofB > 0 ? ofB - 1 : onFailure,
        plan.processes(),
        timeoutNanos(plan),
        plan.setting("shortQueues") > 0,
        plan.has(Step.Kind.TIMER_THROWS));
  }

  /**
   * Returns whether a call can time out without a fault. If several processes create the same rows
   * of a database at once, a store sends the batches of a call one by one. A short time-out can end
   * before the last of them.
   */
  private static boolean canBeLate(Plan plan) {
    return plan.topology() == Fleet.Topology.DATABASE
        && plan.processes() > 1
        && timeoutNanos(plan) < USUAL_TIMEOUT_MILLIS * 1_000_000L;
  }

  private static long timeoutNanos(Plan plan) {
    int millis = plan.setting(Plan.TIMEOUT);
    return 1_000_000L * (millis == 0 ? USUAL_TIMEOUT_MILLIS : millis);
  }
}
