// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Limits a log to one line in ten seconds, and counts the omitted lines. Thread-safe. */
public final class LogPace {

  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final LongSupplier nanoTime;
  private final AtomicLong nextNanos;
  private final AtomicLong leftOut = new AtomicLong();

  /** Creates a pace; the first line can be written at once. */
  public LogPace(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.nextNanos = new AtomicLong(nanoTime.getAsLong());
  }

  /**
   * Returns whether a line can be written now.
   *
   * @return a text to append to the line: a space and the number of omitted lines, or an empty text
   *     if none was omitted; null if this line must be omitted
   */
  public @Nullable String next() {
    long nowNanos = nanoTime.getAsLong();
    long next = nextNanos.get();
    // nanoTime can wrap around, so only differences are meaningful.
    if (nowNanos - next < 0 || !nextNanos.compareAndSet(next, nowNanos + PAUSE_NANOS)) {
      leftOut.incrementAndGet();
      return null;
    }
    long more = leftOut.getAndSet(0);
    return more == 0 ? "" : " (similar lines omitted: %s)".formatted(more);
  }
}
