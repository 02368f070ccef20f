// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.benchmarks.redis.Rounds.Ratio;
import org.junit.jupiter.api.Test;

/** What the rounds of a subject tell together. */
final class RoundsTest {

  private static Rounds of(double... rates) {
    Rounds rounds = new Rounds();
    for (double rate : rates) {
      rounds.add(new Round(rate, 900_000, 2_500_000, 17.5, 8, 0, 3));
    }
    return rounds;
  }

  @Test
  void rate_isTheMedian_withHalfOfTheRange() {
    assertThat(of(90_000, 110_000, 100_000).rate()).isEqualTo("100,000 ± 10 % (900 / 2500)");
  }

  @Test
  void rangesThatMeet_areAlike() {
    Rounds ours = of(90, 100, 110);
    assertThat(ours.isLike(of(110, 130, 150))).isTrue();
    assertThat(of(110, 130, 150).isLike(ours)).isTrue();
    assertThat(ours.isLike(of(111, 130, 150))).isFalse();
    assertThat(of(111, 130, 150).isLike(ours)).isFalse();
  }

  @Test
  void ratio_isOfTheMedians_andItsRangeOfTheRounds() {
    Ratio ratio = of(80, 90, 100).ratio(Round::perSecond, of(40, 30, 25));
    assertThat(ratio).isEqualTo(new Ratio(3, 2, 4));
    assertThat(ratio.range()).isEqualTo("2.00 to 4.00");
  }

  @Test
  void warmUpThatDidNotEnd_isTold() {
    Rounds rounds = of(1, 1);
    assertThat(rounds.warmUp()).isEqualTo("3.0 / 3.0");
    rounds.add(new Round(1, 0, 0, 0, 0, 0, -15));
    assertThat(rounds.warmUp()).isEqualTo("3.0 / 15.0, still rising");
  }

  @Test
  void round_survivesTheWayBetweenProcesses() {
    Round round = new Round(64_652.5, 925_000, 2_520_000, 17.5, 8.01, 2, -15.25);
    assertThat(Round.parse(round.text())).isEqualTo(round);
  }
}
