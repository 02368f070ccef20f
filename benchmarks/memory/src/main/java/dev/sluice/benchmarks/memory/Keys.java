// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Keys of 20 characters, and the order in which they are requested. The keys and the order are the
 * same in every run.
 */
final class Keys {

  private static final byte[] START = "user-".getBytes(StandardCharsets.US_ASCII);
  private static final int LENGTH = 20;
  private static final long STEP = 7_919; // so that neighbouring keys differ in several digits

  private Keys() {}

  /** Returns the key with a number, as ASCII bytes. */
  static byte[] ascii(int number) {
    byte[] ascii = Arrays.copyOf(START, LENGTH);
    long rest = number * STEP;
    for (int at = LENGTH - 1; at >= START.length; at--) {
      ascii[at] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
    return ascii;
  }

  static String text(int number) {
    return new String(ascii(number), StandardCharsets.ISO_8859_1);
  }

  /** Chooses the key of the next request. Not thread-safe. */
  interface Order {

    /** Returns the number of a key. */
    int next();
  }

  /**
   * Returns a random order of keys. All keys are equally likely; or, if {@code zipf}, key 0 is the
   * most frequent, and the frequency of the keys follows Zipf's law with the exponent 0.99.
   */
  static Order order(int count, boolean zipf, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    if (!zipf) {
      return () -> random.nextInt(count);
    }
    double[] cumulated = cumulated(count);
    return () -> search(cumulated, random.nextDouble());
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
    int found = Arrays.binarySearch(cumulated, share);
    return Math.min(found < 0 ? -found - 1 : found, cumulated.length - 1);
  }
}
