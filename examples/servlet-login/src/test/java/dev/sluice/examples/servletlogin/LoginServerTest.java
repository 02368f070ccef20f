// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LoginServerTest {

  private final ManualTime time = new ManualTime();
  private final LoginServer server = new LoginServer(BucketStore.inMemory(time), 0);
  private int port;
  private Visitor visitor;

  @BeforeEach
  void start() throws Exception {
    port = server.start();
    visitor = new Visitor(port);
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
  }

  @Test
  void goodLogins_100ASecond_areUntouched_andBadOnesAreLimitedTo30AnHour() throws Exception {
    for (int i = 0; i < 300; i++) {
      assertThat(visitor.login("the password of ann", "192.0.2.7").statusCode()).isEqualTo(200);
      time.advance(Duration.ofMillis(10));
    }
    for (int i = 0; i < 30; i++) {
      assertThat(visitor.login("guess", "192.0.2.7").statusCode()).isEqualTo(401);
    }

    HttpResponse<String> refused = visitor.login("the password of ann", "192.0.2.7");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("RateLimit-Policy"))
        .hasValue("\"FailedLoginsPerIPAddress\";q=30;w=3600");
    assertThat(refused.body()).contains("too many failed logins (30) from this IP address");
    visitor = new Visitor(port); // Jetty may close the connection, as nobody read the body
    assertThat(visitor.login("guess", "192.0.2.8").statusCode()).isEqualTo(401);

    String seconds = refused.headers().firstValue("Retry-After").orElseThrow();
    time.advance(Duration.ofSeconds(Long.parseLong(seconds)));
    assertThat(visitor.login("the password of ann", "192.0.2.7").statusCode()).isEqualTo(200);
  }

  /** Each takes a token while it is under way: fewer at once than the burst are never refused. */
  @Test
  void goodLogins_ofManyAtOnce_areUntouched() throws Exception {
    ExecutorService tenAtOnce = Executors.newFixedThreadPool(10);
    try {
      Callable<Integer> login =
          () -> visitor.login("the password of ann", "192.0.2.7").statusCode();
      for (Future<Integer> status : tenAtOnce.invokeAll(Collections.nCopies(400, login))) {
        assertThat(status.get()).isEqualTo(200);
      }
    } finally {
      tenAtOnce.shutdown();
    }
  }

  @Test
  void spoofedAddress_doesNotHelp() throws Exception {
    for (int i = 0; i < 30; i++) {
      assertThat(
              visitor.login("guess", "10.0.0." + i + ", 6.6.6." + i + ", 192.0.2.7").statusCode())
          .isEqualTo(401);
    }

    assertThat(visitor.login("guess", "6.6.6.6, 192.0.2.7").statusCode()).isEqualTo(429);
  }

  @Test
  void trial_isSeenInTheMetricsAlone() throws Exception {
    for (int i = 0; i < 7; i++) {
      assertThat(visitor.login("the password of ann", "192.0.2.7").statusCode()).isEqualTo(200);
    }

    String line =
        "ratelimits_decisions_total{decision=\"shadow_denied\",limit=\"LoginsPerUserPerIPAddress\"} 2.0";
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> visitor.get("/metrics").body().contains(line));
  }

  @Test
  void apiCalls_areLimitedForEachKey_andThoseWithoutOneTogether() throws Exception {
    for (int left = 99; left >= 0; left--) {
      HttpResponse<String> answer = visitor.call("/api/v" + left + "/things/7", "key-of-ann");
      assertThat(answer.body()).isEqualTo("an answer\n");
      assertThat(answer.headers().firstValue("RateLimit")).hasValue("\"ApiCallsPerKey\";r=" + left);
    }

    HttpResponse<String> refused = visitor.call("/api/v1", "key-of-ann");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After").orElseThrow()).isIn("1", "2");
    assertThat(refused.headers().firstValue("RateLimit-Policy"))
        .hasValue("\"ApiCallsPerKey\";q=100;w=2");
    assertThat(refused.body()).doesNotContain("an answer").doesNotContain("key-of-ann");
    assertThat(visitor.call("/api/v1", "key-of-bob").statusCode()).isEqualTo(200);
    assertThat(visitor.get("/api/v1").headers().firstValue("RateLimit"))
        .hasValue("\"ApiCallsPerKey\";r=99");
    assertThat(visitor.get("/api/v2").headers().firstValue("RateLimit"))
        .hasValue("\"ApiCallsPerKey\";r=98");

    time.advance(Duration.ofSeconds(1));
    assertThat(visitor.call("/api/v1", "key-of-ann").statusCode()).isEqualTo(200);
  }
}
