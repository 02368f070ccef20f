// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/** The figures by which algorithms are compared, as the terminal and the report show them. */
public enum Measure {
  /** All requests. */
  REQUESTS(
      "requests",
      "How often clients asked. It differs where clients come back sooner or later, as they were told."),
  /** Those that passed. */
  ADMITTED("admitted", "Requests that passed."),
  /** Those that did not. */
  DENIED("denied", "Requests that were turned away."),
  /** The share of clients that saw a denial. */
  CLIENTS_DENIED(
      "clients ever denied", "The share of clients that were turned away at least once."),
  /** How many clients got nothing. */
  NEVER_SERVED(
      "never served", "The number of clients that asked, perhaps often, and were never admitted."),
  /** The longest time in vain. */
  LOCKOUT(
      "longest lockout",
      "The longest time that one client asked in vain: from a denial until it was admitted again, or until its last denial told it to come back."),
  /** The highest rate. */
  PEAK(
      "peak",
      "The most requests that passed in one step of time: what the server behind must bear."),
  /** How uneven the rate is. */
  VARIANCE(
      "variance",
      "How uneven the admitted rate is: the variance of the requests that passed in a step. 0 is perfectly even. A last step that is cut short does not count."),
  /** The leaky bucket's mistakes. */
  WRONGLY_DENIED(
      "wrongly denied",
      "For the leaky bucket only: requests that were turned away although there would have been room, had"
          + " the bucket leaked all the time instead of when its process came by.");

  private final String text;
  private final String meaning;

  Measure(String text, String meaning) {
    this.text = text;
    this.meaning = meaning;
  }

  /**
   * Returns its name.
   *
   * @param binNanos the step over which rates are measured
   * @return a few words
   */
  public String label(long binNanos) {
    return this == PEAK ? text + " in " + Spans.exact(binNanos) : text;
  }

  /**
   * Returns its meaning.
   *
   * @return a sentence or two
   */
  public String meaning() {
    return meaning;
  }

  /**
   * Its value.
   *
   * @param outcome of a run
   * @return for people
   */
  public String of(RunResult outcome) {
    return switch (this) {
      case REQUESTS -> Numbers.whole(outcome.requests());
      case ADMITTED -> Numbers.whole(outcome.totalAdmitted());
      case DENIED -> Numbers.whole(outcome.totalDenied());
      case CLIENTS_DENIED -> Numbers.percent(outcome.shareOfClientsDenied());
      case NEVER_SERVED -> Numbers.whole(outcome.clientsNeverServed());
      case LOCKOUT -> Spans.rounded(outcome.longestLockoutNanos());
      case PEAK -> Numbers.whole(outcome.peak());
      case VARIANCE -> Numbers.brief(outcome.variance());
      case WRONGLY_DENIED ->
          outcome.wronglyDenied().isPresent()
              ? Numbers.whole(outcome.wronglyDenied().getAsLong())
              : "-";
    };
  }
}
