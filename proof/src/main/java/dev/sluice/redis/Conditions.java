// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.EnumSet;
import java.util.Set;

/**
 * The events that a plan allows: the fewer there are, the stricter are the invariants.
 *
 * @param hasFaults whether there are any faults
 * @param callsMayFail whether there are faults that may make a call fail
 * @param clientClocks whether buckets use the clocks of the processes
 * @param limitsChange whether a bucket may have two limits, at once or one after the other
 * @param debtsAppear whether a TAT may lie more than the tolerance ahead
 * @param callsOvertake whether two calls of a process may overtake each other
 * @param callersBlock whether a caller's code may block the thread that completes calls
 * @param apartPpm by how many millionths the clock of a process and that of a server may drift
 *     apart
 * @param onFailure the failure rule
 * @param onFailureOfB the failure rule of limit B
 * @param processes the number of processes
 * @param timeoutNanos the time-out of each call
 * @param shortQueues whether queues may be full
 * @param timersFail whether a timer may fail, so that calls end early
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

  /** How long a denial is remembered, plus the time of its answer. */
  static final long DENIALS_NANOS = 1_100_000_000;

  private static final int USUAL_TIMEOUT_MILLIS = 500;
  private static final int RULES = 4; // fail, allow, deny, local

  /** A sweep may be a millisecond late, and a later sweep finds a blocked thread. */
  private static final long FEW_TIMERS_NANOS = 5_000_000;

  /** Faults for which no call may fail. */
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

  /** Returns by how much clock drift may falsify a remembered denial. */
  long driftNanos() {
    return DENIALS_NANOS / 1_000_000 * apartPpm;
  }

  /** Returns how long a call may take at most. */
  long latestEndNanos() {
    return timeoutNanos + Math.max(timeoutNanos / 10, FEW_TIMERS_NANOS);
  }

  /** Returns whether a give-back is exact to the clock tick. */
  boolean isExact() {
    return !limitsChange && !clientClocks;
  }

  /** Returns the conditions of a world; the failure rules are those of the first process. */
  static Conditions of(Plan plan) {
    return of(plan, 0);
  }

  /** Returns the conditions of a process, which may have its own failure rules. */
  static Conditions of(Plan plan, int process) {
    boolean limitsChange =
        plan.setting("limitsDiffer") > 0
            || plan.has(Step.Kind.LIMITS)
            || plan.has(Step.Kind.OVERRIDES);
    boolean clientClocks = plan.setting("clientClocks") > 0;
    boolean clocksDiffer = plan.setting("clocksDiffer") > 0;
    int onFailure = (plan.setting("onFailure") + process * plan.setting("rulesDiffer")) % RULES;
    int ofB = plan.setting("onFailureOfB"); // 0: the rule of the other limits
    boolean clocksChange =
        clientClocks
            ? plan.processes() > 1 || plan.has(Step.Kind.PROCESS_CLOCK_STEP)
            : plan.has(Step.Kind.CLOCK_STEP)
                || (clocksDiffer && OTHER_CLOCKS.stream().anyMatch(plan::has));
    return new Conditions(
        plan.steps().stream().anyMatch(step -> step.kind().isFault()),
        plan.setting("shortQueues") > 0
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

  private static long timeoutNanos(Plan plan) {
    int millis = plan.setting(Plan.TIMEOUT);
    return 1_000_000L * (millis == 0 ? USUAL_TIMEOUT_MILLIS : millis);
  }
}
