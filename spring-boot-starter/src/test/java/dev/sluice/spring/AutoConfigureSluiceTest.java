// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.spring.AutoConfigureSluice;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A whole application, asked over HTTP, on a clock that its test moves. */
@SpringBootTest(
    webEnvironment = WebEnvironment.RANDOM_PORT,
    properties = {
      "server.address=127.0.0.1",
      "spring.main.web-application-type=servlet",
      "logging.level.root=off",
      "sluice.limits.LoginsPerIPAddress.burst=1",
      "sluice.limits.LoginsPerIPAddress.count=1",
      "sluice.limits.LoginsPerIPAddress.period=1h",
      "sluice.filter.rules[0].path=/login",
      "sluice.filter.rules[0].limit=LoginsPerIPAddress",
      "sluice.filter.rules[0].id=ip"
    })
@AutoConfigureSluice
class AutoConfigureSluiceTest {

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @RestController
  static class Application {
    @GetMapping("/login")
    String login() {
      return "welcome";
    }
  }

  @Autowired private ManualTime time;
  @Autowired private Limiter limiter;
  @Autowired private BucketStore store;

  @Value("${local.server.port}")
  private int port;

  private int login() throws IOException, InterruptedException {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/login")).build(),
            BodyHandlers.discarding())
        .statusCode();
  }

  /** Twice, so that the second one finds what the first has left. */
  @RepeatedTest(2)
  void login_secondInAnHour_isRefusedUntilTheClockIsMoved() throws Exception {
    assertThat(login()).isEqualTo(200);
    assertThat(login()).isEqualTo(429);

    time.advance(Duration.ofHours(1));

    assertThat(login()).isEqualTo(200);
  }

  @Test
  void liveBuckets_areThoseOfTheStoreThatForgets() {
    assertThat(limiter.spend("LoginsPerIPAddress", "192.0.2.1").allowed()).isTrue();
    assertThat(store.liveBuckets()).hasValue(1);
    assertThat(store.nowNanos()).hasValue(time.nanos());
  }
}
