// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

/*
 * HyperLogLog: 14 bits of each hash choose a register. The other bits of the hash have a number of
 * leading zeros, and the register stores the largest of these numbers. The standard error is 1.04 /
 * sqrt(2^14) = 0.8 %. Small counts are estimated from the number of empty registers. Flajolet et
 * al., "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm", 2007.
 */
/** Estimates the number of different values, with 16 KiB of memory. Not thread-safe. */
final class Sketch {

  private static final int BITS = 14;
  private static final int REGISTERS = 1 << BITS;
  private static final double ALPHA = 0.7213 / (1 + 1.079 / REGISTERS);

  private final byte[] registers = new byte[REGISTERS];

  static long hash(byte[] text) {
    long hash = 0xcbf29ce484222325L;
    for (byte one : text) {
      hash = (hash ^ one) * 0x100000001b3L;
    }
    hash = (hash ^ (hash >>> 30)) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ (hash >>> 27)) * 0x94d049bb133111ebL;
    return hash ^ (hash >>> 31);
  }

  /**
   * Returns the number of the shard to which a hash belongs, from 0. The shard of an id must never
   * change. The shard must not depend on the bits of the hash that tables and sketches use.
   */
  static int shard(long hash, int of) {
    long mixed = (hash ^ (hash >>> 32)) * 0x9e3779b97f4a7c15L;
    return (int) Long.remainderUnsigned(mixed ^ (mixed >>> 29), of);
  }

  void add(long hash) {
    int register = (int) (hash >>> (Long.SIZE - BITS));
    int zeros = Long.numberOfLeadingZeros((hash << BITS) | (1L << (BITS - 1))) + 1;
    if (zeros > registers[register]) {
      registers[register] = (byte) zeros;
    }
  }

  long estimate() {
    double sum = 0;
    int empty = 0;
    for (byte register : registers) {
      sum += 1.0 / (1L << register);
      empty += register == 0 ? 1 : 0;
    }
    double estimate = ALPHA * REGISTERS * REGISTERS / sum;
    return Math.round(
        estimate <= 2.5 * REGISTERS && empty > 0
            ? REGISTERS * Math.log((double) REGISTERS / empty)
            : estimate);
  }
}
