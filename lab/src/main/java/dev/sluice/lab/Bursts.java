// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;

/** A client that asks several times in a row, at random moments; bursts of one are plain chance. */
final class Bursts implements Behaviour {

  private final double meanGapNanos;
  private final long size;
  private final long stepNanos;
  private final Chance chance;
  private long left;

  /**
   * A client.
   *
   * @param meanGapNanos between the last request of a burst and the first of the next
   * @param size how many requests a burst has
   * @param stepNanos between the requests of a burst
   */
  Bursts(double meanGapNanos, long size, long stepNanos, Chance chance) {
    this.meanGapNanos = meanGapNanos;
    this.size = size;
    this.stepNanos = stepNanos;
    this.chance = chance;
  }

  @Override
  public long firstNanos() {
    left = size - 1;
    return chance.gap(meanGapNanos);
  }

  @Override
  public long nextNanos(long nowNanos, Verdict verdict) {
    if (left > 0) {
      left--;
      return nowNanos + stepNanos;
    }
    left = size - 1;
    return nowNanos + chance.gap(meanGapNanos);
  }
}
