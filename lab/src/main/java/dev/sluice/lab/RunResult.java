// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.List;
import java.util.OptionalLong;

/**
 * The result of a run. Immutable.
 *
 * @param clientsDenied the number of clients that were denied at least once
 * @param clientsNeverServed the number of denied clients that were never admitted
 * @param longestLockoutNanos the longest lockout of one client: the time from a denial to the
 *     client's next admission. If the client is not admitted again, the lockout ends when the
 *     {@code retryAfter} of the last denial ends, or at the end of the run
 * @param lockedOut the client with the longest lockout; empty if no client was denied
 * @param wronglyDenied the denied requests that a bucket that leaks continuously would have
 *     admitted; empty except for a leaky bucket
 * @param binNanos the time step over which requests are counted
 * @param admitted the admitted requests of each step
 * @param denied the denied requests of each step
 * @param level the level of the watched client's bucket over time
 */
public record RunResult(
    Subject subject,
    int clients,
    int clientsDenied,
    int clientsNeverServed,
    long longestLockoutNanos,
    String lockedOut,
    OptionalLong wronglyDenied,
    long lengthNanos,
    long binNanos,
    List<Long> admitted,
    List<Long> denied,
    List<Point> level) {

  /**
   * A value, such as the level of a bucket, at one point in time of the run.
   *
   * @param nanos the time since the start of the run
   * @param value the value; for the level of a bucket, the spent tokens that are not yet refilled,
   *     0 to the burst
   */
  public record Point(long nanos, double value) {}

  long requests() {
    return totalAdmitted() + totalDenied();
  }

  long totalAdmitted() {
    return sum(admitted);
  }

  long totalDenied() {
    return sum(denied);
  }

  /** The share of clients that were denied at least once, 0 to 1. */
  double shareOfClientsDenied() {
    return (double) clientsDenied / clients;
  }

  /** The largest number of requests that were admitted in one step. */
  long peak() {
    return admitted.stream().mapToLong(n -> n).max().orElse(0);
  }

  /**
   * The largest number of requests that were admitted in one step after the first period of the
   * limit, when the first burst is spent; 0 if the run is not longer than the period.
   */
  long peakAfterTheFirstPeriod() {
    long firstBins = (subject.quota().period().toNanos() + binNanos - 1) / binNanos;
    return admitted.stream().skip(firstBins).mapToLong(n -> n).max().orElse(0);
  }

  /**
   * The variance of the admitted requests per step; 0 means perfectly even. If the end of the run
   * shortens the last step, this step is left out, since it has fewer requests.
   */
  double variance() {
    List<Long> whole = admitted.subList(0, (int) (lengthNanos / binNanos));
    double mean = (double) sum(whole) / whole.size();
    double squares = 0;
    for (long n : whole) {
      squares += (n - mean) * (n - mean);
    }
    return squares / whole.size();
  }

  private static long sum(List<Long> numbers) {
    return numbers.stream().mapToLong(n -> n).sum();
  }
}
