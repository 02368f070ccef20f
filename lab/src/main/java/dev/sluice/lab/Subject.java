// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;
import java.util.List;

/**
 * An algorithm together with a limit. A comparison has one or more subjects. Only a leaky bucket
 * uses the schedule {@code drip}.
 */
public record Subject(Algorithm algorithm, Quota quota, Drip drip) {

  /**
   * The most runs of the drip process in one simulation. A simulation with more than {@code
   * MOST_DRIPS} runs would take hours.
   */
  private static final long MOST_DRIPS = 100_000_000;

  /**
   * Checks that this limit can be simulated.
   *
   * @throws IllegalArgumentException if a bucket takes more than ten years to fill
   */
  public Subject {
    if (quota.offsetNanos() > Scenario.LONGEST.toNanos()) {
      throw new IllegalArgumentException(
          "limit: the bucket of %s takes %s to fill; at most 10 years are allowed"
              .formatted(Format.quota(quota), Format.roundedDuration(quota.offsetNanos())));
    }
  }

  /** Creates a subject with a drip process that never stalls. */
  public Subject(Algorithm algorithm, Quota quota) {
    this(algorithm, quota, Drip.HEALTHY);
  }

  /** Creates a limiter with full buckets for a run of the given length. */
  SimulatedLimiter start(long lengthNanos) {
    if (algorithm == Algorithm.LEAKY_BUCKET) {
      long every = drip.everyNanos(quota);
      if (lengthNanos / every > MOST_DRIPS) {
        throw new IllegalArgumentException(
            "drip: one drip every %s for %s makes more than %s drips, the most allowed; make the drip less frequent"
                .formatted(Format.duration(every), Format.duration(lengthNanos), MOST_DRIPS));
      }
    }
    return algorithm.start(quota, drip);
  }

  /**
   * Returns the shortest labels that distinguish the subjects of a comparison: their algorithms,
   * their limits, or both.
   */
  static List<String> labels(List<Subject> subjects) {
    boolean oneLimit = subjects.stream().map(Subject::quota).distinct().count() == 1;
    boolean oneAlgorithm = subjects.stream().map(Subject::algorithm).distinct().count() == 1;
    return subjects.stream()
        .map(
            subject -> {
              if (oneLimit) {
                return subject.algorithm.toString();
              }
              return oneAlgorithm ? Format.quota(subject.quota) : subject.toString();
            })
        .toList();
  }

  /** Returns the algorithm and the limit as text. */
  @Override
  public String toString() {
    return algorithm + " " + Format.quota(quota);
  }
}
