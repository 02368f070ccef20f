// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.time.Duration;
import java.util.function.DoubleSupplier;

/**
 * Computes the wait before the next try. The wait doubles after each failure, up to a bound. A
 * random part of up to half of the wait is subtracted, so that many clients do not call a database
 * all at once when it is back. Immutable.
 *
 * @param first the wait after the first failure
 * @param longest the longest wait
 * @param random returns random numbers from 0 to 1
 */
record Backoff(Duration first, Duration longest, DoubleSupplier random) {

  private static final int MOST_DOUBLINGS = 30;

  Duration afterFailures(int failures) {
    long doubled = first.toNanos();
    for (int i = 1; i < Math.min(failures, MOST_DOUBLINGS) && doubled < longest.toNanos(); i++) {
      doubled *= 2;
    }
    return jittered(Duration.ofNanos(Math.min(doubled, longest.toNanos())));
  }

  Duration jittered(Duration wait) {
    return Duration.ofNanos((long) (wait.toNanos() * (0.5 + random.getAsDouble() / 2)));
  }
}
