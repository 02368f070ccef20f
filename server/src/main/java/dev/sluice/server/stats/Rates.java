// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * How many spends of a limit had which outcome, second by second. Immutable and thread-safe.
 *
 * @param limit the limit's name
 * @param perSecond the counts of the last {@link RateHistory#SECONDS} seconds, oldest first; an
 *     outcome without any is missing
 */
public record Rates(String limit, Map<SpendOutcome, List<Integer>> perSecond) {

  /**
   * Copies the counts.
   *
   * @param limit the limit's name
   * @param perSecond the counts
   */
  public Rates {
    perSecond = Map.copyOf(perSecond);
  }

  static Rates of(String limit, Map<SpendOutcome, int[]> rings, int next) {
    Map<SpendOutcome, List<Integer>> counts = new EnumMap<>(SpendOutcome.class);
    rings.forEach(
        (outcome, ring) -> {
          if (Arrays.stream(ring).anyMatch(count -> count > 0)) {
            counts.put(outcome, inOrder(ring, next));
          }
        });
    return new Rates(limit, counts);
  }

  private static List<Integer> inOrder(int[] ring, int next) {
    int[] ordered = new int[ring.length];
    System.arraycopy(ring, next, ordered, 0, ring.length - next);
    System.arraycopy(ring, 0, ordered, ring.length - next, next);
    return Arrays.stream(ordered).boxed().toList();
  }
}
