// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits.MissingDefaultException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Requirement.MissingDefault;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RuleTest {

  @ParameterizedTest
  @CsvSource({
    "/,                  /,             true",
    "/,                  /a,            false",
    "/login,             /login,        true",
    "/login,             /Login,        false",
    "/login,             /login/x,      false",
    "/login,             //login//,     true",
    "/a/*,               /a/b,          true",
    "/a/*,               /a,            false",
    "/a/*,               /a/b/c,        false",
    "/a/**,              /a,            true",
    "/a/**,              /a/b/c,        true",
    "/a/**,              /ab,           false",
    "/**,                /,             true",
    "/users/{u}/export,  /users/7/export, true",
    "/users/{u}/export,  /users//export,  false"
  })
  void pattern_matches(String pattern, String path, boolean matches) {
    assertThat(PathPattern.parse(pattern).match(PathPattern.segments(path)) != null)
        .isEqualTo(matches);
  }

  @Test
  void pattern_givesItsVariables() {
    assertThat(PathPattern.parse("/a/{b}/*/{c}").match(List.of("a", "1", "x", "2")))
        .isEqualTo(Map.of("b", "1", "c", "2"));
  }

  @ParameterizedTest
  @CsvSource({"login", "''", "/a*", "/**/a", "/{a}/{a}", "/{}", "/{1a}", "/x{a}", "/a?", "/{a"})
  void pattern_ofAnotherForm_isRefused(String pattern) {
    assertThatThrownBy(() -> Rule.on(pattern))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("path: found \"%s\", expected ".formatted(pattern));
  }

  @Test
  void pathVariable_thatAPathHasNot_isRefused() {
    assertThatThrownBy(
            () -> Rule.on("/users/{user}", "/me").limit("PerKey", VaryBy.pathVariable("user")))
        .hasMessage("limit PerKey: found the path variable user, expected one of the path /me: []");
  }

  @Test
  void rule_thatLacksSomething_isRefused() {
    assertThatThrownBy(() -> Rule.on()).hasMessage("path: found none, expected at least one");
    assertThatThrownBy(() -> Rule.on("/a").build())
        .hasMessage("rule [/a]: found no limit, expected one");
    assertThatThrownBy(() -> Rule.on("/a").limit("PerKey"))
        .hasMessageContaining("expected for example VaryBy.clientAddress()");
    assertThatThrownBy(() -> Rule.on("/a").methods("post"))
        .hasMessage("method: found \"post\", expected an upper-case word such as POST");
    assertThatThrownBy(() -> Rule.on("/a").cost(-1))
        .hasMessage("cost: found -1, expected at least 0");
    assertThatThrownBy(() -> VaryBy.clientIpv6Range(129))
        .hasMessage("bits: found 129, expected 1 to 128");
  }

  private static RequestLimiter.Builder forgotten(Limiter limiter) {
    return RequestLimiter.builder(limiter)
        .rule(Rule.on("/sign-up").limit("Forgotten", VaryBy.constant("all")).build());
  }

  @Test
  void limitThatIsNotConfigured_isRefusedAtTheStart_unlessAllowed() {
    Limiter limiter = Limiters.limiter();
    assertThatThrownBy(() -> forgotten(limiter).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "Forgotten has no default, but the rule /sign-up asks for it and would not be limited;"
                + " write burst, count and period, or unlimited: true");
    assertThat(forgotten(limiter).missingDefaults(MissingDefault.WARN).build()).isNotNull();
    assertThat(limiter.limits().unmet(limiter.limits().get())).hasSize(1);
  }

  @Test
  void limitsThatLackWhatARuleNames_doNotReplaceThoseThatHold() {
    Limiter limiter = Limiters.limiter();
    Limits good = limiter.limits().get();
    RequestLimiter filter =
        RequestLimiter.builder(limiter)
            .rule(Rule.on("/page").limit("PerKey", VaryBy.constant("all")).build())
            .build();
    Limits bad = Limits.builder(good.catalogue()).build();
    assertThatThrownBy(() -> limiter.limits().replace(bad))
        .isInstanceOf(MissingDefaultException.class)
        .hasMessageContaining("the rule /page");
    assertThat(limiter.limits().get()).isSameAs(good);
    filter.close();
    limiter.limits().replace(bad);
    assertThat(limiter.limits().get()).isSameAs(bad);
  }

  @Test
  void countOnly_ofNoStatus_isRefused() {
    assertThatThrownBy(() -> Rule.on("/a").countOnly())
        .hasMessage("countOnly: found [], expected statuses from 100 to 599");
    assertThatThrownBy(() -> Rule.on("/a").countOnly(99))
        .hasMessage("countOnly: found [99], expected statuses from 100 to 599");
    assertThatThrownBy(() -> Rule.on("/a").countAllBut(600))
        .hasMessage("countAllBut: found [600], expected statuses from 100 to 599");
  }
}
