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
 * A world simulates processes and servers on one thread, from one seed.
 *
 * Each action is an event with a time: a message arrives, a timer fires, or a caller makes a call.
 * The world takes the earliest event from its queue, sets its clock to the time of the event, and
 * runs the event to the end. Random numbers from the seed decide how long a message travels and how
 * long a thread works. A seed therefore always gives the same order of events, and another seed
 * gives another order.
 *
 * An Actor stands for a thread of the real program. An Actor runs one event at a time. The events
 * of a busy Actor wait until the Actor is free. User code that blocks a thread of the store
 * therefore delays the other events of this thread, as in a real process.
 *
 * While a synchronous call blocks its caller, runUntil runs further events until the call has a
 * result.
 */

/**
 * The clock and the event queue of one simulated run. A "moment" is a time of the run's clock, in
 * nanoseconds since the start of the run. Not thread-safe.
 */
final class World {

  /** The largest number of steps in a run; a run with more steps is in an endless loop. */
  private static final long MOST_STEPS = 2_000_000;

  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final List<String> history = new ArrayList<>();
  private final boolean keepsHistory;
  private long now;
  private long sequence;
  private long steps;
  private boolean closed; // events after a violation are not logged
  private boolean blocked; // whether a task is waiting for a synchronous call
  private @Nullable Actor running;
  private @Nullable String violation;

  World(boolean keepsHistory) {
    this.keepsHistory = keepsHistory;
  }

  /** A simulated thread of a process or of a server. */
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

  /** Returns the current moment, in nanoseconds since the start of the run. */
  long now() {
    return now;
  }

  long steps() {
    return steps;
  }

  /**
   * Schedules a task for the given moment. If the actor is busy, the task runs when the actor is
   * free.
   */
  void at(long moment, Actor actor, Runnable task) {
    events.add(new Event(Math.max(moment, now), sequence++, actor, task));
  }

  void after(long nanos, Actor actor, Runnable task) {
    at(now + Math.max(nanos, 0), actor, task);
  }

  /** Keeps the running actor busy for {@code nanos} after its current event. */
  void block(long nanos) {
    Actor actor = running;
    if (actor != null) {
      actor.freeAt = Math.max(actor.freeAt, now) + nanos;
    }
  }

  /**
   * Blocks the running actor within its current event, as blocking user code does. While the actor
   * is blocked, events of other actors run. If a synchronous call is already waiting, this method
   * does not block: the actor stays busy after its current event instead.
   */
  void hold(long nanos) {
    block(nanos);
    Actor actor = running;
    if (actor != null) {
      long until = actor.freeAt;
      blocking(() -> runUntil(() -> false, until));
    }
  }

  /** Keeps an actor busy until the given moment. */
  void stall(Actor actor, long until) {
    actor.freeAt = Math.max(actor.freeAt, until);
  }

  /** Runs the next event. Returns false if no event is left, or after a violation. */
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
      violated(() -> "the run does not end: it has more than " + MOST_STEPS + " steps");
      return false;
    }
    now = event.at;
    Actor before = running;
    running = event.actor;
    try {
      event.task.run();
    } catch (InvalidRequestException e) { // in a plan, a cost can exceed a burst
      log(() -> event.actor + " ended a task with " + e);
    } catch (Throwable e) { // a real executor would hide the exception
      violated(() -> event.actor + " ended a task with " + text(e));
    } finally {
      running = before;
    }
    return violation == null;
  }

  /**
   * Runs a synchronous call, unless a synchronous call is already waiting: the waiting call could
   * not continue before the new call ends.
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

  /** Runs events until a condition is true, at the latest until the given moment. */
  void runUntil(BooleanSupplier done, long moment) {
    Actor waiting = new Actor("waiting");
    at(moment, waiting, () -> {});
    while (!done.getAsBoolean() && now < moment && step()) {
      // step() runs the events
    }
  }

  /** Records the first violation and ends the run. Ignores all violations after the first. */
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

  /** Describes an exception, and the line of code that threw the exception. */
  static String text(Throwable thrown) {
    StackTraceElement[] stack = thrown.getStackTrace(); // the JVM can omit the stack trace
    return stack.length == 0 ? thrown.toString() : thrown + " at " + stack[0];
  }

  static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  List<String> history() {
    return history;
  }
}
