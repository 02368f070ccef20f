// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;

/** A client that asks at even intervals, from a random moment of the first one. */
final class Even implements Behaviour {

  private final long everyNanos;
  private final long firstNanos;

  Even(long everyNanos, Chance chance) {
    this.everyNanos = everyNanos;
    this.firstNanos = chance.within(everyNanos);
  }

  @Override
  public long firstNanos() {
    return firstNanos;
  }

  @Override
  public long nextNanos(long nowNanos, Verdict verdict) {
    return nowNanos + everyNanos;
  }
}
