// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * Runs a test with many random histories. Each history has its own seed, which a failure reports.
 *
 * <p>Each run uses the same fixed seeds, and ten random seeds. {@code -Dsluice.seed=N} runs only
 * the history with the seed N.
 */
public final class Seeds {

  private static final String PROPERTY = "sluice.seed";
  private static final int FRESH = 10;

  private Seeds() {}

  /**
   * Runs a test with each seed.
   *
   * @param histories the number of fixed seeds, 0 or more
   * @param property the test; it must take all random numbers from its argument, and throw an
   *     exception if the test fails
   */
  public static void run(int histories, Consumer<Random> property) {
    for (long seed : seeds(histories)) {
      try {
        property.accept(new Random(seed));
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(
            "%s%nThe history has the seed %s; -D%s=%s runs only this history."
                .formatted(e.getMessage(), seed, PROPERTY, seed),
            e);
      }
    }
  }

  private static List<Long> seeds(int histories) {
    Long given = Long.getLong(PROPERTY);
    if (given != null) {
      return List.of(given);
    }
    return LongStream.concat(
            LongStream.range(0, histories), new SplittableRandom().longs(FRESH, 0, Long.MAX_VALUE))
        .boxed()
        .toList();
  }
}
