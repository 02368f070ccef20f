// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** How old a denial from memory may be, by what callers were told before. */
final class ToldDenialsTest {

  private static final String KEY = "1:o0";
  private static final long TAT = 77;

  private final ToldDenials told = new ToldDenials(/* mostNanos= */ 1_000);

  /** With no other call under way. */
  private long mostNanos(long tatNanos, long now) {
    return told.mostNanos(KEY, tatNanos, now, now);
  }

  @Test
  void nothingTold_isOfThisMoment() {
    assertThat(mostNanos(TAT, 500)).isZero();
  }

  @Test
  void toldOnce_isAsOldAsTheCallTook() {
    told.denied(KEY, TAT, 100, 130);
    assertThat(mostNanos(TAT, 140)).isEqualTo(30);
    assertThat(mostNanos(TAT + 1, 140)).as("another TAT").isZero();
  }

  @Test
  void toldTwice_isAsOldAsItWasKnown_notAsDenialsAllow() {
    told.denied(KEY, TAT, 100, 130);
    told.denied(KEY, TAT, 180, 200);
    assertThat(mostNanos(TAT, 210)).isEqualTo(100);
    told.denied(KEY, TAT, 5_000, 5_020);
    assertThat(mostNanos(TAT, 5_030)).as("denials").isEqualTo(1_000);
  }

  @Test
  void anotherTatInBetween_beginsAnew() {
    told.denied(KEY, TAT, 100, 130);
    told.denied(KEY, TAT + 1, 140, 160);
    told.denied(KEY, TAT, 170, 190);
    assertThat(mostNanos(TAT, 200)).isEqualTo(20);
    told.allowed(KEY, TAT + 2, 210);
    assertThat(mostNanos(TAT, 230)).isZero();
  }

  @Test
  void allowedByTheSameTat_goesOn() {
    told.denied(KEY, TAT, 100, 130);
    told.allowed(KEY, TAT, 140);
    assertThat(mostNanos(TAT, 200)).isEqualTo(30);
  }

  @Test
  void callUnderWay_mayHaveFoundIt() {
    assertThat(told.mostNanos(KEY, TAT, 100, 180)).isEqualTo(80);
  }

  @Test
  void callThatFailed_mayHaveFoundIt_untilAnotherIsTold() {
    told.failed(KEY, 100, 150);
    assertThat(mostNanos(TAT, 300)).isEqualTo(50);
    told.denied(KEY, TAT, 300, 310);
    assertThat(mostNanos(TAT, 320)).as("the same TAT, found by both").isEqualTo(210);
    told.denied(KEY, TAT + 1, 330, 340);
    assertThat(mostNanos(TAT + 1, 350)).isEqualTo(10);
  }
}
