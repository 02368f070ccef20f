// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.redis.SimulatedConnection.Cut;
import dev.sluice.redis.World.Actor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One run of a plan, which ends early at the first violation of an invariant. */
final class Simulation {

  private static final long MILLI = 1_000_000;
  private static final List<Cut> CUTS = List.of(Cut.values());
  private static final long RECOVERY_NANOS = 6_000 * MILLI;
  // the longest time for a reservation and its later cancellation
  private static final long LONGEST_CALL_NANOS = 750 * MILLI;

  private static final long LONGEST_MEMORY_NANOS = 61_000 * MILLI;
  private static final int MOST_ROUNDS = 200; // of calls that each remove two old entries
  private static final long LONGEST_WAIT_NANOS = 1_500 * MILLI; // a wait with two round trips

  private final Plan plan;
  private final World world;
  private final Fleet fleet;
  private final List<SimulatedProcess> processes = new ArrayList<>();
  private final boolean hasFaults;

  private Simulation(Plan plan, World world) {
    this.plan = plan;
    this.world = world;
    Conditions conditions = Conditions.of(plan);
    this.hasFaults = conditions.hasFaults();
    long afewMessages = 12 * plan.latencyNanos() + 2 * MILLI;
    Reference reference =
        new Reference(world, conditions, hasFaults ? conditions.timeoutNanos() : afewMessages);
    Dice dice = new Dice(plan.seed());
    this.fleet =
        new Fleet(
            plan.topology(),
            world,
            reference,
            dice.fork(1),
            plan.setting("clocksDiffer") > 0,
            conditions.apartPpm());
    reference.watch(fleet);
    for (int i = 0; i < plan.processes(); i++) {
      processes.add(new SimulatedProcess(i, plan, world, fleet, reference, dice.fork(100 + i)));
    }
  }

  /**
   * The result of a run.
   *
   * @param violation the first violation; null if there is none
   * @param history the logged events; empty if the run kept no history
   */
  record Result(@Nullable String violation, long steps, List<String> history) {}

  /** Runs a plan. An exception outside an event also counts as a violation. */
  static Result run(Plan plan, boolean keepsHistory) {
    World world = new World(keepsHistory);
    try {
      Simulation simulation = new Simulation(plan, world);
      try {
        simulation.run();
      } finally {
        simulation.processes.forEach(SimulatedProcess::endThreads);
      }
    } catch (Throwable e) {
      world.violated(() -> "the run threw " + World.text(e));
    }
    return new Result(world.violation(), world.steps(), world.history());
  }

  private void run() {
    Actor callers = new Actor("plan");
    long last = 0;
    for (Step step : plan.steps()) {
      if (step.process() < processes.size()) {
        world.at(step.at(), new Actor("caller"), () -> apply(step));
        long lasts = waits(step) ? LONGEST_WAIT_NANOS : LONGEST_CALL_NANOS;
        last = Math.max(last, step.at() + lasts + durationOf(step));
      }
    }
    if (hasFaults) {
      for (long at = 0; at < RECOVERY_NANOS - 600 * MILLI; at += 100 * MILLI) {
        world.at(last + at, callers, () -> processes.forEach(SimulatedProcess::askAround));
      }
      last += RECOVERY_NANOS;
    }
    world.runUntil(() -> false, last);
    if (world.violation() == null) {
      processes.forEach(SimulatedProcess::requireRecovered);
      world.runUntil(() -> false, last + 2_500 * MILLI);
      if (plan.setting(Plan.LINGERS) > 0) {
        linger();
      }
      processes.forEach(SimulatedProcess::close);
      processes.forEach(SimulatedProcess::requireIdle);
      processes.forEach(SimulatedProcess::waitInLine);
      world.runUntil(() -> false, world.now() + 150 * MILLI);
      processes.forEach(SimulatedProcess::requireInLine);
      processes.forEach(SimulatedProcess::closeStore);
      world.runUntil(() -> false, world.now() + 3_000 * MILLI);
      processes.forEach(SimulatedProcess::requireClosed);
    }
  }

  /**
   * Waits for a minute, after which limiters no longer need to track refunds. When a minute has
   * passed, further calls must make the limiters remove all tracked refunds.
   */
  private void linger() {
    world.runUntil(() -> false, world.now() + LONGEST_MEMORY_NANOS);
    for (int i = 0;
        i < MOST_ROUNDS && processes.stream().anyMatch(SimulatedProcess::follows);
        i++) {
      processes.forEach(SimulatedProcess::giveBackElsewhere);
      world.runUntil(() -> false, world.now() + 100 * MILLI);
    }
    world.runUntil(() -> false, world.now() + 1_000 * MILLI);
  }

  private static boolean waits(Step step) {
    return switch (step.kind()) {
      case ACQUIRE, ACQUIRE_BLOCKING, ACQUIRE_BATCH -> true;
      default -> false;
    };
  }

  private static long durationOf(Step step) {
    int numbers = step.numbers().size();
    if (step.kind() == Step.Kind.FAIL_OVER) {
      return 12_000 * MILLI;
    }
    return step.kind().isFault() && numbers > 0 ? Math.abs(step.number(numbers - 1)) * MILLI : 0;
  }

  private void apply(Step step) {
    switch (step.kind()) {
      case CUT -> {
        SimulatedServer server = fleet.master(step.number(0));
        processes.get(step.process()).network().cut(server, CUTS.get(step.number(1)));
      }
      case FREEZE -> told(step).freeze(step.number(1) * MILLI);
      case KILL -> told(step).kill(step.number(1) == 1, step.number(2) * MILLI);
      case FORGET_SCRIPT -> told(step).forgetScript();
      case OUT_OF_MEMORY -> told(step).runOutOfMemory(step.number(1) * MILLI);
      case BUSY ->
          told(step).refuse("BUSY Redis is busy running a script.", true, step.number(1) * MILLI);
      case CLUSTER_DOWN ->
          told(step).refuse("CLUSTERDOWN The cluster is down", false, step.number(1) * MILLI);
      case TRY_AGAIN -> told(step).refuseSeveralKeys(step.number(1) * MILLI);
      case CLOCK_STEP -> {
        SimulatedServer server = told(step);
        server.finishCommits(); // judges compare a decision with the clock at its commit
        server.clock.step(step.number(1) * MILLI);
        fleet.clockChanges(server, step.number(1) * MILLI);
      }
      case LAG -> told(step).lag(step.number(1) * MILLI);
      case LOCK_ROWS -> told(step).database().lockRows(step.number(1), step.number(2) * MILLI);
      case FAIL_OVER ->
          fleet.failOver(
              step.numberOr(0, Fleet.OLD_MASTER_LEARNS_MILLIS) * MILLI, step.numberOr(1, 0) == 1);
      case SENTINELS_FAIL -> fleet.sentinelsFail(step.number(0) * MILLI);
      case MOVE_SLOTS -> fleet.moveSlots(step.number(0));
      default -> processes.get(step.process()).run(step, processes);
    }
  }

  private SimulatedServer told(Step step) {
    world.log(() -> "fault: " + step);
    return fleet.master(step.number(0));
  }
}
