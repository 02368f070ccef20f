// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.List;
import java.util.OptionalLong;

/**
 * The result of a run. Immutable.
 *
 * @param subject what was put to the test
 * @param clients how many there were
 * @param clientsDenied how many of them were denied at least once
 * @param clientsNeverServed how many of those were never admitted
 * @param longestLockoutNanos the longest time that a client asked in vain: from a denial to the
 *     next admission. Where there is none, it ends when the last denial told it to come back, or
 *     with the run
 * @param lockedOut whose that was; empty if nobody was denied
 * @param wronglyDenied for a leaky bucket: denials of requests for which there would have been room
 *     had it leaked all the time
 * @param lengthNanos of the run
 * @param binNanos the time over which requests are counted
 * @param admitted how many requests passed, by bin
 * @param denied how many requests did not, by bin
 * @param level the bucket of the watched client
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
    List<LevelPoint> level) {

  /**
   * All requests.
   *
   * @return admitted and denied
   */
  public long requests() {
    return totalAdmitted() + totalDenied();
  }

  /**
   * The requests that passed.
   *
   * @return their number
   */
  public long totalAdmitted() {
    return sum(admitted);
  }

  /**
   * The requests that did not pass.
   *
   * @return their number
   */
  public long totalDenied() {
    return sum(denied);
  }

  /**
   * The share of clients that were denied at least once.
   *
   * @return 0 to 1
   */
  public double shareOfClientsDenied() {
    return (double) clientsDenied / clients;
  }

  /**
   * The highest admitted rate.
   *
   * @return requests a bin
   */
  public long peak() {
    return admitted.stream().mapToLong(n -> n).max().orElse(0);
  }

  /**
   * The highest admitted rate after the first period of the limit, when its burst is spent.
   *
   * @return requests a bin; 0 where the run is no longer than the period
   */
  public long peakAfterTheFirstPeriod() {
    long firstBins = (subject.quota().period().toNanos() + binNanos - 1) / binNanos;
    return admitted.stream().skip(firstBins).mapToLong(n -> n).max().orElse(0);
  }

  /**
   * How uneven the admitted rate is. A last bin that the end of the run cuts short is left out, as
   * it has fewer requests however even they are.
   *
   * @return the variance of the admitted requests a bin; 0 if every bin has the same
   */
  public double variance() {
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
