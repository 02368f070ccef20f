// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** The bounded memory of the debts that a process forgave. */
final class DebtsTest {

  private static final int MOST = 65_536; // decision 003
  private static final long SECOND = 1_000_000_000; // how often room is looked for
  private static final long NOW = 1_000 * SECOND;

  private final Debts forgiven =
      new Debts(
          (call, charges) -> {
            throw new AssertionError(charges); // what is forgiven is only remembered here
          },
          (call, charge) -> {
            throw new AssertionError(charge);
          },
          () -> 0);

  private boolean tryForgive(String key, long offset, long now) {
    return forgiven.tryForgive(key, offset, now, false);
  }

  private boolean tryForgiveCaller(String key, long offset, long now) {
    return forgiven.tryForgive(key, offset, now, true);
  }

  private void fill(int from, int to, long offsetNanos) {
    for (int i = from; i < to; i++) {
      assertThat(tryForgive("k" + i, offsetNanos, NOW)).isTrue();
    }
  }

  @Test
  void sameDebt_isForgivenOnceWithinItsOffset() {
    assertThat(tryForgive("k", 100, NOW)).isTrue();
    assertThat(tryForgive("k", 100, NOW + 99)).isFalse();
    assertThat(tryForgive("k", 70, NOW + 99)).as("another limit").isTrue();
    assertThat(tryForgive("k", 100, NOW + 100)).isTrue();
    assertThat(tryForgive("k", 100, NOW + 199)).isFalse();
  }

  @Test
  void full_forgivesNothing_untilOneIsOver() {
    fill(0, MOST, 100 * SECOND);
    assertThat(tryForgive("more", 100 * SECOND, NOW)).isFalse();
    assertThat(tryForgive("more", 100 * SECOND, NOW + 99 * SECOND)).isFalse();
    assertThat(tryForgive("more", 100 * SECOND, NOW + 100 * SECOND)).isTrue();
  }

  @Test
  void full_aKnownDebt_isForgivenAgain_whenItIsOver() {
    fill(0, 1, 50 * SECOND);
    fill(1, MOST, 100 * SECOND);
    assertThat(tryForgive("k0", 50 * SECOND, NOW + 49 * SECOND)).isFalse();
    assertThat(tryForgive("k0", 50 * SECOND, NOW + 50 * SECOND)).isTrue();
    assertThat(tryForgive("more", 50 * SECOND, NOW + 99 * SECOND)).isFalse();
    assertThat(tryForgive("more", 50 * SECOND, NOW + 100 * SECOND)).isTrue();
  }

  @Test
  void full_whatIsOver_makesRoomForAsMany() {
    fill(0, 3, 50 * SECOND);
    fill(3, MOST, 100 * SECOND);
    for (int i = 0; i < 3; i++) {
      assertThat(tryForgive("more" + i, 100 * SECOND, NOW + 50 * SECOND)).isTrue();
    }
    assertThat(tryForgive("more3", 100 * SECOND, NOW + 50 * SECOND)).isFalse();
    assertThat(tryForgive("k3", 100 * SECOND, NOW + 50 * SECOND)).as("still known").isFalse();
  }

  /** An hour's step back must not lock an id out for an hour. */
  @Test
  void clockThatSteppedBack_isNotWaitedFor() {
    long later = NOW + 1_000_000;
    assertThat(tryForgive("k", 100, later)).isTrue();
    assertThat(tryForgive("k", 100, NOW)).isTrue();
    assertThat(tryForgive("k", 100, NOW + 99)).isFalse();
  }

  /** Calls overtake each other: the later one may have read the clock before. */
  @Test
  void timeThatIsALittleEarlier_isNoStepBack() {
    assertThat(tryForgive("k", 100, NOW)).isTrue();
    assertThat(tryForgive("k", 100, NOW - 100)).isFalse();
    assertThat(tryForgive("k", 100, NOW - 101)).isTrue();
  }

  @Test
  void full_afterAStepBack_hasRoomAgain() {
    fill(0, MOST, 100 * SECOND);
    assertThat(tryForgive("more", 100 * SECOND, NOW - 100 * SECOND)).isFalse();
    assertThat(tryForgive("more", 100 * SECOND, NOW - 101 * SECOND)).isTrue();
  }

  @Test
  void takenBack_isForgivenOnceMore() {
    assertThat(tryForgive("k", 100, NOW)).isTrue();
    forgiven.takeBack("k", 100);
    assertThat(tryForgive("k", 100, NOW + 1)).isTrue();
    assertThat(tryForgive("k", 100, NOW + 2)).isFalse();
  }

  /** A caller that sends quotas must not use up the memory for the limits' own debts. */
  @Test
  void debtsOfCallersQuotas_leaveHalfOfTheRoomToTheLimitsOwn() {
    for (int i = 0; i < MOST / 2; i++) {
      assertThat(tryForgiveCaller("k" + i, 100 * SECOND, NOW)).isTrue();
    }
    assertThat(tryForgiveCaller("more", 100 * SECOND, NOW)).isFalse();
    assertThat(tryForgive("k0", 100 * SECOND, NOW)).as("the same debt").isFalse();
    fill(MOST / 2, MOST, 100 * SECOND);
    assertThat(tryForgive("more", 100 * SECOND, NOW)).isFalse();
    assertThat(tryForgiveCaller("more", 100 * SECOND, NOW + 100 * SECOND)).isTrue();
  }

  /** A scan of all debts for each command would hold up a server. */
  @Test
  void full_looksForRoomOnceASecond() {
    fill(0, MOST - 1, 100 * SECOND);
    assertThat(tryForgive("short0", 1, NOW)).isTrue();
    assertThat(tryForgive("short1", 1, NOW + 1)).isTrue();
    assertThat(tryForgive("short2", 1, NOW + 2)).as("not looked for").isFalse();
    assertThat(tryForgive("short2", 1, NOW + SECOND)).as("not looked for").isFalse();
    assertThat(tryForgive("short2", 1, NOW + 1 + SECOND)).isTrue();
  }

  @Test
  void full_isLoggedOnce_forLimitsAndForCallersQuotas() {
    List<String> lines = new ArrayList<>();
    Logger log = Logger.getLogger(Debts.class.getName());
    log.setFilter(
        line -> {
          lines.add(line.getMessage());
          return false;
        });
    try {
      fill(0, MOST, 100 * SECOND);
      for (int i = 0; i < 3; i++) {
        assertThat(tryForgiveCaller("more", 100 * SECOND, NOW)).isFalse();
        assertThat(tryForgive("more", 100 * SECOND, NOW)).isFalse();
      }
    } finally {
      log.setFilter(null);
    }
    assertThat(lines).hasSize(2);
    assertThat(lines.get(0)).contains("65536 forgiven debts", "that a caller supplied");
    assertThat(lines.get(1)).contains("65536 forgiven debts").doesNotContain("caller");
  }
}
