// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;

/**
 * A client that asks at random moments, often by day and seldom by night. Candidates come as at
 * noon, and each is kept with the share that its hour has of noon.
 */
final class DayAndNight implements Behaviour {

  private final double noonGapNanos;
  private final long dayNanos;
  private final double swing;
  private final long endNanos;
  private final Chance chance;

  /**
   * A client.
   *
   * @param meanGapNanos between two requests, over a whole day
   * @param dayNanos from midnight to midnight; the start is midnight
   * @param swing how far noon and midnight are from the mean, 0 to 1
   * @param endNanos of the run
   */
  DayAndNight(double meanGapNanos, long dayNanos, double swing, long endNanos, Chance chance) {
    this.noonGapNanos = meanGapNanos / (1 + swing);
    this.dayNanos = dayNanos;
    this.swing = swing;
    this.endNanos = endNanos;
    this.chance = chance;
  }

  /** How many candidates a run has, kept or not: what it costs. */
  double candidates() {
    return endNanos / noonGapNanos;
  }

  @Override
  public long firstNanos() {
    return after(0);
  }

  @Override
  public long nextNanos(long nowNanos, Verdict verdict) {
    return after(nowNanos);
  }

  private long after(long fromNanos) {
    long nanos = fromNanos;
    do {
      nanos += chance.gap(noonGapNanos);
    } while (nanos < endNanos && chance.share() * (1 + swing) > rate(nanos));
    return nanos < endNanos ? nanos : NEVER;
  }

  /** The rate at a time, the mean being 1. */
  private double rate(long nanos) {
    double turn = (double) (nanos % dayNanos) / dayNanos;
    return 1 - swing * StrictMath.cos(2 * Math.PI * turn);
  }
}
