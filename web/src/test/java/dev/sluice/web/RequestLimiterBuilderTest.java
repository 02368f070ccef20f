// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import org.junit.jupiter.api.Test;

/** Rules that do not fit the limits are found before there is a request. */
class RequestLimiterBuilderTest {

  private final Limiter limiter = Limiters.limiter();

  @Test
  void build_findsAllThatDoesNotFitTheLimits_atOnce() {
    RequestLimiter.Builder builder =
        RequestLimiter.builder(limiter)
            .rule(Rule.on("/a").limit("PerAdress", VaryBy.clientAddress()).build())
            .rule(Rule.on("/b").limit("PerAddressPerUser", VaryBy.clientAddress()).build())
            .rule(Rule.on("/c").limit("PerAddress", VaryBy.principal().orId("nobody")).build())
            .rule(Rule.on("/d").cost(4).limit("PerAddress", VaryBy.clientAddress()).build());

    assertThatThrownBy(builder::build)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "rule /a: no limit has the name \"PerAdress\"; did you mean \"PerAddress\"?")
        .hasMessageContaining("rule /b: found 1 part(s)")
        .hasMessageContaining("rule /c: invalid ipAddress")
        .hasMessageContaining("rule /d: found the cost 4 for PerAddress, whose burst is 3");
  }

  /** One line for each fault: a typo is not a missing default too. */
  @Test
  void build_findsMissingDefaults_besideOtherFaults() {
    RequestLimiter.Builder builder =
        RequestLimiter.builder(limiter)
            .clientAddress(ClientAddress.direct())
            .headers(HeaderProfile.NONE)
            .rule(Rule.on("/a").limit("PerAdress", VaryBy.clientAddress()).build())
            .rule(Rule.on("/b").limit("Forgotten", VaryBy.constant("all")).build());

    assertThatThrownBy(builder::build)
        .satisfies(
            e ->
                assertThat(e.getMessage().lines())
                    .hasSize(2)
                    .anyMatch(line -> line.startsWith("rule /a: no limit has the name"))
                    .anyMatch(line -> line.startsWith("Forgotten has no default")));
  }

  @Test
  void build_refusesConstantsAndRanges_ofAnotherForm() {
    RequestLimiter.Builder filter =
        RequestLimiter.builder(limiter)
            .rule(Rule.on("/a").limit("PerAddress", VaryBy.constant("all")).build())
            .rule(Rule.on("/b").limit("PerRange", VaryBy.clientIpv6Range(64)).build())
            .rule(Rule.on("/c").limit("PerRange", VaryBy.clientIpv6Range(64).orId("::/48")).build())
            .rule(Rule.on("/d").limit("PerAddress", VaryBy.constant("192.0.2.1")).build())
            .rule(Rule.on("/e").limit("PerRange", VaryBy.clientIpv6Range(48)).build());

    assertThatThrownBy(filter::build)
        .hasMessageContaining("rule /a: invalid ipAddress, \"all\" is not an IP address")
        .hasMessageContaining("rule /b: invalid ipv6RangeCIDR")
        .hasMessageContaining("rule /c: invalid ipv6RangeCIDR")
        .hasMessageNotContaining("rule /d")
        .hasMessageNotContaining("rule /e");
  }

  @Test
  void build_withoutRules_isRefused() {
    assertThatThrownBy(() -> RequestLimiter.builder(limiter).build())
        .hasMessage("a rule is missing, expected at least one");
  }
}
