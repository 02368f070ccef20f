// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A queue of failed calls, which are retried for up to 10 s, at most 10,000 calls at a time. One
 * round retries each waiting call once. Thread-safe; blocks only if a call blocks.
 */
public final class Retries implements AutoCloseable {

  /** The largest number of waiting calls. */
  public static final int MOST = 10_000;

  /** The longest time for which a call is retried. */
  public static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The largest number of calls in flight. */
  static final int AT_A_TIME = 64;

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private final LongSupplier clock;
  private final Alarm alarm;

  @GuardedBy("this")
  private final Deque<Waiting> waiting = new ArrayDeque<>();

  @GuardedBy("this")
  private boolean runs; // true while an alarm is set or a round is in progress

  @GuardedBy("this")
  private boolean isClosed;

  @GuardedBy("this")
  private int left; // how many calls of this round were not made yet

  @GuardedBy("this")
  private int underWay;

  /** Creates an empty queue. */
  public Retries(LongSupplier clock, Alarm alarm) {
    this.clock = clock;
    this.alarm = alarm;
  }

  /** Runs a task later. */
  @FunctionalInterface
  public interface Alarm {
    /** Runs a task at an instant. */
    void at(long atNanos, Runnable task);
  }

  private record Waiting(
      long untilNanos, Supplier<CompletionStage<Boolean>> call, Runnable onLost) {}

  /**
   * Adds a call that has just failed.
   *
   * @param call a function that makes the call, and returns a stage with the value true after a
   *     success, or false if the call must be retried; the stage fails if the call must not be
   *     retried
   * @param onLost a callback for when the queue stops retrying the call, because the call's stage
   *     failed, 10 s have passed, or the queue was closed
   * @return false if the call was not added, because the queue is full or closed
   */
  public boolean add(Supplier<CompletionStage<Boolean>> call, Runnable onLost) {
    long nowNanos = clock.getAsLong();
    boolean fits;
    boolean starts;
    synchronized (this) {
      fits = waiting.size() + underWay < MOST && !isClosed;
      starts = fits && !runs;
      if (fits) {
        waiting.add(new Waiting(nowNanos + LONGEST_NANOS, call, onLost));
        runs = true;
      }
    }
    if (starts) {
      alarm.at(nowNanos + PAUSE_NANOS, this::round);
    }
    return fits;
  }

  /** Drops the waiting calls; calls in flight are not retried. */
  @Override
  public void close() {
    List<Waiting> all;
    synchronized (this) {
      isClosed = true;
      left = 0;
      runs = underWay > 0;
      all = List.copyOf(waiting);
      waiting.clear();
    }
    all.forEach(one -> one.onLost.run());
  }

  /** Returns whether no call waits or is in flight. */
  public synchronized boolean isIdle() {
    return !runs;
  }

  private void round() {
    synchronized (this) {
      left = waiting.size();
    }
    proceed();
  }

  /**
   * Makes the remaining calls of a round, {@link #AT_A_TIME} at a time; an alarm starts each round.
   */
  private void proceed() {
    for (Waiting next = next(); next != null; next = next()) {
      Waiting one = next;
      CompletionStage<Boolean> ended = started(one).exceptionally(failure -> lost(one));
      Boolean isDone = Stages.value(ended);
      if (isDone == null) {
        Stages.onSuccess(
            ended,
            later -> {
              ended(one, later);
              proceed();
            });
      } else {
        ended(one, isDone);
      }
    }
  }

  private synchronized @Nullable Waiting next() {
    Waiting next = left > 0 && underWay < AT_A_TIME ? waiting.poll() : null;
    if (next != null) {
      left--;
      underWay++;
    }
    return next;
  }

  private CompletionStage<Boolean> started(Waiting one) {
    if (clock.getAsLong() - one.untilNanos >= 0) {
      return CompletableFuture.completedFuture(lost(one));
    }
    try {
      return one.call.get();
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private static boolean lost(Waiting one) {
    one.onLost.run();
    return true;
  }

  private void ended(Waiting one, boolean isDone) {
    boolean goesOn;
    boolean isLost;
    synchronized (this) {
      isLost = !isDone && isClosed;
      if (!isDone && !isClosed) {
        waiting.add(one);
      }
      underWay--;
      boolean isOver = left == 0 && underWay == 0;
      goesOn = isOver && !waiting.isEmpty();
      runs = !isOver || goesOn;
    }
    if (isLost) {
      one.onLost.run();
    }
    if (goesOn) {
      alarm.at(clock.getAsLong() + PAUSE_NANOS, this::round);
    }
  }
}
