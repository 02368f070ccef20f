// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;

/**
 * A client that wants one request to pass, and comes back when it was denied, after the time that
 * it was told. With jitter it waits for a random time more, which grows with each denial.
 */
final class Retrying implements Behaviour {

  /** The growth ends here: 2^20 waits are as good as never. */
  private static final int MOST_DOUBLINGS = 20;

  private final long firstNanos;
  private final long tries;
  private final double jitter;
  private final Chance chance;
  private int denials;

  /**
   * A client.
   *
   * @param firstNanos when it asks first
   * @param tries after so many it gives up
   * @param jitter the random share that is added to the first wait; doubled with each denial
   */
  Retrying(long firstNanos, long tries, double jitter, Chance chance) {
    this.firstNanos = firstNanos;
    this.tries = tries;
    this.jitter = jitter;
    this.chance = chance;
  }

  @Override
  public long firstNanos() {
    return firstNanos;
  }

  @Override
  public long nextNanos(long nowNanos, Verdict verdict) {
    denials++;
    if (verdict.admitted() || denials >= tries) {
      return NEVER;
    }
    int doublings = Math.min(denials - 1, MOST_DOUBLINGS);
    double more = chance.share() * jitter * (1 << doublings) * verdict.retryAfterNanos();
    // A wait that is longer than any run may not overflow.
    return nowNanos + verdict.retryAfterNanos() + (long) Math.min(more, Long.MAX_VALUE / 4.0);
  }
}
