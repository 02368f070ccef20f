// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.store.BucketTable.UnchargedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A clock in nanoseconds since the Unix epoch.
 *
 * <p>Thread-safe; reading the time never blocks. A store reads the time once per batch. Times lie
 * between 0 and {@link Long#MAX_VALUE} (the year 2262). A source may step back, since stores treat
 * a bucket with a TAT beyond now + τ as empty. {@link #system} never steps back.
 */
@FunctionalInterface
public interface TimeSource {

  /**
   * Returns the current time.
   *
   * @return the time in nanoseconds since the Unix epoch, not negative
   */
  long nanos();

  /**
   * Runs a task when this clock reaches an instant, or at once if the instant has passed. No thread
   * blocks to wait for the instant.
   *
   * <p>The default implementation measures the remaining time with the system's clock. Tasks that
   * run at the same time run on different threads. If this time source is slower than the system's
   * clock, a task can run too early, so each task must check the time again. The task must be
   * short, and must neither block nor throw.
   *
   * @param atNanos the instant, in nanoseconds since the Unix epoch
   * @param task the task, which runs at most once
   * @return the pending task, which a caller can cancel
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
   * Reads a source, and rejects a time before the epoch.
   *
   * @param time the source
   * @return the time in nanoseconds since the Unix epoch, not negative
   * @throws StoreException if the source returns a negative time
   */
  static long read(TimeSource time) {
    long nowNanos = time.nanos();
    if (nowNanos < 0) {
      throw new UnchargedException(
          "the clock returned "
              + nowNanos
              + " ns since the epoch, expected a number that is not negative; correct the"
              + " TimeSource");
    }
    return nowNanos;
  }

  /**
   * Returns the system's monotonic time, anchored to the wall clock when the source is created.
   *
   * <p>A step of the wall clock does not change the time of this source, so limiters neither deny
   * nor admit too many requests after the step. After a step of the wall clock, the time of this
   * source differs from the wall clock until the process restarts.
   *
   * @return a new source, anchored now
   */
  static TimeSource system() {
    long anchorNanos =
        TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();
    return () -> anchorNanos + System.nanoTime();
  }

  /**
   * Starts a clock that its own thread updates every tick.
   *
   * @param tick the time between two updates, 100 µs to 1 s
   * @return a running clock
   * @throws IllegalArgumentException if the tick is out of range
   */
  static Ticking ticking(Duration tick) {
    return TickingTime.every(tick);
  }

  /**
   * A cached system time that a daemon thread updates every tick. Reading this clock costs almost
   * nothing, while reading the system's clock costs more than the rest of a decision.
   *
   * <p>A ticking clock is meant for stores under heavy load, and is less precise than the system's
   * clock. The time is up to one tick old, or older if the machine is too busy to run the thread;
   * the time is never ahead. In <i>s</i> seconds, a limit therefore grants at most the tokens of
   * <i>s</i> seconds plus one tick; a wait can end one tick late. Use a ticking clock only for
   * limits with emission intervals well above the tick.
   *
   * <p>Thread-safe; reading the time never blocks. {@link #close} stops the clock.
   */
  interface Ticking extends TimeSource, AutoCloseable {

    @Override
    void close();
  }
}
