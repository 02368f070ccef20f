// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Calls that failed for now, and are repeated for up to 10 s: the oldest first, one after the
 * other. At most 10,000 calls wait. Thread-safe; never blocks if the calls do not.
 */
public final class Retries {

  /** How many calls may wait. */
  public static final int MOST = 10_000;

  /** How long a call waits at most. */
  public static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private final LongSupplier clock;
  private final Alarm alarm;

  @GuardedBy("this")
  private final Deque<Waiting> waiting = new ArrayDeque<>();

  @GuardedBy("this")
  private boolean runs; // an alarm is set, or a call is under way

  /**
   * Creates an empty queue.
   *
   * @param clock in nanoseconds
   * @param alarm by the same clock
   */
  public Retries(LongSupplier clock, Alarm alarm) {
    this.clock = clock;
    this.alarm = alarm;
  }

  /** Runs a task later. */
  @FunctionalInterface
  public interface Alarm {
    /**
     * Runs a task at an instant.
     *
     * @param atNanos the instant
     * @param task the task
     */
    void at(long atNanos, Runnable task);
  }

  private record Waiting(
      long untilNanos, Supplier<CompletionStage<Boolean>> call, Runnable onLost) {}

  /**
   * Adds a call that has just failed.
   *
   * @param call completes with false if it must be repeated; if it fails, it is lost
   * @param onLost called if the call is lost: its time is over, or it failed
   * @return false if there is no room, so that the call was not added
   */
  public boolean add(Supplier<CompletionStage<Boolean>> call, Runnable onLost) {
    long nowNanos = clock.getAsLong();
    boolean fits;
    boolean starts;
    synchronized (this) {
      fits = waiting.size() < MOST;
      starts = fits && !runs;
      if (fits) {
        waiting.add(new Waiting(nowNanos + LONGEST_NANOS, call, onLost));
        runs = true;
      }
    }
    if (starts) {
      alarm.at(nowNanos + PAUSE_NANOS, this::repeatAll);
    }
    return fits;
  }

  /**
   * Returns whether no call waits or is being repeated.
   *
   * @return true if the queue is empty
   */
  public synchronized boolean isIdle() {
    return !runs;
  }

  private void repeatAll() {
    for (Waiting next = next(); next != null; next = next()) {
      Waiting current = next;
      CompletionStage<Boolean> ended =
          started(current).exceptionally(failure -> lost(current)).toCompletableFuture();
      Boolean isDone = Stages.value(ended);
      if (isDone == null) {
        Stages.onSuccess(
            ended,
            later -> {
              if (goesOn(current, later)) {
                repeatAll();
              }
            });
        return;
      }
      if (!goesOn(current, isDone)) {
        return;
      }
    }
  }

  private static boolean lost(Waiting one) {
    one.onLost.run();
    return true;
  }

  private static CompletionStage<Boolean> started(Waiting one) {
    try {
      return one.call.get();
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Returns the oldest call that may still be repeated; the older ones are lost. */
  private @Nullable Waiting next() {
    long nowNanos = clock.getAsLong();
    List<Waiting> over = new ArrayList<>();
    Waiting next;
    synchronized (this) {
      for (next = waiting.poll();
          next != null && nowNanos - next.untilNanos >= 0;
          next = waiting.poll()) {
        over.add(next);
      }
      runs = next != null;
    }
    over.forEach(one -> one.onLost.run());
    return next;
  }

  /** Returns whether the next call may be repeated now; if not, an alarm repeats them later. */
  private boolean goesOn(Waiting one, boolean isDone) {
    if (!isDone) {
      synchronized (this) {
        waiting.addFirst(one);
      }
      alarm.at(clock.getAsLong() + PAUSE_NANOS, this::repeatAll);
    }
    return isDone;
  }
}
