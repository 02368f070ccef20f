// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

/** Random numbers from a seed, the same on every JDK (SplitMix64). Not thread-safe. */
final class Dice {

  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private long state;

  Dice(long seed) {
    this.state = seed;
  }

  /** Returns an independent generator, whose use does not change the numbers of this generator. */
  Dice fork(long purpose) {
    return new Dice(mixed(state ^ mixed(purpose * GOLDEN + 1)));
  }

  long next() {
    state += GOLDEN;
    return mixed(state);
  }

  static long mixed(long bits) {
    long z = bits;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** Returns a number from 0 to {@code bound - 1}. */
  int below(int bound) {
    return (int) ((next() >>> 33) % bound);
  }

  /** Returns a number from {@code least} to {@code most}. */
  long between(long least, long most) {
    return least + Long.remainderUnsigned(next(), most - least + 1);
  }

  boolean chance(int percent) {
    return below(100) < percent;
  }

  @SafeVarargs
  final <T> T one(T... of) {
    return of[below(of.length)];
  }
}
