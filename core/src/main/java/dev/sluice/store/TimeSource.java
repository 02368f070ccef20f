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
   * The present.
   *
   * @return nanoseconds since the Unix epoch, not negative
   */
  long nanos();

  /**
   * Runs a task once this clock has come to an instant; at once if it has already. No thread is
   * held until then.
   *
   * <p>Unless a source says otherwise, the system's clock measures the time that is left, and the
   * task runs on a thread that no other task has at that time. To a source that goes at a pace of
   * its own it may come early: the task reads the clock again. It must be short, and neither block
   * nor throw.
   *
   * @param atNanos nanoseconds since the Unix epoch
   * @param task run at most once
   * @return to be cancelled by a caller that no longer needs the task
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
   * Reads a source, as a store does: to a clock before the epoch every bucket would seem full.
   *
   * @param time the source
   * @return nanoseconds since the Unix epoch, not negative
   * @throws StoreException if the source answers a negative number
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
   * The system's time: monotonic, anchored once to the wall clock when it is made.
   *
   * <p>A wall clock that is stepped afterwards neither locks anyone out nor opens the gate; the
   * price is that the source drifts from it until the process restarts.
   *
   * @return a new source, anchored now
   */
  static TimeSource system() {
    long anchorNanos =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();
    return () -> anchorNanos + System.nanoTime();
  }

  /**
   * Starts a clock that ticks.
   *
   * @param tick the time from one renewal to the next, 100 µs to 1 s
   * @return a running clock
   * @throws IllegalArgumentException for a tick out of its range
   */
  static Ticking ticking(Duration tick) {
    return TickingTime.every(tick);
  }

  /**
   * The system's time as a number that a thread of its own renews every tick. Reading it costs next
   * to nothing, where asking the system costs more than the rest of a decision.
   *
   * <p>It is a choice for stores under heavy load, and costs precision. A reading is up to one tick
   * old, or older where the machine is too busy to run the thread. It never runs ahead, so within a
   * span of real time <i>s</i> a limit gives out what it would in <i>s</i> plus one tick. A wait
   * that it answers may end up to one tick later. Use it with limits whose emission interval is
   * well above the tick.
   *
   * <p>Thread-safe; a reading never blocks. Close it when its stores are no longer used: it stands
   * still from then on. Its thread is a daemon.
   */
  interface Ticking extends TimeSource, AutoCloseable {

    @Override
    void close();
  }
}
