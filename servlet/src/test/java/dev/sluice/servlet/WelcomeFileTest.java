// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.ManualTime;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who asks for a folder gets its welcome file, under the rules of the folder. */
@ParameterizedClass
@MethodSource("dev.sluice.servlet.Container#tested")
class WelcomeFileTest {

  private final WebServer web;

  WelcomeFileTest(Container container) {
    this.web = container.server().welcome("start").servlet("/start", Pages.status());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private void limit(String path) throws Exception {
    web.filter(
            RateLimitFilter.builder(Limiters.on(new ManualTime())),
            Rule.on(path).limit("PerAddress", VaryBy.clientAddress()).build())
        .start();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "//", "/./", "/.", "/x/..", "/%2e", "/%2e/", "/;a=b", "/?q=/start"})
  void spellingsOfAFolder_areNoWayAroundItsRule(String path) throws Exception {
    limit("/");
    for (int i = 0; i < 3; i++) {
      assertThat(web.get("/").body()).isEqualTo("page");
    }

    // Refused by the container, sent to the folder, or limited.
    assertThat(RawHttp.get(web.port(), "/app" + path)).containsPattern("^HTTP/1.1 (302|400|429) ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/start", "/st%61rt", "/start;a=b", "/x/../start", "/start?q=/"})
  void ruleOfAFolder_isNotForItsFiles(String path) throws Exception {
    limit("/");

    // Undertow resolves no dots, and finds nothing there.
    assertThat(RawHttp.get(web.port(), "/app" + path))
        .containsPattern("^HTTP/1.1 (200|404) ")
        .doesNotContain("RateLimit");
  }

  @Test
  void ruleOfTheFile_isForWhoAsksForIt() throws Exception {
    limit("/start");

    assertThat(web.get("/start").headers().firstValue("RateLimit")).hasValue("\"PerAddress\";r=2");
  }
}
