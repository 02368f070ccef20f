// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Estimate;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.lab.UnknownCosts.Result;
import dev.sluice.lab.UnknownCosts.Scheme;
import dev.sluice.lab.UnknownCosts.Settling;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

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

  /** What one call gives back makes the tokens of the younger ones refill earlier. */
  @Tag("slow")
  @Test
  void settledInTheProcess_givesBackLessOfTheLargest_andAsMuchOfTheMean() {
    UnknownCosts costs = at(10, 5);

    assertThat(costs.run(Scheme.LARGEST, Settling.IN_PROCESS, BucketStore::inMemory).used())
        .isCloseTo(0.24, A_FEW_PERCENT);
    Result mean = costs.run(Scheme.MEAN, Settling.IN_PROCESS, BucketStore::inMemory);
    assertThat(mean.used()).isGreaterThan(0.98);
    assertThat(mean.owed()).isLessThan(0.05);
  }

  @Tag("slow")
  @ParameterizedTest
  @EnumSource(Settling.class)
  void meanSettledOnRedis_usesAllOfTheLimit_andOwesLittle(Settling settling) {
    UnknownCosts costs =
        new UnknownCosts(
            Quota.burst(200_000).refill(20_000, Duration.ofSeconds(1)),
            5,
            Duration.ofMinutes(2),
            1);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      List<RedisStore> opened = new ArrayList<>();
      Result result =
          costs.run(
              Scheme.MEAN,
              settling,
              time -> {
                opened.add(
                    RedisStore.builder(redis.uri())
                        .clock(time)
                        .denials(Duration.ZERO)
                        .skew(Duration.ZERO)
                        .timeout(Duration.ofSeconds(10))
                        .open());
                return opened.get(0);
              });
      opened.forEach(RedisStore::close);

      assertThat(result.used()).isGreaterThan(0.98);
      assertThat(result.owed()).isLessThan(0.05);
    }
  }

  /** Under other limiters, five parallel calls have used 663 of 100 tokens. */
  @Tag("slow")
  @Test
  void fiveParallelCallsOnRedis_areChargedAtMostTheBurstAndItsDebt() {
    ManualTime time = new ManualTime();
    Limits limits =
        Limits.builder(Catalogue.of(LimitName.builder(1, "Tokens").jitter(0).build()))
            .limit("Tokens", Quota.per(100, Duration.ofMinutes(1)))
            .debt("Tokens", 1)
            .build();
    List<Long> costs = List.of(133L, 133L, 133L, 132L, 132L);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        RedisStore store =
            RedisStore.builder(redis.uri())
                .clock(time)
                .denials(Duration.ZERO)
                .skew(Duration.ZERO)
                .timeout(Duration.ofSeconds(10))
                .open()) {
      Limiter limiter = Limiter.builder(new CurrentLimits(limits), store).time(time).build();
      Estimate tokens = Estimate.mean(1, 20); // its first answer is the upper bound
      Transaction key = limiter.transaction("Tokens", "key");
      List<Reservation> calls =
          costs.parallelStream()
              .map(cost -> limiter.reserve(key.withCost(tokens.of("model"))))
              .toList();
      assertThat(calls).allMatch(Reservation::allowed);

      List<Settlement.Part> parts =
          IntStream.range(0, costs.size())
              .parallel()
              .mapToObj(i -> calls.get(i).settle(Map.of("Tokens", costs.get(i))).parts().get(0))
              .toList();

      assertThat(parts.stream().mapToLong(Settlement.Part::charged).sum()).isEqualTo(200);
      assertThat(parts.stream().mapToLong(Settlement.Part::cut).sum()).isEqualTo(463);
      Decision next = limiter.spend("Tokens", "key");
      assertThat(next.denied()).isTrue();
      assertThat(next.retryIn()).as("101 tokens of 600 ms").isEqualTo(Duration.ofMillis(60_600));
      time.advance(next.retryIn());
      assertThat(limiter.spend("Tokens", "key").allowed()).isTrue();
    }
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
