// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;

/**
 * A script that asks as fast as it can until it is denied, waits as long as it is told, and does it
 * again.
 */
final class Rogue implements Behaviour {

  private final long stepNanos;
  private final long firstNanos;

  Rogue(long stepNanos, long startNanos, Chance chance) {
    this.stepNanos = stepNanos;
    this.firstNanos = startNanos + chance.within(stepNanos);
  }

  @Override
  public long firstNanos() {
    return firstNanos;
  }

  @Override
  public long nextNanos(long nowNanos, Verdict verdict) {
    return nowNanos + (verdict.admitted() ? stepNanos : verdict.retryAfterNanos());
  }
}
