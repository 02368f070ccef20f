// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.internal.async.Stages;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that stands still until a test moves the clock forwards or back.
 *
 * <p>{@link #advance} stops the clock at the time of each due alarm, in order, and runs the alarm
 * on the caller's thread. An asynchronous caller is therefore admitted at exactly the end of its
 * wait. {@link #set} moves the clock to the new time at once, and then runs all due alarms.
 *
 * <p>Thread-safe. Only {@link #awaitAlarm} blocks.
 */
public final class ManualTime implements TimeSource {

  /** The default start of the clock: an instant in November 2023. */
  public static final long START_NANOS = 1_700_000_000_000_000_000L;

  private final AtomicLong nowNanos;
  private final AtomicLong alarms = new AtomicLong();
  private final Semaphore waits = new Semaphore(0);
  private final PriorityBlockingQueue<Alarm> set =
      new PriorityBlockingQueue<>(
          11, Comparator.comparingLong(Alarm::atNanos).thenComparingLong(Alarm::number));

  private record Alarm(long atNanos, long number, Runnable task, CompletableFuture<Void> done) {
    void ring() {
      if (done.complete(null)) {
        task.run();
      }
    }
  }

  /** Creates a clock at {@link #START_NANOS}. */
  public ManualTime() {
    this(START_NANOS);
  }

  /**
   * Creates a clock at an instant.
   *
   * @param nowNanos nanoseconds since the Unix epoch, not negative
   */
  public ManualTime(long nowNanos) {
    this.nowNanos = new AtomicLong(notNegative(nowNanos));
  }

  @Override
  public long nanos() {
    return nowNanos.get();
  }

  @Override
  public Future<?> alarm(long atNanos, Runnable task) {
    Alarm alarm = new Alarm(atNanos, alarms.incrementAndGet(), task, new CompletableFuture<>());
    if (atNanos <= nanos()) {
      alarm.ring();
    } else {
      set.add(alarm);
      Stages.onEnd(alarm.done, (done, failure) -> set.remove(alarm));
      waits.release();
      if (atNanos <= nanos()) {
        alarm.ring(); // another thread may have moved the clock before the alarm was in the queue
      }
    }
    return alarm.done;
  }

  /**
   * Waits in real time until another thread sets an alarm on this clock. Each new alarm ends the
   * wait of only one call of this method.
   *
   * @param patience the longest wait, in real time
   * @return false if no alarm was set within {@code patience}
   * @throws InterruptedException if this thread is interrupted
   */
  public boolean awaitAlarm(Duration patience) throws InterruptedException {
    return waits.tryAcquire(patience.toNanos(), TimeUnit.NANOSECONDS);
  }

  /**
   * Moves the clock to an instant, which can be in the past.
   *
   * @param newNowNanos nanoseconds since the Unix epoch, not negative
   */
  public void set(long newNowNanos) {
    nowNanos.set(notNegative(newNowNanos));
    ringDue();
  }

  private void ringDue() {
    Alarm next = set.peek();
    while (next != null && next.atNanos <= nanos()) {
      next.ring();
      next = set.peek();
    }
  }

  /**
   * Advances the clock by a duration.
   *
   * @param step the duration; a negative duration moves the clock back
   */
  public void advance(Duration step) {
    advanceNanos(step.toNanos());
  }

  /**
   * Advances the clock by nanoseconds.
   *
   * @param stepNanos the nanoseconds; a negative number moves the clock back
   */
  public void advanceNanos(long stepNanos) {
    long leftNanos = stepNanos;
    for (Alarm next = set.peek(); next != null; next = set.peek()) {
      long untilNanos = Math.max(next.atNanos - nanos(), 0);
      if (untilNanos > leftNanos) {
        break;
      }
      move(untilNanos);
      leftNanos -= untilNanos;
      next.ring();
    }
    move(leftNanos);
    ringDue(); // another thread may have set an alarm before the clock moved
  }

  private void move(long stepNanos) {
    nowNanos.updateAndGet(now -> notNegative(Math.addExact(now, stepNanos)));
  }

  private static long notNegative(long nanos) {
    if (nanos < 0) {
      throw new IllegalArgumentException(
          "nowNanos: found " + nanos + ", expected nanoseconds since the epoch, not negative");
    }
    return nanos;
  }
}
