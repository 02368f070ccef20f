package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static dev.sluice.servlet.Limiters.remainingInShadow;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Rules on trial: they spend and count, and nobody notices. */
@ParameterizedClass
@EnumSource(Container.class)
class ShadowRuleTest {

  private final List<String> seen = Collections.synchronizedList(new ArrayList<>());
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(Limiters.limits()), BucketStore.inMemory(new ManualTime()))
          .observer(
              new LimiterObserver() {
                @Override
                public void decided(Act act, Decision decision, long elapsedNanos) {
                  if (act == Act.SPEND && decision.transaction().isShadow()) {
                    seen.add(decision.transaction().name() + " " + decision.allowed());
                  }
                }
              })
          .build();
  private final WebServer web;

  ShadowRuleTest(Container container) {
    this.web = container.server().servlet("/", Pages.status());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private void start(Rule... rules) throws Exception {
    web.filter(RateLimitFilter.builder(limiter), rules).start();
  }

  @Test
  void shadowRule_isDecidedAndCounted_andNeverRefuses() throws Exception {
    start(Rule.on("/page").limit("PerKey", VaryBy.constant("a")).shadow().build());

    for (int i = 0; i < 4; i++) {
      assertThat(web.get("/page").statusCode()).isEqualTo(200);
      assertThat(web.get("/page").headers().map()).doesNotContainKey("RateLimit");
    }

    assertThat(seen.subList(0, 3)).containsExactly("PerKey true", "PerKey true", "PerKey false");
    assertThat(seen).hasSize(8);
    assertThat(remainingInShadow(limiter, "PerKey", "a")).isZero();
  }

  @Test
  void shadowRule_thatDenies_leavesTheOthersAsTheyAre() throws Exception {
    start(
        Rule.on("/page").limit("PerKey", VaryBy.constant("a")).cost(2).shadow().build(),
        Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build());

    for (int left = 2; left >= 0; left--) {
      assertThat(web.get("/page").headers().firstValue("RateLimit"))
          .hasValue("\"PerAddress\";r=" + left);
    }

    assertThat(web.get("/page").statusCode()).isEqualTo(429);
    // Only what was let through is put to the trial.
    assertThat(seen).containsExactly("PerKey true", "PerKey false", "PerKey false");
  }

  @Test
  void shadowRule_ofSeveralLimits_isAllOrNothingAsItWouldBe() throws Exception {
    start(
        Rule.on("/page")
            .limit("PerKey", VaryBy.constant("a"))
            .limit("PerAddress", VaryBy.clientAddress())
            .shadow()
            .build());

    for (int i = 0; i < 3; i++) {
      assertThat(web.get("/page").statusCode()).isEqualTo(200);
    }

    assertThat(remainingInShadow(limiter, "PerAddress", "127.0.0.1")).isEqualTo(1);
  }

  @Test
  void shadowRule_takesNothingFromARuleInForce_onTheSameLimitAndId() throws Exception {
    start(
        Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build(),
        Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).shadow().build());

    for (int i = 0; i < 5; i++) {
      assertThat(web.get("/other").statusCode()).isEqualTo(200);
    }
    assertThat(web.get("/page").headers().firstValue("RateLimit")).hasValue("\"PerAddress\";r=2");

    assertThat(remaining(limiter, "PerAddress", "127.0.0.1")).isEqualTo(2);
  }

  /** The trial says what the rule would have done to every request, whoever else limits it. */
  @Test
  void shadowRule_countsTheRequests_thatAnotherRuleChargesToo() throws Exception {
    start(
        Rule.on("/page").limit("PerAddress", VaryBy.clientAddress()).build(),
        Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).cost(2).shadow().build());

    for (int i = 0; i < 2; i++) {
      assertThat(web.get("/page").statusCode()).isEqualTo(200);
    }

    assertThat(seen).containsExactly("PerAddress true", "PerAddress false");
  }

  @Test
  void shadowRule_thatCanNotBeApplied_refusesNothing() throws Exception {
    start(Rule.on("/page").limit("PerKey", VaryBy.header("X-Api-Key")).shadow().build());

    assertThat(web.get("/page").statusCode()).isEqualTo(200);
  }
}
