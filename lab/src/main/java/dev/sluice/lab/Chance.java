// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import java.util.Random;

/**
 * The chance of one client: the same from the same seed, on every JDK. {@link Random} is specified
 * to the bit, {@link StrictMath} too.
 */
final class Chance {

  private final Random random;

  Chance(long seed, int client) {
    this.random = new Random(mixed(mixed(seed) + client));
  }

  /** Spreads neighbouring numbers over all longs: the finalizer of SplitMix64. */
  private static long mixed(long number) {
    long z = number + 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  /** From 0 to almost 1. */
  double share() {
    return random.nextDouble();
  }

  /** A time from 0 to almost the span, evenly. */
  long within(long spanNanos) {
    return (long) (random.nextDouble() * spanNanos);
  }

  /** The time to the next of events that come at random, at least 1. */
  long gap(double meanNanos) {
    double gapNanos = -StrictMath.log(1 - random.nextDouble()) * meanNanos;
    return (long) Math.min(gapNanos, Long.MAX_VALUE / 4.0) + 1; // longer than any run, no overflow
  }
}
