// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.util.Locale;
import java.util.Random;

/**
 * Keys of 20 characters, and the requests for them, the same in each run.
 *
 * <p>A request brings its id as a text of its own, as a server reads one from the network: equal to
 * the key, not the same object, and near in memory. A table that keeps keys must compare them.
 */
final class Keys {

  private static final int ORDER = 1 << 21; // a power of two: its end is found by a mask

  private Keys() {}

  static String[] make(int count) {
    String[] keys = new String[count];
    for (int i = 0; i < count; i++) {
      keys[i] = String.format(Locale.ROOT, "user-%015d", i * 7_919L);
    }
    return keys;
  }

  /** As many ids as a power of two, in the order in which they are asked for. */
  static String[] requests(String[] keys, boolean zipf, long seed) {
    int[] order = order(keys.length, zipf, seed);
    String[] requests = new String[order.length];
    for (int i = 0; i < order.length; i++) {
      requests[i] = new String(keys[order[i]].toCharArray());
    }
    return requests;
  }

  /** Indexes of keys, uniform or after Zipf's law with the exponent 0.99 (key 0 is the hottest). */
  private static int[] order(int count, boolean zipf, long seed) {
    Random random = new Random(seed);
    int[] order = new int[ORDER];
    double[] cumulated = zipf ? cumulated(count) : new double[0];
    for (int i = 0; i < order.length; i++) {
      order[i] = zipf ? search(cumulated, random.nextDouble()) : random.nextInt(count);
    }
    return order;
  }

  private static double[] cumulated(int count) {
    double[] sums = new double[count];
    double sum = 0;
    for (int i = 0; i < count; i++) {
      sum += Math.pow(i + 1, -0.99);
      sums[i] = sum;
    }
    for (int i = 0; i < count; i++) {
      sums[i] /= sum;
    }
    return sums;
  }

  private static int search(double[] cumulated, double share) {
    int found = java.util.Arrays.binarySearch(cumulated, share);
    return Math.min(found < 0 ? -found - 1 : found, cumulated.length - 1);
  }
}
