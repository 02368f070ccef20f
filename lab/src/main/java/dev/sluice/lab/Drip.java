// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How the process runs that drains leaky buckets: by the clock, unless it stalls.
 *
 * @param every the time between two runs; each run takes from a bucket what leaks in that time.
 *     Zero is the limit's emission interval, so that a run takes one token
 * @param bucketsPerRun how many buckets a run gets done, the others wait for the next one; 0 for as
 *     many as there are
 * @param stalls when the process does not run
 */
public record Drip(Duration every, int bucketsPerRun, List<Stall> stalls) {

  /** A process that is always there and drains every bucket, one token at a time. */
  public static final Drip HEALTHY = new Drip(Duration.ZERO, 0, List.of());

  /**
   * Copies the list.
   *
   * @param every 0 or longer
   * @param bucketsPerRun 0 or more
   * @param stalls in any order
   * @throws IllegalArgumentException for a negative time or number
   */
  public Drip {
    if (every.isNegative()) {
      throw new IllegalArgumentException("every: found " + every + ", expected a duration >= 0");
    }
    if (bucketsPerRun < 0) {
      throw new IllegalArgumentException(
          "bucketsPerRun: found " + bucketsPerRun + ", expected a whole number >= 0");
    }
    stalls = List.copyOf(stalls);
  }

  /**
   * The same process, with a stall more.
   *
   * @param from when it stops, since the start
   * @param length for how long
   * @return a new description
   */
  public Drip stalledFrom(Duration from, Duration length) {
    List<Stall> more = new ArrayList<>(stalls);
    more.add(new Stall(from, length));
    return new Drip(every, bucketsPerRun, more);
  }

  /** The time between two runs under a limit. */
  long everyNanos(Quota quota) {
    return every.isZero() ? quota.intervalNanos() : every.toNanos();
  }

  /**
   * A time in which the process does not run; what should have leaked then never does.
   *
   * @param from when it stops, since the start
   * @param length for how long
   */
  public record Stall(Duration from, Duration length) {

    /**
     * Checks both.
     *
     * @param from 0 or later
     * @param length longer than 0
     * @throws IllegalArgumentException for a negative start, a length that is not positive, or more
     *     than ten years
     */
    public Stall {
      if (from.isNegative()
          || length.isNegative()
          || length.isZero()
          || from.compareTo(Scenario.LONGEST) > 0
          || length.compareTo(Scenario.LONGEST) > 0) {
        throw new IllegalArgumentException(
            "found a stall from %s for %s, expected a start >= 0 and a length > 0, each at most 10 years"
                .formatted(from, length));
      }
    }

    /**
     * When it goes on.
     *
     * @return since the start
     */
    public Duration end() {
      return from.plus(length);
    }
  }
}
