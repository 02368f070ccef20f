// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The schedule of the process that drains leaky buckets: the times of its runs, and how much each
 * run drains.
 *
 * @param every the time between two runs of the drain process. Each run removes the tokens that
 *     leak between two runs. Zero means the emission interval of the limit, so that a run removes
 *     one token
 * @param bucketsPerRun the most buckets that one run drains; the remaining buckets wait for the
 *     next run; 0 for no bound
 */
public record Drip(Duration every, int bucketsPerRun, List<Stall> stalls) {

  /** A process that never stalls and drains every bucket, one token at a time. */
  public static final Drip HEALTHY = new Drip(Duration.ZERO, 0, List.of());

  /**
   * Checks the values of a schedule.
   *
   * @throws IllegalArgumentException if a duration or a number is negative
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
   * Returns a copy of this schedule with one more stall. {@code from} is the time from the start of
   * the simulation to the stall.
   */
  public Drip stalledFrom(Duration from, Duration length) {
    List<Stall> more = new ArrayList<>(stalls);
    more.add(new Stall(from, length));
    return new Drip(every, bucketsPerRun, more);
  }

  /** Returns the time between two runs of the process that drains a limit's leaky buckets. */
  long everyNanos(Quota quota) {
    return every.isZero() ? quota.intervalNanos() : every.toNanos();
  }

  /**
   * A time span in which the drain process does not run. Later runs do not drain what the missed
   * runs would have drained.
   *
   * @param from the time from the start of the simulation to the stall
   */
  public record Stall(Duration from, Duration length) {

    /**
     * Checks the values of a stall.
     *
     * @throws IllegalArgumentException if the start is negative, the length is not positive, or one
     *     of the durations is longer than ten years
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

    /** Returns the time from the start of the simulation to the end of the stall. */
    Duration end() {
      return from.plus(length);
    }
  }
}
