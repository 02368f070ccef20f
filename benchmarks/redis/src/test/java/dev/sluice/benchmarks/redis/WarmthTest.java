// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** When a JVM counts as warm. */
final class WarmthTest {

  private final Warmth warmth = new Warmth();

  private void add(double... rates) {
    for (double rate : rates) {
      warmth.add(rate, 0);
    }
  }

  @Test
  void fewSpans_tellNothing() {
    add(80, 80, 80, 80, 80);
    assertThat(warmth.isStable()).isFalse();
  }

  @Test
  void risingRate_isNotStable() {
    add(33, 36, 39, 42, 45, 48);
    assertThat(warmth.isStable()).isFalse();
    add(70, 80, 80);
    assertThat(warmth.isStable()).isFalse();
  }

  @Test
  void rateThatStays_isStable_whateverTheNoise() {
    add(33, 60, 84, 76, 80, 82, 78);
    assertThat(warmth.isStable()).isFalse();
    add(80);
    assertThat(warmth.isStable()).isTrue();
  }

  @Test
  void busyCompiler_isNotStable_whateverTheRate() {
    for (int i = 0; i < 9; i++) {
      warmth.add(80, 0.2);
    }
    assertThat(warmth.isStable()).isFalse();
    add(80, 80);
    assertThat(warmth.isStable()).isFalse();
    add(80);
    assertThat(warmth.isStable()).isTrue();
  }
}
