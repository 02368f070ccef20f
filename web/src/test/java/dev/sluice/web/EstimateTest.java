// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static dev.sluice.web.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules with an estimated cost, on a bucket of 30 tokens. */
class EstimateTest {

  private final Limiter limiter = Limiters.limiter();

  private static Rule.Builder estimated(long tokens) {
    Estimate estimate = Estimate.mean(1, tokens); // its first answer is the upper bound
    return Rule.on("/**")
        .limit("FailedPerAddress", VaryBy.clientAddress())
        .estimate(request -> estimate.of("model"));
  }

  private Admission admit(Rule.Builder... rules) {
    RequestLimiter.Builder requests = RequestLimiter.builder(limiter);
    for (Rule.Builder rule : rules) {
      requests.rule(rule.build());
    }
    return requests.build().admit(WebRequest.builder("GET", "/chat").peer("192.0.2.7").build());
  }

  private long left() {
    return remaining(limiter, "FailedPerAddress", "192.0.2.7");
  }

  @ParameterizedTest
  @CsvSource({"10, 4, 26", "10, 25, 5", "10, 40, 0", "90, 4, 26"})
  void trueCost_replacesTheEstimateAtTheEnd(long estimate, long cost, long left) {
    Admission admission = admit(estimated(estimate));
    admission.cost(cost);
    assertThat(left()).as("before the end").isEqualTo(30 - Math.min(estimate, 30));

    admission.settle(200);

    assertThat(left()).isEqualTo(left);
  }

  @Test
  void noTrueCost_leavesTheEstimateSpent() {
    admit(estimated(10)).settle(200);

    assertThat(left()).isEqualTo(20);
  }

  @Test
  void trueCostAfterTheEnd_isChargedOnce_alsoIfTheClientHadLeft() {
    Admission ended = admit(estimated(10));
    ended.settle(200);
    ended.cost(1);
    ended.cost(9);
    assertThat(left()).isEqualTo(29);

    Admission left = admit(estimated(10));
    left.leaveSpent();
    assertThat(left()).isEqualTo(19);
    left.cost(2);
    left.settle(200);

    assertThat(left()).isEqualTo(27);
  }

  @Test
  void lastTrueCostBeforeTheEnd_counts_alsoIfTheClientLeaves() {
    Admission admission = admit(estimated(10));
    admission.cost(1);
    admission.cost(3);

    admission.leaveSpent();

    assertThat(left()).isEqualTo(27);
  }

  @Test
  void statusThatDoesNotCount_isFree_withOrWithoutATrueCost() {
    Admission known = admit(estimated(10).countAllBut(503));
    known.cost(4);
    known.settle(503);
    Admission unknown = admit(estimated(10).countAllBut(503));
    unknown.settle(503);

    assertThat(left()).isEqualTo(30);
  }

  @ParameterizedTest
  @CsvSource({"false, false", "false, true", "true, false", "true, true"})
  void trueCostAfterTheEnd_isCharged_thoughAnotherRuleGaveTokensBack(
      boolean async, boolean estimatesTwice) {
    Rule.Builder failures =
        Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).countOnly(401);
    Rule.Builder other = estimatesTwice ? estimated(8).countAllBut(503) : failures;
    Admission admission = admit(failures, estimated(10), other);
    assertThat(remaining(limiter, "PerAddress", "192.0.2.7")).isEqualTo(2);

    if (async) {
      admission.settleAsync(200).toCompletableFuture().join();
    } else {
      admission.settle(200);
    }
    assertThat(remaining(limiter, "PerAddress", "192.0.2.7")).isEqualTo(3);
    assertThat(left()).isEqualTo(20);
    admission.cost(25);
    admission.cost(1);

    assertThat(left()).isEqualTo(5);
    assertThat(remaining(limiter, "PerAddress", "192.0.2.7")).isEqualTo(3);
  }

  @Test
  void trueCostAfterTheClientLeft_isCharged_andOtherRulesTokensStaySpent() {
    Admission admission =
        admit(
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).countOnly(401),
            estimated(10));
    admission.leaveSpent();
    admission.cost(4);

    assertThat(left()).isEqualTo(26);
    assertThat(remaining(limiter, "PerAddress", "192.0.2.7")).isEqualTo(2);
  }

  @Test
  void estimateThatLearns_learnsALateCostOnce() {
    Estimate estimate = Estimate.mean(1, 10);
    Rule.Builder rule =
        Rule.on("/**")
            .limit("FailedPerAddress", VaryBy.clientAddress())
            .estimate(request -> estimate.of("model"));
    for (int i = 0; i < 20; i++) {
      Admission admission =
          admit(rule, Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).countAllBut(200));
      admission.settle(200);
      admission.cost(1);
    }
    assertThat(estimate.of("model").tokens()).isEqualTo(1);
  }

  @Test
  void fixedCostOfAnotherRule_isTheLeast() {
    Rule.Builder fixed = Rule.on("/**").limit("FailedPerAddress", VaryBy.clientAddress()).cost(5);

    Admission low = admit(fixed, estimated(10));
    low.cost(2);
    low.settle(200);
    assertThat(left()).isEqualTo(25);

    Admission high = admit(estimated(10), fixed);
    high.cost(7);
    high.settle(200);
    assertThat(left()).isEqualTo(18);
  }

  @Test
  void estimate_learnsTheTrueCosts() {
    Rule.Builder rule = estimated(10);
    for (int i = 0; i < 20; i++) {
      Admission admission = admit(rule);
      admission.cost(1);
      admission.settle(200);
    }
    assertThat(left()).isEqualTo(10);

    var unused = admit(rule);

    assertThat(left()).isEqualTo(9);
  }

  private static Rule.Builder supplying(Quota... quotas) {
    return Rule.on("/**")
        .limitQuotas("FailedPerAddress", request -> List.of(quotas), VaryBy.clientAddress());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void estimateAboveTheBurstThatAnotherRuleSupplies_countsAsThisBurst(boolean estimateFirst) {
    Rule.Builder low = supplying(Quota.burst(5).refill(1, Duration.ofHours(1))).cost(1);
    Rule.Builder[] rules =
        estimateFirst
            ? new Rule.Builder[] {estimated(10), low}
            : new Rule.Builder[] {low, estimated(10)};

    Admission admission = admit(rules);

    assertThat(admission.refusal()).isNull();
    assertThat(admission.decision().transaction().cost()).isEqualTo(5);
    assertThat(admit(rules).refusal().status()).isEqualTo(429);
    admission.cost(2);
    admission.settle(200);
    assertThat(admit(low).decision().remaining()).isEqualTo(2);
  }

  static Stream<Rule.Builder> rulesOnTheSameBucket() {
    Quota hourly = Quota.per(30, Duration.ofHours(1));
    return Stream.of(
        supplying(Quota.burst(20).refill(30, Duration.ofHours(1))).cost(1),
        supplying(hourly).cost(5),
        supplying(hourly, Quota.per(29, Duration.ofMinutes(1))).cost(0));
  }

  @ParameterizedTest
  @MethodSource("rulesOnTheSameBucket")
  void estimate_learnsTheTrueCosts_thoughAnotherRuleSuppliesTheQuota(Rule.Builder other) {
    Estimate estimate = Estimate.mean(1, 10);
    Rule.Builder rule =
        Rule.on("/**")
            .limitQuotas(
                "FailedPerAddress",
                request -> List.of(Quota.per(30, Duration.ofHours(1))),
                VaryBy.clientAddress())
            .estimate(request -> estimate.of("model"));
    for (int i = 0; i < 20; i++) {
      Admission admission = admit(rule, other.countAllBut(503));
      assertThat(admission.refusal()).isNull();
      admission.cost(1);
      admission.settle(200);
      limiter.reset("FailedPerAddress", "192.0.2.7");
    }

    assertThat(estimate.of("model").tokens()).isLessThan(10);
  }

  @Test
  void shadowRule_settlesItsOwnBucket() {
    Admission admission = admit(estimated(10).shadow());
    admission.cost(4);

    admission.settle(200);

    assertThat(left()).isEqualTo(30);
    assertThat(Limiters.remainingInShadow(limiter, "FailedPerAddress", "192.0.2.7")).isEqualTo(26);
  }

  @ParameterizedTest
  @CsvSource({"0", "-1"})
  void trueCostBelowOne_isRefused_asAReportMayBeUnreadable(long cost) {
    Admission admission = admit(estimated(10));

    assertThatThrownBy(() -> admission.cost(cost))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("cost: found " + cost + ", expected 1 or more");
    admission.settle(200);
    assertThat(left()).isEqualTo(20);
  }

  @Test
  void rule_saysThatItsCostIsEstimated() {
    assertThat(estimated(10).build())
        .hasToString(
            "rule /**: spends an estimated cost of FailedPerAddress by the client's address");
  }
}
