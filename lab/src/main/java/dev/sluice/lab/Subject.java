// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;

/**
 * An algorithm with a limit, put to the test.
 *
 * @param kind the algorithm
 * @param quota the limit: {@code burst} tokens in the time in which an empty bucket fills
 * @param drip how a leaky bucket is drained; the other algorithms have no such process
 */
public record Subject(Algorithm kind, Quota quota, Drip drip) {

  /** The most runs of a drip process in one simulation; more would take hours. */
  private static final long MOST_RUNS = 100_000_000;

  /**
   * Checks that the limit can be simulated.
   *
   * @param kind the algorithm
   * @param quota the limit
   * @param drip of a leaky bucket
   * @throws IllegalArgumentException for a bucket that takes more than ten years to fill
   */
  public Subject {
    if (quota.offsetNanos() > Scenario.LONGEST.toNanos()) {
      throw new IllegalArgumentException(
          "limit: found %s, whose bucket takes %s to fill, expected at most 10 years"
              .formatted(QuotaText.format(quota), Spans.rounded(quota.offsetNanos())));
    }
  }

  /**
   * An algorithm whose process, if it has one, is always there.
   *
   * @param kind the algorithm
   * @param quota the limit
   */
  public Subject(Algorithm kind, Quota quota) {
    this(kind, quota, Drip.HEALTHY);
  }

  /** The algorithm, with all buckets full, for a run of a length. */
  SimulatedLimiter start(long lengthNanos) {
    if (kind == Algorithm.LEAKY_BUCKET) {
      long every = drip.everyNanos(quota);
      if (lengthNanos / every > MOST_RUNS) {
        throw new IllegalArgumentException(
            "drip: found a run every %s for %s, expected at most %s runs; let it come less often"
                .formatted(Spans.exact(every), Spans.exact(lengthNanos), MOST_RUNS));
      }
    }
    return kind.start(quota, drip);
  }

  /** The algorithm and the limit. */
  @Override
  public String toString() {
    return kind + " " + QuotaText.format(quota);
  }
}
