package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.testkit.ManualTime;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules that count some outcomes only: 30 failed logins an hour, and any number of good ones. */
@ParameterizedClass
@EnumSource(Container.class)
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
            .servlet("/crash", new Crash())
            .servlet("/refused", new CrashAfterwards());
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  private void start(Rule... rules) throws Exception {
    web.filter(RateLimitFilter.builder(limiter), rules).start();
  }

  @Test
  void goodLogins_100ASecond_costNothing_andBadOnesAreLimitedTo30AnHour() throws Exception {
    start(failedLogins);
    for (int i = 0; i < 500; i++) {
      assertThat(web.post("/login", "").statusCode()).isEqualTo(200);
      time.advance(Duration.ofMillis(10));
    }
    assertThat(remaining(limiter, "FailedPerAddress", LOCAL)).isEqualTo(30);

    for (int i = 0; i < 30; i++) {
      assertThat(web.post("/login?status=401", "").statusCode()).isEqualTo(401);
    }
    HttpResponse<String> refused = web.post("/login", "");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).hasValue("120");
    time.advance(Duration.ofMinutes(2));
    assertThat(web.post("/login", "").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/login",
        "/login?status=403",
        "/async?how=complete&status=200",
        "/async?how=dispatch-complete&status=403"
      })
  void statusThatDoesNotCount_givesTheTokenBack(String path) throws Exception {
    start(failedLogins);

    var unused = web.get(path);

    await().until(() -> remaining(limiter, "FailedPerAddress", LOCAL) == 30);
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

  @Test
  void exception_isA500() throws Exception {
    start(
        Rule.on("/crash").limit("PerKey", VaryBy.constant("a")).countOnly(500).build(),
        Rule.on("/crash").limit("PerAddress", VaryBy.clientAddress()).countOnly(401).build());

    assertThat(web.get("/crash").statusCode()).isEqualTo(500);

    await().until(() -> remaining(limiter, "PerAddress", LOCAL) == 3);
    assertThat(remaining(limiter, "PerKey", "a")).isEqualTo(1);
  }

  /** However an asynchronous request ends, it is charged once, and its last status has the say. */
  @ParameterizedTest
  @CsvSource({
    "complete,          401",
    "dispatch-complete, 401",
    "dispatch-status,   401",
    "send-error,        401",
    "time-out-handled,  401",
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

    String response = RawHttp.get(web.port(), "/app/async?how=" + how);

    // Tomcat says nothing at all where a servlet throws after startAsync.
    assertThat(response).startsWith(how.equals("throw") ? "" : "HTTP/1.1 " + status);
    // Nobody knows how the work ends that a time-out interrupts.
    long failed = status == 401 || how.equals("time-out") ? 29 : 30;
    long broken = status == 500 ? 1 : 2;
    await()
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

  @Test
  void conditionalAndPlainLimits_areAllOrNothing_andOnlyTheFirstComeBack() throws Exception {
    start(failedLogins, Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).build());
    for (int i = 0; i < 3; i++) {
      assertThat(web.get("/login").statusCode()).isEqualTo(200);
    }

    assertThat(web.get("/login?status=401").statusCode()).isEqualTo(429);

    await().until(() -> remaining(limiter, "FailedPerAddress", LOCAL) == 30);
    assertThat(remaining(limiter, "PerAddress", LOCAL)).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "200, true, true",
    "204, true, false",
    "302, false, false",
    "401, false, false",
    "429, false, false",
    "500, false, false",
    "418, false, false"
  })
  void ruleThatCountsAllBut_givesBackOnlyForThose(int status, boolean success, boolean only200)
      throws Exception {
    start(
        Rule.on("/login")
            .limit("FailedPerAddress", VaryBy.clientAddress())
            .countAllButSuccess()
            .build(),
        Rule.on("/login").limit("PerKey", VaryBy.constant("a")).countAllBut(200).build(),
        Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).countOnly(599).build());

    assertThat(web.get("/login?status=" + status).statusCode()).isEqualTo(status);

    await().until(() -> remaining(limiter, "PerAddress", LOCAL) == 3); // settled
    assertThat(remaining(limiter, "FailedPerAddress", LOCAL)).isEqualTo(success ? 30 : 29);
    assertThat(remaining(limiter, "PerKey", "a")).isEqualTo(only200 ? 2 : 1);
  }

  @Test
  void bucketOfTwoRules_comesBackOnlyIfNeitherCounts() throws Exception {
    start(
        Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).countOnly(401).build(),
        Rule.on("/login").limit("PerAddress", VaryBy.clientAddress()).countOnly(403).build());

    for (String status : new String[] {"200", "401", "403"}) {
      assertThat(web.get("/login?status=" + status).statusCode()).isNotEqualTo(429);
    }

    await().until(() -> remaining(limiter, "PerAddress", LOCAL) == 1);
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

  /** Throws. */
  private static final class Crash extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) {
      throw new IllegalStateException("crashed, as the test wants");
    }
  }
}
