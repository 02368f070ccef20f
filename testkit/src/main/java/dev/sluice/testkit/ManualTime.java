package dev.sluice.testkit;

import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that stands still until a test moves it, forwards or back.
 *
 * <p>Thread-safe; no method blocks.
 */
public final class ManualTime implements TimeSource {

  /** Where a clock starts if nothing else is said: in November 2023. */
  public static final long START_NANOS = 1_700_000_000_000_000_000L;

  private final AtomicLong nowNanos;

  /** A clock that stands at {@link #START_NANOS}. */
  public ManualTime() {
    this(START_NANOS);
  }

  /**
   * A clock that stands where it is told.
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

  /**
   * Moves the clock to an instant, which may lie in the past.
   *
   * @param newNowNanos nanoseconds since the Unix epoch, not negative
   */
  public void set(long newNowNanos) {
    nowNanos.set(notNegative(newNowNanos));
  }

  /**
   * Moves the clock.
   *
   * @param step how far; a negative step goes back
   */
  public void advance(Duration step) {
    advanceNanos(step.toNanos());
  }

  /**
   * Moves the clock.
   *
   * @param stepNanos how far; a negative step goes back
   */
  public void advanceNanos(long stepNanos) {
    var unused = nowNanos.updateAndGet(now -> notNegative(Math.addExact(now, stepNanos)));
  }

  private static long notNegative(long nanos) {
    if (nanos < 0) {
      throw new IllegalArgumentException(
          "nowNanos: found " + nanos + ", expected nanoseconds since the epoch, not negative");
    }
    return nanos;
  }
}
