// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * Checks a property with many random histories. Each history has its own seed. A failure reports
 * the seed.
 *
 * <p>Each run uses a fixed sequence of seeds, which is the same in every build, and ten further
 * seeds chosen at random. {@code -Dsluice.seed=N} runs only the history with the seed N.
 */
public final class Seeds {

  private static final String PROPERTY = "sluice.seed";
  private static final int FRESH = 10;

  private Seeds() {}

  /**
   * Runs a property.
   *
   * @param histories the number of fixed seeds, 0 or more
   * @param property the property to check; it receives the source of all its random numbers, and
   *     throws if the property is violated
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
