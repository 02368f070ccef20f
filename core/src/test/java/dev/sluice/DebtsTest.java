// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The bounded memory of the debts that a process forgave. */
final class DebtsTest {

  private static final int MOST = 65_536; // decision 003
  private static final long NOW = 1_000;

  private final Debts forgiven =
      new Debts(
          (call, charges) -> {
            throw new AssertionError(charges); // what is forgiven is only remembered here
          },
          (call, charge) -> {
            throw new AssertionError(charge);
          },
          () -> 0);

  private void fill(int from, int to, long offsetNanos) {
    for (int i = from; i < to; i++) {
      assertThat(forgiven.tryForgive("k" + i, offsetNanos, NOW)).isTrue();
    }
  }

  @Test
  void sameDebt_isForgivenOnceWithinItsOffset() {
    assertThat(forgiven.tryForgive("k", 100, NOW)).isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW + 99)).isFalse();
    assertThat(forgiven.tryForgive("k", 70, NOW + 99)).as("another limit").isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW + 100)).isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW + 199)).isFalse();
  }

  @Test
  void full_forgivesNothing_untilOneIsOver() {
    fill(0, MOST, 100);
    assertThat(forgiven.tryForgive("more", 100, NOW)).isFalse();
    assertThat(forgiven.tryForgive("more", 100, NOW + 99)).isFalse();
    assertThat(forgiven.tryForgive("more", 100, NOW + 100)).isTrue();
  }

  @Test
  void full_aKnownDebt_isForgivenAgain_whenItIsOver() {
    fill(0, 1, 50);
    fill(1, MOST, 100);
    assertThat(forgiven.tryForgive("k0", 50, NOW + 49)).isFalse();
    assertThat(forgiven.tryForgive("k0", 50, NOW + 50)).isTrue();
    assertThat(forgiven.tryForgive("more", 50, NOW + 99)).isFalse();
    assertThat(forgiven.tryForgive("more", 50, NOW + 100)).isTrue();
  }

  @Test
  void full_whatIsOver_makesRoomForAsMany() {
    fill(0, 3, 50);
    fill(3, MOST, 100);
    for (int i = 0; i < 3; i++) {
      assertThat(forgiven.tryForgive("more" + i, 100, NOW + 50)).isTrue();
    }
    assertThat(forgiven.tryForgive("more3", 100, NOW + 50)).isFalse();
    assertThat(forgiven.tryForgive("k3", 100, NOW + 50)).as("still known").isFalse();
  }

  /** An hour's step back must not lock an id out for an hour. */
  @Test
  void clockThatSteppedBack_isNotWaitedFor() {
    long later = NOW + 1_000_000;
    assertThat(forgiven.tryForgive("k", 100, later)).isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW)).isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW + 99)).isFalse();
  }

  /** Calls overtake each other: the later one may have read the clock before. */
  @Test
  void timeThatIsALittleEarlier_isNoStepBack() {
    assertThat(forgiven.tryForgive("k", 100, NOW)).isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW - 100)).isFalse();
    assertThat(forgiven.tryForgive("k", 100, NOW - 101)).isTrue();
  }

  @Test
  void full_afterAStepBack_hasRoomAgain() {
    fill(0, MOST, 100);
    assertThat(forgiven.tryForgive("more", 100, NOW - 100)).isFalse();
    assertThat(forgiven.tryForgive("more", 100, NOW - 101)).isTrue();
  }

  @Test
  void takenBack_isForgivenOnceMore() {
    assertThat(forgiven.tryForgive("k", 100, NOW)).isTrue();
    forgiven.takeBack("k", 100);
    assertThat(forgiven.tryForgive("k", 100, NOW + 1)).isTrue();
    assertThat(forgiven.tryForgive("k", 100, NOW + 2)).isFalse();
  }
}
