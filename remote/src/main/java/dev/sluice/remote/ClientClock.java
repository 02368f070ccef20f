// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.TimeSource;
import java.time.Duration;

/**
 * A clock of this process, by which the store decides instead of the server's. Thread-safe.
 *
 * @param time the clock
 * @param skew how far the clocks of the clients may differ, at most {@link #SLACK}. A TAT that lies
 *     beyond now + τ by less was written by a clock that is ahead: it is not a debt that could be
 *     forgiven
 */
public record ClientClock(TimeSource time, Duration skew) {

  /** How much longer than its debt a bucket is kept, for clients that are behind. */
  public static final Duration SLACK = Duration.ofMinutes(10);
}
