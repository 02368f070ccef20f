// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.InvalidRequestException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * One world, one thread, one seed.
 *
 * Everything that happens is an event with a moment: a message arrives, a timer is due, a caller
 * calls. The world takes the earliest event, moves its time there, and runs it to its end. How long
 * things take (a message, a thread's piece of work) comes from dice, so each seed is another
 * interleaving, and the same seed is the same one again.
 *
 * A thread of the real program is an Actor: it runs one event at a time, and an event that finds it
 * busy waits until it is free. So a piece of user code that blocks on a thread of the store holds
 * up what else that thread has to do, as it would in earnest.
 *
 * Code that blocks its caller (a synchronous call) lets the world go on from within (await): the
 * events of others run until what it waits for is there.
 */

/** The time and the events of a simulated run. For one thread. */
final class World {

  /** A number of steps that no run reaches: a world that exceeds it is in an endless loop. */
  private static final long MOST_STEPS = 2_000_000;

  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final List<String> history = new ArrayList<>();
  private final boolean keepsHistory;
  private long now;
  private long sequence;
  private long steps;
  private boolean closed; // later events are meaningless after a violation
  private boolean blocked; // a caller waits within a task
  private @Nullable Actor running;
  private @Nullable String violation;

  World(boolean keepsHistory) {
    this.keepsHistory = keepsHistory;
  }

  /** A thread of a process or of a server. */
  static final class Actor {
    private final String name;
    private long freeAt;

    Actor(String name) {
      this.name = name;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private record Event(long at, long sequence, Actor actor, Runnable task)
      implements Comparable<Event> {

    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(at, other.at);
      return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
    }
  }

  /** Returns the current time, in nanoseconds since the world began. */
  long now() {
    return now;
  }

  long steps() {
    return steps;
  }

  /** Runs a task at a moment, or as soon as its thread is free. */
  void at(long moment, Actor actor, Runnable task) {
    events.add(new Event(Math.max(moment, now), sequence++, actor, task));
  }

  void after(long nanos, Actor actor, Runnable task) {
    at(now + Math.max(nanos, 0), actor, task);
  }

  /** Keeps the running thread busy, as blocking user code does. */
  void block(long nanos) {
    Actor actor = running;
    if (actor != null) {
      actor.freeAt = Math.max(actor.freeAt, now) + nanos;
    }
  }

  /**
   * Blocks the running thread from within, as user code does: the world continues, then the rest of
   * this thread's events. While another caller waits, the thread is instead busy after its current
   * event.
   */
  void hold(long nanos) {
    block(nanos);
    Actor actor = running;
    if (actor != null) {
      long until = actor.freeAt;
      blocking(() -> runUntil(() -> false, until));
    }
  }

  /** Keeps a thread from running anything until a moment. */
  void stall(Actor actor, long until) {
    actor.freeAt = Math.max(actor.freeAt, until);
  }

  /** Runs the next event. Returns false when there is none, or the run is over. */
  boolean step() {
    if (violation != null) {
      return false;
    }
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    if (event.actor.freeAt > event.at) {
      events.add(new Event(event.actor.freeAt, event.sequence, event.actor, event.task));
      return true;
    }
    if (++steps > MOST_STEPS) {
      violated(() -> "the world does not come to an end: " + MOST_STEPS + " events");
      return false;
    }
    now = event.at;
    Actor before = running;
    running = event.actor;
    try {
      event.task.run();
    } catch (InvalidRequestException e) { // a plan may exceed a burst
      log(() -> event.actor + " ended a task with " + e);
    } catch (Throwable e) { // an executor would hide the exception
      violated(() -> event.actor + " ended a task with " + text(e));
    } finally {
      running = before;
    }
    return violation == null;
  }

  /**
   * Runs a blocking call, unless another caller is blocked already: the inner wait would delay the
   * outer one.
   *
   * @return whether the call ran
   */
  @CanIgnoreReturnValue
  boolean blocking(Runnable call) {
    if (blocked) {
      return false;
    }
    blocked = true;
    try {
      call.run();
    } finally {
      blocked = false;
    }
    return true;
  }

  /** Runs events until a condition holds, or until a moment. */
  void runUntil(BooleanSupplier done, long moment) {
    Actor waiting = new Actor("waiting");
    at(moment, waiting, () -> {});
    while (!done.getAsBoolean() && now < moment && step()) {
      // Runs one event after the other.
    }
  }

  /** Ends the run with a violated invariant; only the first one counts. */
  void violated(Supplier<String> what) {
    if (violation == null) {
      violation = what.get();
      log(() -> "VIOLATION: " + violation);
      closed = true;
    }
  }

  @Nullable String violation() {
    return violation;
  }

  void log(Supplier<String> line) {
    if (keepsHistory && !closed) {
      history.add(text("%12.6f ms  %s", now / 1e6, line.get()));
    }
  }

  /** Describes an exception and where it was thrown. */
  static String text(Throwable thrown) {
    StackTraceElement[] stack = thrown.getStackTrace(); // empty where the JVM leaves it out
    return stack.length == 0 ? thrown.toString() : thrown + " at " + stack[0];
  }

  static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  List<String> history() {
    return history;
  }
}
