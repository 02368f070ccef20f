package dev.sluice.benchmarks.memory;

import java.util.Random;

/** Keys of 20 characters, and the order in which they are asked for: the same in each run. */
final class Keys {

  private static final int ORDER = 1 << 22; // a power of two: its end is found by a mask

  private Keys() {}

  static String[] make(int count) {
    String[] keys = new String[count];
    for (int i = 0; i < count; i++) {
      keys[i] = "user-%015d".formatted(i * 7_919L);
    }
    return keys;
  }

  /** Indexes of keys, uniform or after Zipf's law with the exponent 0.99 (key 0 is the hottest). */
  static int[] order(int count, boolean zipf, long seed) {
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
