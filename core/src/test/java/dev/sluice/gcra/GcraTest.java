package dev.sluice.gcra;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class GcraTest {

  private static final long MAX = Long.MAX_VALUE;

  @Test
  void aheadNanos_tatInThePastOrNone_isZero() {
    assertThat(Gcra.aheadNanos(1_000, Gcra.NO_TAT, 50)).isZero();
    assertThat(Gcra.aheadNanos(1_000, 999, 50)).isZero();
    assertThat(Gcra.aheadNanos(1_000, 1_000, 50)).isZero();
    assertThat(Gcra.aheadNanos(0, Gcra.NO_TAT, MAX)).isZero();
  }

  @Test
  void aheadNanos_tatInTheFuture_isTheDistanceUpToTheOffset() {
    assertThat(Gcra.aheadNanos(1_000, 1_001, 50)).isEqualTo(1);
    assertThat(Gcra.aheadNanos(1_000, 1_050, 50)).isEqualTo(50);
    assertThat(Gcra.aheadNanos(1_000, 1_051, 50)).isEqualTo(50);
    assertThat(Gcra.aheadNanos(1_000, MAX, 50)).isEqualTo(50);
  }

  @Test
  void aheadNanos_tatPastTheSignedRange_isUnsigned() {
    assertThat(Gcra.aheadNanos(MAX, MAX + 10, 50)).isEqualTo(10);
    assertThat(Gcra.aheadNanos(MAX, MAX + MAX, MAX)).isEqualTo(MAX);
    assertThat(Gcra.aheadNanos(0, -1L, MAX)).isEqualTo(MAX);
    assertThat(Gcra.aheadNanos(0, -1L, 50)).isEqualTo(50);
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
