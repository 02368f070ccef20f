// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The pace of a log that a flood cannot fill: one line in ten seconds, which says how many were
 * left out. Thread-safe; never blocks.
 */
public final class LogPace {

  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final LongSupplier nanoTime;
  private final AtomicLong nextNanos;
  private final AtomicLong leftOut = new AtomicLong();

  /** Makes a pace at which the first line may be written at once. */
  public LogPace(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.nextNanos = new AtomicLong(nanoTime.getAsLong());
  }

  /**
   * Asks whether a line may be written now.
   *
   * @return what to append to the line, with a space before it: how many were left out, or nothing;
   *     null if this line is to be left out
   */
  public @Nullable String next() {
    long nowNanos = nanoTime.getAsLong();
    long next = nextNanos.get();
    // nanoTime may wrap around: only differences mean something.
    if (nowNanos - next < 0 || !nextNanos.compareAndSet(next, nowNanos + PAUSE_NANOS)) {
      leftOut.incrementAndGet();
      return null;
    }
    long more = leftOut.getAndSet(0);
    return more == 0 ? "" : " (and %s more like it since)".formatted(more);
  }
}
