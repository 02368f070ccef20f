// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.stats.TopDenied.SpaceSaving;
import dev.sluice.server.stats.TopDenied.SpaceSaving.Estimate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SpaceSavingTest {

  @Test
  void fewItems_areCountedExactly() {
    SpaceSaving sketch = new SpaceSaving(4);
    List.of("a", "b", "a", "c", "a").forEach(item -> sketch.add(item, 1));

    assertThat(sketch.estimates())
        .containsExactlyInAnyOrder(
            new Estimate("a", 3, 3), new Estimate("b", 1, 1), new Estimate("c", 1, 1));
    assertThat(sketch.mostUncounted()).isZero();
  }

  /** Against a count of everything: the promises of the paper, on skewed and on flat streams. */
  @ParameterizedTest
  @CsvSource({"1, 3.0, 64", "2, 1.2, 64", "3, 1.0, 16", "4, 6.0, 1", "5, 2.0, 128"})
  void estimates_holdTheTruth_andNoFrequentItemIsMissing(long seed, double skew, int capacity) {
    SplittableRandom random = new SplittableRandom(seed);
    SpaceSaving sketch = new SpaceSaving(capacity);
    Map<String, Long> exact = new HashMap<>();
    int items = 50_000;
    for (int i = 0; i < items; i++) {
      String item = "id" + (int) (5_000 * Math.pow(random.nextDouble(), skew));
      sketch.add(item, 1);
      exact.merge(item, 1L, Long::sum);
    }

    Map<String, Estimate> estimates = new HashMap<>();
    sketch.estimates().forEach(one -> estimates.put(one.item(), one));

    assertThat(estimates).hasSizeLessThanOrEqualTo(capacity);
    assertThat(sketch.mostUncounted()).isLessThanOrEqualTo(items / capacity);
    exact.forEach(
        (item, count) -> {
          Estimate estimate = estimates.get(item);
          if (estimate == null) {
            assertThat(count).as(item).isLessThanOrEqualTo(sketch.mostUncounted());
          } else {
            assertThat(count).as(item).isBetween(estimate.atLeast(), estimate.atMost());
            assertThat(estimate.atMost() - estimate.atLeast())
                .isLessThanOrEqualTo(items / capacity);
          }
        });
  }

  /** An attacker who never repeats an id pushes nobody out who comes again and again. */
  @Test
  void aFloodOfIdsThatComeOnce_doesNotHideTheFrequentOne() {
    SpaceSaving sketch = new SpaceSaving(16);
    IntStream.range(0, 20_000)
        .forEach(
            i -> {
              sketch.add("once" + i, 1);
              if (i % 10 == 0) {
                sketch.add("often", 1);
              }
            });

    assertThat(sketch.estimates()).hasSize(16).anyMatch(one -> one.item().equals("often"));
  }
}
