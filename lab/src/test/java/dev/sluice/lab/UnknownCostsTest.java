// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.UnknownCosts.Result;
import dev.sluice.lab.UnknownCosts.Scheme;
import java.time.Duration;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ways to charge calls whose cost is known afterwards, at 20,000 tokens a second. */
class UnknownCostsTest {

  private static final Offset<Double> A_FEW_PERCENT = within(0.04);

  private static UnknownCosts at(long burstSeconds, double demand) {
    Quota quota = Quota.burst(20_000 * burstSeconds).refill(20_000, Duration.ofSeconds(1));
    return new UnknownCosts(quota, demand, Duration.ofMinutes(10), 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "10, 1.4, 0.12, 0.34, 0.72, 1.00, 0.06",
    "10, 5,   0.12, 0.34, 0.72, 1.00, 0.06",
    "60, 1.4, 0.73, 0.99, 1.00, 1.00, 0.02",
    "60, 5,   0.73, 0.99, 1.00, 1.00, 0.02",
  })
  void meanSettled_usesAllOfTheLimit_andOwesLittle(
      long burst,
      double demand,
      double hold,
      double largest,
      double quantile,
      double mean,
      double owed) {
    List<Result> results = at(burst, demand).run();

    assertThat(results).extracting(Result::scheme).containsExactly(Scheme.values());
    assertThat(results.get(0).used()).isCloseTo(1, A_FEW_PERCENT);
    assertThat(results.get(1).used()).isCloseTo(hold, A_FEW_PERCENT);
    assertThat(results.get(2).used()).isCloseTo(largest, A_FEW_PERCENT);
    assertThat(results.get(3).used()).isCloseTo(quantile, A_FEW_PERCENT);
    assertThat(results.get(4).used()).isCloseTo(mean, A_FEW_PERCENT);
    assertThat(results.get(4).owed()).isBetween(0.001, owed);
  }

  @Test
  void lines_haveEachScheme_andAVerdict() {
    UnknownCosts costs = at(10, 5);
    List<Result> results =
        List.of(
            new Result(Scheme.AFTERWARDS, 1, 2.08, 0),
            new Result(Scheme.HOLD, 0.12, 0, 0),
            new Result(Scheme.LARGEST, 0.34, 0, 0.66),
            new Result(Scheme.QUANTILE, 0.72, 0.02, 0.28),
            new Result(Scheme.MEAN, 1, 0.04, 0));

    assertThat(costs.lines(results))
        .contains(
            "reserve the largest, settle            34 %               0 %               66 %")
        .last()
        .isEqualTo(
            "Verdict: \"reserve the mean, settle\" uses 100 % of the limit and owes up to 4 % of a"
                + " burst; \"charge afterwards\" owes up to 208 %, and \"hold the largest, charge at"
                + " the end\" uses 12 %.");
  }

  @Test
  void runThatIsTooLong_isRefused() {
    Quota quota = Quota.per(20_000, Duration.ofSeconds(1));

    assertThatThrownBy(() -> new UnknownCosts(quota, 5, Duration.ofDays(30), 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("length: found a run of ");
    assertThatThrownBy(() -> new UnknownCosts(quota, 0, Duration.ofDays(1), 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("demand: found 0.0, expected a number above 0, at most 100");
  }
}
