// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.time.Duration;
import java.util.function.DoubleSupplier;

/**
 * How long to wait before the next try: twice as long after each failure, up to a bound. Each wait
 * lies somewhere in the upper half of that, so that many clients of one database that came back
 * don't all ask at once. Immutable.
 *
 * @param first the wait after the first failure
 * @param longest the bound
 * @param random from 0 to 1
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
