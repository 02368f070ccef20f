// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.TimeSource;
import java.time.Duration;

/**
 * A clock of this process with which the store decides instead of the server's clock. Thread-safe.
 *
 * @param time the clock
 * @param skew the largest difference between the clients' clocks, at most {@link #SLACK}. If a TAT
 *     exceeds now + τ by less than the skew, a process whose clock is ahead can have written the
 *     TAT, so such a TAT is not treated as a debt to be forgiven
 */
public record ClientClock(TimeSource time, Duration skew) {

  /**
   * The extra time for which a bucket is kept after its TAT, for clients whose clocks are behind.
   */
  public static final Duration SLACK = Duration.ofMinutes(10);
}
