// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.History.Schedule;
import dev.sluice.proof.memory.History.Schedule.Turn;
import dev.sluice.proof.memory.Instrumenter.Sites;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs the threads of a simulation, of which only one runs at a time. A simulated thread is a
 * {@link Strand}. To switch simulated threads, the scheduler wakes the real thread of the next
 * simulated thread and parks the current thread.
 *
 * <p>Runs one history at a time.
 */
final class Scheduler {

  /**
   * A call with more steps than this limit is assumed never to end. The longest correct calls (a
   * batch over all segments, a search for a free entry, a snapshot) take about ten thousand steps.
   */
  private static final long MOST_STEPS_OF_A_CALL = 150_000;

  private final Sites sites;
  private final List<Strand> strands = new ArrayList<>();
  private final Semaphore done = new Semaphore(0);
  private final IdentityHashMap<ReentrantLock, Strand> owners = new IdentityHashMap<>();

  // The state of the current run.
  private int inUse;
  private @Nullable Strand current;
  private Schedule schedule = new Schedule(false, List.of());
  private @Nullable Random random;
  private Odds odds = Odds.NONE;
  private int nextTurn;
  private long steps;
  private long waits;
  private boolean unwinding;
  private String violation = "";
  private final List<Turn> made = new ArrayList<>();
  private @Nullable List<String> story;
  private long stepsAtChange;

  Scheduler(Sites sites) {
    this.sites = sites;
  }

  long steps() {
    return steps;
  }

  /** Returns a description of the violation in the last run; empty if there was none. */
  String violation() {
    return violation;
  }

  /** Returns the thread changes of the last run, with which the run can be repeated. */
  List<Turn> made() {
    return List.copyOf(made);
  }

  /**
   * Runs the work of all simulated threads until each thread has ended.
   *
   * @param works the work of each simulated thread
   * @param plan the policy for yielding threads; also the thread changes, if {@code chance} is null
   * @param chance chooses the thread changes at random; null to use the thread changes of the plan
   * @param given the probability of a thread change at each step, if {@code chance} is not null
   * @param told receives a line for each thread change; null for no lines
   */
  void run(
      List<Runnable> works,
      Schedule plan,
      @Nullable Random chance,
      Odds given,
      @Nullable List<String> told) {
    while (strands.size() < works.size()) {
      strands.add(new Strand(strands.size(), this::finished));
    }
    schedule = plan;
    random = chance;
    odds = given;
    story = told;
    nextTurn = 0;
    steps = 0;
    waits = 0;
    stepsAtChange = 0;
    unwinding = false;
    violation = "";
    made.clear();
    owners.clear();
    inUse = works.size();
    for (int i = 0; i < inUse; i++) {
      Runnable work = works.get(i);
      strands.get(i).prepare(() -> guarded(work));
    }
    Steps.begin(this);
    Strand first = strands.get(0);
    current = first;
    first.resume();
    done.acquireUninterruptibly();
    Steps.end();
    current = null;
  }

  private void guarded(Runnable work) {
    try {
      work.run();
    } catch (Unwound e) {
      // The run is over.
    } catch (Throwable e) { // an exception of any type is a violation
      violate("the call threw " + e);
    }
  }

  void begins(String call) {
    Strand me = current();
    me.stepsOfCall = 0;
    me.gaveWayAt = 0;
    me.doing = call;
  }

  private Strand current() {
    Strand me = current;
    if (me == null) {
      throw new IllegalStateException("no strand is running");
    }
    return me;
  }

  void violate(String what) {
    if (violation.isEmpty()) {
      Strand me = current();
      violation = "thread %s in %s: %s".formatted(me.number, me.doing, what);
    }
    unwinding = true;
  }

  // Strands call the following methods.

  void step(int site) {
    Strand me = current();
    if (!goesOn(me, site)) {
      return;
    }
    Strand next = me;
    if (random != null) {
      if (odds.change(random, sites.hash(site))) {
        next = byChance(me, random);
        if (next != me) {
          made.add(new Turn(steps, next.number));
        }
      }
    } else {
      while (nextTurn < schedule.turns().size() && schedule.turns().get(nextTurn).step() <= steps) {
        Turn turn = schedule.turns().get(nextTurn++);
        if (turn.step() == steps && turn.thread() < inUse) {
          Strand wanted = strands.get(turn.thread());
          next = mayTakeOver(wanted) ? wanted : next;
        }
      }
    }
    change(me, next);
  }

  /** Counts a step of a simulated thread. Returns false if the run is over. */
  private boolean goesOn(Strand me, int site) {
    if (unwinding) {
      unwind(me);
      return false;
    }
    me.site = site;
    steps++;
    if (++me.stepsOfCall > MOST_STEPS_OF_A_CALL) {
      violate(
          "the call does not end; its last step was at %s%s"
              .formatted(sites.name(site), others(me)));
      unwind(me);
      return false;
    }
    return true;
  }

  private String others(Strand me) {
    StringBuilder text = new StringBuilder();
    for (Strand strand : strands.subList(0, inUse)) {
      if (strand != me && !strand.finished) {
        text.append(
            "; thread %s runs %s, and %s %s"
                .formatted(
                    strand.number,
                    strand.doing,
                    strand.gaveWayAt > 0 ? "is not run again after waiting at" : "stopped at",
                    sites.name(strand.site)));
      }
    }
    return text.toString();
  }

  private static void unwind(Strand me) {
    if (!me.unwound) {
      // After the run, the remaining code of the thread, such as a finally block, is not simulated.
      me.unwound = true;
      throw new Unwound();
    }
  }

  private Strand byChance(Strand me, Random chance) {
    int wanted = chance.nextInt(inUse);
    for (int i = 0; i < inUse; i++) {
      Strand strand = strands.get((wanted + i) % inUse);
      if (mayTakeOver(strand)) {
        return strand;
      }
    }
    return me;
  }

  private boolean mayTakeOver(Strand strand) {
    return strand.canRun() && (!schedule.starving() || strand.gaveWayAt == 0);
  }

  void giveWay(int site) {
    Strand me = current();
    if (!goesOn(me, site)) {
      return;
    }
    if (me.locks > 0) {
      violate("the thread waits at %s while it holds a lock".formatted(sites.name(site)));
      unwind(me);
      return;
    }
    me.gaveWayAt = ++waits;
    change(me, another(me));
  }

  /** Selects the next simulated thread when the current thread yields or waits for a lock. */
  private Strand another(Strand me) {
    Strand best = null;
    for (int i = 1; i <= inUse; i++) {
      Strand strand = strands.get((me.number + i) % inUse);
      if (mayTakeOver(strand)) {
        return strand;
      }
      if (strand.canRun() && (best == null || strand.gaveWayAt > best.gaveWayAt)) {
        best = strand;
      }
    }
    return best == null ? me : best;
  }

  void lock(ReentrantLock lock, int site) {
    step(site);
    Strand me = current();
    while (!unwinding && owners.containsKey(lock)) {
      me.waitsFor = lock;
      Strand next = another(me);
      if (next == me) {
        me.waitsFor = null;
        violate("deadlock: the thread waits at %s%s".formatted(sites.name(site), others(me)));
        unwind(me);
        return;
      }
      change(me, next);
    }
    if (unwinding) {
      unwind(me);
      return;
    }
    owners.put(lock, me);
    me.locks++;
  }

  boolean tryLock(ReentrantLock lock, int site) {
    step(site);
    if (unwinding || owners.containsKey(lock)) {
      return false;
    }
    Strand me = current();
    owners.put(lock, me);
    me.locks++;
    return true;
  }

  void unlock(ReentrantLock lock, int site) {
    Strand me = current();
    if (owners.remove(lock) != me && !unwinding) {
      throw new IllegalMonitorStateException();
    }
    me.locks--;
    for (Strand strand : strands.subList(0, inUse)) {
      if (strand.waitsFor == lock) {
        strand.waitsFor = null;
      }
    }
    step(site);
  }

  private void change(Strand me, Strand next) {
    next.gaveWayAt = 0; // the next strand runs now, so it no longer gives way
    if (next == me) {
      return;
    }
    tell(me, sites.name(me.site));
    current = next;
    next.resume();
    me.await();
    if (unwinding) {
      unwind(me);
    }
  }

  private void tell(Strand me, String where) {
    if (story != null) {
      story.add(
          "thread %s, in %s, ran %s steps, until %s"
              .formatted(me.number, me.doing, steps - stepsAtChange, where));
      stepsAtChange = steps;
    }
  }

  /** Ends the current simulated thread, so that another thread continues or the run ends. */
  private void finished() {
    Strand me = current();
    tell(me, "its end");
    Strand next = null;
    for (Strand strand : strands.subList(0, inUse)) {
      if (!strand.finished && (strand.waitsFor == null || unwinding)) {
        boolean better =
            next == null
                || (schedule.starving() && next.gaveWayAt > 0 && strand.gaveWayAt == 0)
                || (schedule.starving() && strand.gaveWayAt > next.gaveWayAt && next.gaveWayAt > 0);
        next = better ? strand : next;
      }
    }
    if (next == null) {
      for (Strand strand : strands.subList(0, inUse)) {
        if (!strand.finished) { // the owner of the lock has ended without releasing the lock
          current = strand;
          violate("deadlock: the thread waits for a lock whose owner has ended");
          strand.resume();
          return;
        }
      }
      done.release();
    } else {
      next.gaveWayAt = 0;
      current = next;
      next.resume();
    }
  }

  /** Thrown to unwind the stack of a simulated thread after the run has ended. */
  private static final class Unwound extends Error {
    private static final long serialVersionUID = 1;

    Unwound() {
      super("the run is over", null, false, false);
    }
  }

  /**
   * A simulated thread, whose real thread is reused for several runs. Only one simulated thread
   * runs at a time.
   *
   * <p>Only the simulated thread that runs is allowed to access the fields of simulated threads.
   */
  private static final class Strand {

    final int number;
    private final Thread thread;
    private volatile boolean baton;

    Runnable work = () -> {};
    boolean finished = true;
    boolean unwound;
    int locks; // the number of java.util.concurrent locks that the strand holds
    @Nullable Object waitsFor;
    long gaveWayAt; // 0 if the strand has not given way since its call began
    long stepsOfCall;
    int site = -1;
    String doing = "";

    Strand(int number, Runnable afterwards) {
      this.number = number;
      this.thread =
          new Thread(
              () -> {
                while (true) {
                  await();
                  work.run();
                  finished = true;
                  afterwards.run();
                }
              },
              "simulated-" + number);
      thread.setDaemon(true);
      thread.start();
    }

    void prepare(Runnable newWork) {
      work = newWork;
      finished = false;
      unwound = false;
      locks = 0;
      waitsFor = null;
      gaveWayAt = 0;
      stepsOfCall = 0;
      site = -1;
      doing = "";
    }

    boolean canRun() {
      return !finished && waitsFor == null;
    }

    void resume() {
      baton = true;
      LockSupport.unpark(thread);
    }

    void await() {
      while (!baton) {
        LockSupport.park(this);
      }
      baton = false;
    }
  }
}
