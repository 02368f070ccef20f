package dev.sluice.redis;

import dev.sluice.store.TimeSource;
import java.time.Duration;

/**
 * A clock of this process, by which the script decides instead of the server's. Thread-safe.
 *
 * @param time the clock
 * @param skew how far the clocks of the clients may differ, at most {@link #SLACK}. A TAT beyond
 *     now + τ is otherwise taken for the work of a clock that stepped back, or of a limit that
 *     shrank, and the next write puts it right. Up to so much beyond it is that of a clock that is
 *     ahead: to put it back would give tokens away with each turn, so this bucket is decided on by
 *     that clock.
 */
record ClientClock(TimeSource time, Duration skew) {

  /** How much longer than its debt a bucket is kept, for clients that are behind. */
  static final Duration SLACK = Duration.ofMinutes(10);

  /** Rounded up. */
  long skewMillis() {
    return skew.plusNanos(999_999).toMillis();
  }
}
