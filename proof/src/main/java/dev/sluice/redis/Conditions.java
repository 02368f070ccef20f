// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.EnumSet;
import java.util.Set;

/**
 * The events that a plan allows: the fewer there are, the stricter the invariants are. Immutable.
 *
 * @param hasFaults whether anything goes wrong at all
 * @param callsMayFail whether anything may go wrong for which a call fails
 * @param clientClocks whether buckets go by the clocks of the processes
 * @param limitsChange whether two limits may be in force on one bucket, or one after the other
 * @param debtsAppear whether a TAT may lie further ahead than its bucket is deep
 * @param callsOvertake whether two calls of a process may change places on their way
 * @param callersBlock whether a caller's code holds up the thread that tells others
 * @param apartPpm by how many millionths the clock of a process and that of a server may drift
 *     apart
 * @param onFailure which failure rule there is
 * @param onFailureOfB the one that the limit B has
 * @param processes how many processes there are
 * @param timeoutNanos the time-out of each call
 * @param shortQueues whether queues may be full
 * @param timersFail whether a timer may fail, so that calls end before their time
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

  /** How long a denial is remembered, and the time that its answer took. */
  static final long DENIALS_NANOS = 1_100_000_000;

  private static final int USUAL_TIMEOUT_MILLIS = 500;
  private static final int RULES = 4; // fail, allow, deny, local

  /** A sweep may come a millisecond late, and a thread that is stuck is found in another one. */
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

  /** Returns by how much a denial from memory may be wrong, since clocks drift apart. */
  long driftNanos() {
    return DENIALS_NANOS / 1_000_000 * apartPpm;
  }

  /** Returns how long after its begin a call has ended. */
  long latestEndNanos() {
    return timeoutNanos + Math.max(timeoutNanos / 10, FEW_TIMERS_NANOS);
  }

  /** Returns whether what is given back can be told to the tick. */
  boolean isExact() {
    return !limitsChange && !clientClocks;
  }

  /** Returns those of a world; its rules are those of the first process. */
  static Conditions of(Plan plan) {
    return of(plan, 0);
  }

  /** Returns those of a process, which may have failure rules of its own. */
  static Conditions of(Plan plan, int process) {
    boolean limitsChange =
        plan.setting("limitsDiffer") > 0
            || plan.has(Step.Kind.LIMITS)
            || plan.has(Step.Kind.OVERRIDES);
    boolean clientClocks = plan.setting("clientClocks") > 0;
    boolean clocksDiffer = plan.setting("clocksDiffer") > 0;
    int onFailure = (plan.setting("onFailure") + process * plan.setting("rulesDiffer")) % RULES;
    int ofB = plan.setting("onFailureOfB"); // 0: as the others
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
        plan.setting("overtaking") > 0,
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
