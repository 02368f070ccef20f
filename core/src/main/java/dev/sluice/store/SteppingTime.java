// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A clock that can step back by a bounded time. Thread-safe; never blocks. */
final class SteppingTime implements TimeSource {

  private final TimeSource time;
  private final long mostNanos;
  private final AtomicLong latestNanos = new AtomicLong();

  SteppingTime(TimeSource time, long mostNanos) {
    this.time = time;
    this.mostNanos = mostNanos;
  }

  @Override
  public long nanos() {
    long nowNanos = time.nanos();
    long latest = latestNanos.accumulateAndGet(nowNanos, Math::max);
    if (nowNanos < latest - mostNanos) {
      throw new UnchargedException(
          "the clock stepped back by %s, to %s ns since the epoch; this store allows steps back of at most %s"
              .formatted(
                  Duration.ofNanos(latest - nowNanos), nowNanos, Duration.ofNanos(mostNanos)));
    }
    return nowNanos;
  }

  long latestNanos() {
    return latestNanos.get();
  }
}
