// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/**
 * A figure by which algorithms are compared. The table and the report list the figures in the order
 * of the constants.
 */
enum Measure {
  REQUESTS(
      "requests",
      "How many requests the clients sent. This number differs between algorithms if clients wait or retry after a denial."),
  ADMITTED("admitted", "Requests that were admitted."),
  DENIED("denied", "Requests that were denied."),
  CLIENTS_DENIED("clients ever denied", "The share of clients that were denied at least once."),
  NEVER_SERVED(
      "never served",
      "The number of clients that sent at least one request and were never admitted."),
  LOCKOUT(
      "longest lockout",
      "The longest time that one client was locked out: from a denial until its next admission. A client that was not admitted again counts as locked out until the retry time of its last denial."),
  PEAK(
      "peak",
      "The most requests that were admitted in one time step. The server behind the limit must be able to serve these requests."),
  VARIANCE(
      "variance",
      "How uneven the admitted rate is: the variance of the requests admitted in one time step. 0 is perfectly even. The last step does not count if it is shorter than the others."),
  /**
   * The requests that a leaky bucket denied only because its process drains buckets at intervals.
   */
  WRONGLY_DENIED(
      "wrongly denied",
      "For the leaky bucket only: denied requests that a bucket that leaks continuously would have admitted. The simulated bucket leaks only when its process runs.");

  private final String text;
  private final String meaning;

  Measure(String text, String meaning) {
    this.text = text;
    this.meaning = meaning;
  }

  /** Returns the name of the measure in a few words. */
  String label(long binNanos) {
    return this == PEAK ? text + " in " + Format.duration(binNanos) : text;
  }

  /** Explains the measure in a sentence or two. */
  String meaning() {
    return meaning;
  }

  /** Returns the value of this measure in a result, as text for people. */
  String of(RunResult result) {
    return switch (this) {
      case REQUESTS -> Format.whole(result.requests());
      case ADMITTED -> Format.whole(result.totalAdmitted());
      case DENIED -> Format.whole(result.totalDenied());
      case CLIENTS_DENIED -> Format.percent(result.shareOfClientsDenied());
      case NEVER_SERVED -> Format.whole(result.clientsNeverServed());
      case LOCKOUT -> Format.roundedDuration(result.longestLockoutNanos());
      case PEAK -> Format.whole(result.peak());
      case VARIANCE -> Format.brief(result.variance());
      case WRONGLY_DENIED ->
          result.wronglyDenied().isPresent()
              ? Format.whole(result.wronglyDenied().getAsLong())
              : "-";
    };
  }
}
