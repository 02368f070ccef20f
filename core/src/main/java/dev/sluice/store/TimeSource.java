// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A clock in nanoseconds since the Unix epoch.
 *
 * <p>Thread-safe; a reading never blocks. A store reads it once for a batch. Readings lie between 0
 * and {@link Long#MAX_VALUE} (the year 2262). A source may step back: stores tolerate it (a TAT
 * beyond now + τ counts as an empty bucket), but the system's source never does.
 */
@FunctionalInterface
public interface TimeSource {

  /**
   * Returns the current time.
   *
   * @return nanoseconds since the Unix epoch, not negative
   */
  long nanos();

  /**
   * Runs a task when this clock reaches an instant; at once if it has already passed. No thread
   * waits until then.
   *
   * <p>By default the system's clock measures the remaining time, and no two tasks that run at the
   * same time share a thread. If the source runs at another rate than the system's clock, the task
   * may run too early, so it reads the source again. It must be short, and neither block nor throw.
   *
   * @param atNanos nanoseconds since the Unix epoch
   * @param task run at most once
   * @return the pending task; a caller that no longer needs it cancels it
   */
  @CanIgnoreReturnValue
  default Future<?> alarm(long atNanos, Runnable task) {
    long leftNanos = Math.max(atNanos - nanos(), 0);
    CompletableFuture<Void> bell =
        new CompletableFuture<Void>().completeOnTimeout(null, leftNanos, TimeUnit.NANOSECONDS);
    var unused = bell.thenRunAsync(task, AlarmThreads::run);
    return bell;
  }

  /**
   * Reads a source and rejects a time before the epoch, at which every bucket would seem full.
   *
   * @param time the source
   * @return nanoseconds since the Unix epoch, not negative
   * @throws StoreException if the source returns a negative number
   */
  static long read(TimeSource time) {
    long nowNanos = time.nanos();
    if (nowNanos < 0) {
      throw new UnchargedException(
          "the clock says "
              + nowNanos
              + " ns since the epoch, expected a number that is not negative; correct the"
              + " TimeSource");
    }
    return nowNanos;
  }

  /**
   * Returns the system's monotonic time, anchored to the wall clock when the source is created.
   *
   * <p>A later step of the wall clock neither locks anyone out nor admits too many; in return the
   * source drifts from the wall clock until the process restarts.
   *
   * @return a new source, anchored now
   */
  static TimeSource system() {
    long anchorNanos =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();
    return () -> anchorNanos + System.nanoTime();
  }

  /**
   * Starts a clock that a thread of its own updates every tick.
   *
   * @param tick the time from one renewal to the next, 100 µs to 1 s
   * @return a running clock
   * @throws IllegalArgumentException for a tick out of its range
   */
  static Ticking ticking(Duration tick) {
    return TickingTime.every(tick);
  }

  /**
   * A cached system time that a daemon thread updates every tick. Reading it is almost free, while
   * reading the system's clock costs more than the rest of a decision.
   *
   * <p>It suits stores under heavy load, and costs precision. A reading is up to one tick old, or
   * older if the machine is too busy to run the thread, and never ahead. So within a real time
   * <i>s</i> a limit grants up to what it would in <i>s</i> plus one tick. A wait may end up to one
   * tick later. Use it with limits whose emission interval is well above the tick.
   *
   * <p>Thread-safe; a reading never blocks. Close it when its stores are no longer used: it then
   * stops advancing.
   */
  interface Ticking extends TimeSource, AutoCloseable {

    @Override
    void close();
  }
}
