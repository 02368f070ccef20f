// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class GcraTest {

  private static final long MAX = Long.MAX_VALUE;

  @Test
  void aheadNanos_tatInThePastOrNone_isZero() {
    assertThat(Gcra.aheadNanos(1_000, Gcra.NO_TAT)).isZero();
    assertThat(Gcra.aheadNanos(1_000, 999)).isZero();
    assertThat(Gcra.aheadNanos(1_000, 1_000)).isZero();
    assertThat(Gcra.aheadNanos(0, Gcra.NO_TAT)).isZero();
  }

  @Test
  void aheadNanos_tatInTheFuture_isTheDistance() {
    assertThat(Gcra.aheadNanos(1_000, 1_001)).isEqualTo(1);
    assertThat(Gcra.aheadNanos(1_000, 1_050)).isEqualTo(50);
    assertThat(Gcra.aheadNanos(1_000, MAX)).isEqualTo(MAX - 1_000);
  }

  @Test
  void aheadNanos_tatPastTheSignedRange_isUnsigned() {
    assertThat(Gcra.aheadNanos(MAX, MAX + 10)).isEqualTo(10);
    assertThat(Gcra.aheadNanos(MAX, MAX + MAX)).isEqualTo(MAX);
    assertThat(Gcra.aheadNanos(0, -1L)).as("cut to what is signed").isEqualTo(MAX);
  }

  @Test
  void debt_isWhatLiesBeyondTheOffset_andLeavesNothing() {
    assertThat(Gcra.isInDebt(1_000, 1_050, 50)).isFalse();
    assertThat(Gcra.isInDebt(1_000, 1_051, 50)).isTrue();
    assertThat(Gcra.remaining(51, 10, 50)).isZero();
    assertThat(Gcra.retryInNanos(Gcra.roomNanos(70, 10, 50), 10)).isEqualTo(30);
    assertThat(Gcra.roomNanos(70, 0, 50)).as("a cost of 0 reads the bucket").isZero();
  }

  @Test
  void roomNanos_atTheExtremes_doesNotOverflow() {
    assertThat(Gcra.roomNanos(0, 0, MAX)).isEqualTo(MAX);
    assertThat(Gcra.roomNanos(MAX, MAX, MAX)).isEqualTo(-MAX);
    assertThat(Gcra.retryInNanos(-MAX, MAX)).isEqualTo(MAX);
    assertThat(Gcra.retryInNanos(0, MAX)).isEqualTo(MAX);
    assertThat(Gcra.retryInNanos(MAX, 0)).isZero();
  }

  @Test
  void remaining_partsOfATokens_roundDown() {
    assertThat(Gcra.remaining(0, 10, 50)).isEqualTo(5);
    assertThat(Gcra.remaining(1, 10, 50)).isEqualTo(4);
    assertThat(Gcra.remaining(50, 10, 50)).isZero();
  }

  @Test
  void aheadAfterRefundNanos_moreThanIsMissing_isFull() {
    assertThat(Gcra.aheadAfterRefundNanos(30, 20)).isEqualTo(10);
    assertThat(Gcra.aheadAfterRefundNanos(30, 31)).isZero();
    assertThat(Gcra.aheadAfterRefundNanos(0, MAX)).isZero();
  }
}
