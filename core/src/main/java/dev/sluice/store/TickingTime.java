// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** The clock that {@link TimeSource#ticking} returns. Thread-safe. */
final class TickingTime implements TimeSource.Ticking {

  private static final Duration SHORTEST = Duration.ofNanos(100_000);
  private static final Duration LONGEST = Duration.ofSeconds(1);

  final TimeSource exact = TimeSource.system();
  private final long tickNanos;
  private volatile long nowNanos = exact.nanos();
  private volatile boolean closed;

  private TickingTime(long tickNanos) {
    this.tickNanos = tickNanos;
  }

  static TickingTime every(Duration tick) {
    if (tick.compareTo(SHORTEST) < 0 || tick.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "tick: found " + tick + ", expected 100 microseconds to 1 second");
    }
    TickingTime time = new TickingTime(tick.toNanos());
    Thread thread = new Thread(time::run, "sluice-ticking-time");
    thread.setDaemon(true);
    thread.start();
    return time;
  }

  @Override
  public long nanos() {
    return nowNanos;
  }

  @Override
  public void close() {
    closed = true;
  }

  private void run() {
    while (!closed) {
      LockSupport.parkNanos(tickNanos);
      Thread.interrupted(); // clears the flag; otherwise the next park would return at once
      nowNanos = exact.nanos();
    }
  }
}
