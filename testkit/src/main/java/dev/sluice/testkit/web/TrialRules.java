// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static dev.sluice.testkit.web.FilterRun.LOCAL;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.web.FilterRun.FilterRules;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * Tests of rules in shadow mode. A rule in shadow mode spends tokens and counts decisions, but has
 * no effect on responses.
 */
interface TrialRules extends FilterRules {

  /** Returns the decisions of all rules in shadow mode since the start of the test, in order. */
  private List<String> trials() {
    return run().decisions().stream()
        .filter(decision -> Objects.requireNonNull(decision.transaction()).isShadow())
        .map(
            decision ->
                Objects.requireNonNull(decision.transaction()).name() + " " + decision.allowed())
        .toList();
  }

  @Test
  default void shadowRule_isDecidedAndCounted_andNeverRefuses() throws Exception {
    run().start(Rule.on("/page").limit("PerKey", VaryBy.constant("a")).shadow().build());

    for (int i = 0; i < 4; i++) {
      assertThat(run().get("/page").statusCode()).isEqualTo(200);
      assertThat(run().get("/page").headers().map()).doesNotContainKey("RateLimit");
    }

    assertThat(trials().subList(0, 3))
        .containsExactly("PerKey true", "PerKey true", "PerKey false");
    assertThat(trials()).hasSize(8);
    assertThat(run().remainingInShadow("PerKey", "a")).isZero();
  }

  @Test
  default void shadowRule_thatDenies_leavesTheOthersAsTheyAre() throws Exception {
    run()
        .start(
            Rule.on("/page").limit("PerKey", VaryBy.constant("a")).cost(2).shadow().build(),
            Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build());

    for (int left = 2; left >= 0; left--) {
      assertThat(run().get("/page").headers().firstValue("RateLimit"))
          .hasValue("\"PerAddress\";r=" + left);
    }

    assertThat(run().get("/page").statusCode()).isEqualTo(429);
    // The shadow rule is charged only for requests that the enforced rules admit.
    assertThat(trials()).containsExactly("PerKey true", "PerKey false", "PerKey false");
  }

  @Test
  default void shadowRule_ofSeveralLimits_isAllOrNothingAsItWouldBe() throws Exception {
    run()
        .start(
            Rule.on("/page")
                .limit("PerKey", VaryBy.constant("a"))
                .limit("PerAddress", VaryBy.clientAddress())
                .shadow()
                .build());

    for (int i = 0; i < 3; i++) {
      assertThat(run().get("/page").statusCode()).isEqualTo(200);
    }

    assertThat(run().remainingInShadow("PerAddress", LOCAL)).isEqualTo(1);
  }

  @Test
  default void shadowRule_takesNothingFromARuleInForce_onTheSameLimitAndId() throws Exception {
    run()
        .start(
            Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build(),
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).shadow().build());

    for (int i = 0; i < 5; i++) {
      assertThat(run().get("/other").statusCode()).isEqualTo(200);
    }
    assertThat(run().get("/page").headers().firstValue("RateLimit")).hasValue("\"PerAddress\";r=2");

    assertThat(run().remaining("PerAddress", LOCAL)).isEqualTo(2);
  }

  /**
   * A rule in shadow mode makes its own decisions, even if another rule charges the same limit and
   * id.
   */
  @Test
  default void shadowRule_countsTheRequests_thatAnotherRuleChargesToo() throws Exception {
    run()
        .start(
            Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build(),
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).cost(2).shadow().build());

    for (int i = 0; i < 2; i++) {
      assertThat(run().get("/page").statusCode()).isEqualTo(200);
    }

    assertThat(trials()).containsExactly("PerAddress true", "PerAddress false");
  }

  @Test
  default void shadowRule_thatCanNotBeApplied_refusesNothing() throws Exception {
    run().start(Rule.on("/page").limit("PerKey", VaryBy.header("X-Api-Key")).shadow().build());

    assertThat(run().get("/page").statusCode()).isEqualTo(200);
  }
}
