// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules that count some outcomes only: 30 failed logins an hour, and any number of good ones. */
@Tag("slow")
@ParameterizedClass
@MethodSource("dev.sluice.servlet.Container#tested")
class ConditionalRuleTest {

  private static final String LOCAL = "127.0.0.1";

  private final ManualTime time = new ManualTime();
  private final Limiter limiter = Limiters.on(time);
  private final WebServer web;

  private final Rule failedLogins =
      Rule.on("/**").limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(401).build();

  ConditionalRuleTest(Container container) {
    this.web =
        container
            .server()
            .servlet("/", Pages.status())
            .servlet("/async", new AsyncPages())
            .servlet("/refused", new CrashAfterwards());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private void start(Rule... rules) throws Exception {
    web.filter(RateLimitFilter.builder(limiter), rules).start();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/async?how=complete&status=200", "/async?how=dispatch-complete&status=403"})
  void statusThatDoesNotCount_givesTheTokenBack(String path) throws Exception {
    start(failedLogins);

    var unused = web.get(path);

    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> remaining(limiter, "FailedPerAddress", LOCAL) == 30);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/login?status=401", "/login?status=401&sendError=1", "/async?how=complete"})
  void statusThatCounts_leavesTheTokenSpent(String path) throws Exception {
    start(failedLogins);
    for (int i = 0; i < 30; i++) {
      assertThat(web.get(path).statusCode()).isEqualTo(401);
    }

    assertThat(web.get(path).statusCode()).isEqualTo(429);
  }

  /** However an asynchronous request ends, it is charged once, and its last status has the say. */
  @ParameterizedTest
  @CsvSource({
    "complete,          401",
    "dispatch-complete, 401",
    "dispatch-status,   401",
    "send-error,        401",
    "time-out-handled,  401",
    "time-out-handled,  503",
    "time-out-refused,  503",
    "time-out-answered, 503",
    "time-out,          500",
    "dispatch-throw,    500",
    "throw,             500",
    "sent-then-time-out, 401"
  })
  void asynchronousRequest_isSettledOnce_whenItIsOver(String how, int status) throws Exception {
    start(
        Rule.on("/async").limit("PerAddress", VaryBy.clientAddress()).build(),
        Rule.on("/async").limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(401).build(),
        Rule.on("/async").limit("PerKey", VaryBy.constant("a")).countOnly(500, 503).build());

    String response = RawHttp.get(web.port(), "/app/async?how=" + how + "&status=" + status);

    // Tomcat says nothing at all where a servlet throws after startAsync.
    assertThat(response).startsWith(how.equals("throw") ? "" : "HTTP/1.1 " + status);
    // Nobody knows how the work ends that a time-out interrupts.
    long failed = status == 401 || how.startsWith("time-out") ? 29 : 30;
    long broken = status >= 500 ? 1 : 2;
    await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(
            () -> {
              assertThat(remaining(limiter, "FailedPerAddress", LOCAL)).isEqualTo(failed);
              assertThat(remaining(limiter, "PerKey", "a")).isEqualTo(broken);
            });
    assertThat(remaining(limiter, "PerAddress", LOCAL)).isEqualTo(2);
  }

  @Test
  void exception_afterTheStatusWasSent_countsAsThatStatus() throws Exception {
    start(failedLogins);

    String response = RawHttp.get(web.port(), "/app/refused");

    assertThat(response).startsWith("HTTP/1.1 401");
    // The connection ended, and that it does only after the filter.
    assertThat(remaining(limiter, "FailedPerAddress", LOCAL)).isEqualTo(29);
  }

  /** Sends a 401, and throws. */
  private static final class CrashAfterwards extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      response.setStatus(401);
      response.flushBuffer();
      throw new IOException("crashed after the status was sent, as the test wants");
    }
  }
}
