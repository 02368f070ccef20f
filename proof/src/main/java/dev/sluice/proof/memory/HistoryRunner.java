// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.History.Schedule;
import dev.sluice.proof.memory.InstrumentedStore.Answer;
import dev.sluice.proof.memory.InstrumentedStore.Clock;
import dev.sluice.proof.memory.Op.Kind;
import dev.sluice.proof.memory.Op.Part;
import dev.sluice.proof.memory.Op.Verb;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Runs histories, and checks the results of the calls. A JVM can have only one runner at a time,
 * and only one thread can use the runner.
 */
final class HistoryRunner {

  private final InstrumentedStores worlds = new InstrumentedStores();
  private final Scheduler scheduler = new Scheduler(worlds.sites());
  private long steps;

  long steps() {
    return steps;
  }

  /** Runs a history. The threads run in the order of the history's schedule. */
  Run repeat(History history, boolean told) {
    return run(history, null, Odds.NONE, told);
  }

  /**
   * Runs a history with random thread changes. Of the history's schedule, only the policy for
   * yielding threads is used.
   */
  Run byChance(History history, Random chance, Odds odds) {
    return run(history, chance, odds, false);
  }

  private Run run(History history, @Nullable Random chance, Odds odds, boolean told) {
    Clock clock = new Clock();
    InstrumentedStore world = worlds.make(history.setup(), clock);
    List<Call> calls = new ArrayList<>();
    List<String> story = new ArrayList<>();
    List<Op> first = history.threads().get(0);
    // The calls of the first thread run while no other thread runs. The first thread's calls are
    // simulated too, so that a call that never ends is detected.
    Schedule alone = new Schedule(history.schedule().starving(), List.of());
    scheduler.run(works(world, clock, List.of(first), calls, 0), alone, null, Odds.NONE, null);
    String violation = scheduler.violation();
    long offset = scheduler.steps();
    List<Schedule.Turn> made = List.of();
    List<List<Op>> others = history.threads().subList(1, history.threads().size());
    if (violation.isEmpty() && !others.isEmpty()) {
      scheduler.run(
          works(world, clock, others, calls, offset),
          history.schedule(),
          chance,
          odds,
          told ? story : null);
      violation = scheduler.violation();
      made = chance == null ? history.schedule().turns() : scheduler.made();
      offset += scheduler.steps();
    }
    if (violation.isEmpty()) {
      List<Op> last = new ArrayList<>();
      for (int key = 0; key < history.setup().keys(); key++) {
        last.add(Op.charge(List.of(new Part(Verb.CHECK, key, 1))));
      }
      scheduler.run(
          works(world, clock, List.of(last), calls, offset), alone, null, Odds.NONE, null);
      violation = scheduler.violation();
      offset += scheduler.steps();
    }
    steps += offset;
    if (violation.isEmpty()) {
      violation = judge(history.setup(), calls, world);
    }
    History repeatable = history.with(new Schedule(history.schedule().starving(), made));
    return new Run(repeatable, offset, violation, calls, story);
  }

  /**
   * Returns the work of each thread. When a call ends, the call is added to {@code calls}, with the
   * numbers of steps from the start of the history to the call's start and to its end.
   */
  private List<Runnable> works(
      InstrumentedStore world, Clock clock, List<List<Op>> threads, List<Call> calls, long offset) {
    List<Runnable> works = new ArrayList<>();
    for (int i = 0; i < threads.size(); i++) {
      int thread = i;
      works.add(
          () -> {
            for (Op op : threads.get(thread)) {
              scheduler.begins(op.toString());
              Steps.step(-1);
              long begun = offset + scheduler.steps();
              long begunNanos = clock.nanos();
              Answer answer;
              if (op.kind() == Kind.TICK) {
                clock.move(op.nanos());
                answer = new Answer("", List.of(), List.of());
              } else {
                answer = world.run(op);
              }
              long ended = offset + scheduler.steps();
              calls.add(new Call(thread, op, begun, ended, begunNanos, clock.nanos(), answer));
            }
          });
    }
    return works;
  }

  private static String judge(Setup setup, List<Call> calls, InstrumentedStore world) {
    for (Call call : calls) {
      String failure = call.answer().failure();
      boolean known =
          failure.isEmpty() || failure.equals(Answer.FULL) || failure.equals(Answer.TWICE);
      if (!known) {
        return "thread %s in %s: the call threw %s".formatted(call.thread(), call.op(), failure);
      }
    }
    for (Call call : calls) {
      if (isFar(setup, call)) {
        return setup.keptNanos() > 0 // the model does not cover clocks that step back
            ? world.leftovers()
            : "thread %s in %s: a TAT is further ahead than a whole bucket"
                .formatted(call.thread(), call.op());
      }
    }
    String overspent = OverspendJudge.violation(setup, calls);
    if (!overspent.isEmpty()) {
      return overspent;
    }
    if (!LinearizationJudge.exists(setup, calls)) {
      return "no sequential order of the calls gives the same results";
    }
    return world.leftovers();
  }

  /**
   * Returns whether a call's answer contains a TAT that is further in the future than a whole
   * burst. Only a clock step back can move a TAT further into the future than a whole burst.
   */
  private static boolean isFar(Setup setup, Call call) {
    for (int i = 0; i < call.answer().nowNanos().size(); i++) {
      if (call.answer().tatNanos().get(i) > call.answer().nowNanos().get(i) + setup.offsetNanos()) {
        return true;
      }
    }
    return false;
  }

  /** Describes a failed run for people. */
  String report(Run run) {
    Run again = repeat(run.history(), true);
    StringBuilder text = new StringBuilder();
    text.append("violation: ").append(run.violation()).append("\n\n");
    text.append(run.history()).append("\n\nthe order of the threads:\n");
    again.story().forEach(line -> text.append("  ").append(line).append('\n'));
    text.append("calls:\n");
    again.calls().forEach(call -> text.append("  ").append(call).append('\n'));
    return text.toString();
  }

  /**
   * The result of running a history.
   *
   * @param history the history with the thread changes of this run, so that the run can be repeated
   * @param steps the number of steps of all threads
   * @param violation the violated invariant; empty if all invariants hold
   * @param calls the calls that returned
   * @param story lines that describe the order in which the threads ran; empty if they were not
   *     requested
   */
  record Run(History history, long steps, String violation, List<Call> calls, List<String> story) {

    boolean failed() {
      return !violation.isEmpty();
    }

    /**
     * Returns the text of the violation without numbers and names. If two violations have equal
     * texts, the simulator assumes that they show the same fault.
     */
    String kind() {
      return violation
          .replaceFirst("^thread .*?: ", "")
          .replaceFirst(" at .*", "")
          .replaceAll("[0-9]+", "#");
    }
  }

  /**
   * A recorded call that has returned.
   *
   * @param thread the thread that made the call
   * @param op the operation
   * @param begun the number of steps before the call began
   * @param ended the number of steps before the call returned
   * @param begunNanos the time of the clock when the call began
   * @param endedNanos the time of the clock when the call returned
   * @param answer the result
   */
  record Call(
      int thread, Op op, long begun, long ended, long begunNanos, long endedNanos, Answer answer) {

    @Override
    public String toString() {
      return "thread %s: %s -> %s (steps %s to %s)".formatted(thread, op, answer, begun, ended);
    }
  }
}
