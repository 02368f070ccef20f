// SPDX-License-Identifier: Apache-2.0
package orders;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The application with a real Redis, asked over real HTTP. */
@SpringBootTest(
    webEnvironment = WebEnvironment.RANDOM_PORT,
    properties = "sluice.limits.LoginsPerIPAddress.period=10m") // a token a minute: none within a test
class OrderApplicationTest {

  private static final LocalRedis REDIS = LocalRedis.start(RedisBinary.bundled());

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Value("${local.server.port}")
  private int port;

  @DynamicPropertySource
  static void redis(DynamicPropertyRegistry properties) {
    properties.add("spring.data.redis.port", REDIS::port);
    properties.add("spring.data.redis.timeout", () -> "60s"); // a slow machine is waited for
    properties.add("spring.data.redis.connect-timeout", () -> "60s");
    // A token a minute: none within a test.
    properties.add("sluice.limits.LoginsPerIPAddress.period", () -> "10m");
  }

  @AfterAll
  static void stop() {
    REDIS.close();
  }

  private HttpResponse<String> send(String method, String path)
      throws IOException, InterruptedException {
    return client.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .method(method, BodyPublishers.noBody())
            .build(),
        BodyHandlers.ofString());
  }

  private HttpResponse<String> post(String path) throws IOException, InterruptedException {
    return send("POST", path);
  }

  @Test
  void orders_costTheirItems_andTheSixthIsRefused() throws Exception {
    assertThat(post("/orders?account=ann&items=a,b,c").body()).isEqualTo("ann ordered 3");
    assertThat(post("/orders?account=ann&items=d,e").statusCode()).isEqualTo(200);

    HttpResponse<String> refused = post("/orders?account=ann&items=f");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).isPresent();
    assertThat(refused.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    assertThat(refused.body()).contains("OrdersPerAccount");
    assertThat(post("/orders?account=bob&items=a").statusCode()).isEqualTo(200);
  }

  @Test
  void badPasswords_count_andGoodOnesDoNot_andTheFilterLimitsBoth() throws Exception {
    for (int i = 0; i < 4; i++) {
      HttpResponse<String> good = post("/login?user=ann&password=secret");
      assertThat(good.body()).isEqualTo("welcome, ann");
      assertThat(good.headers().firstValue("RateLimit").orElseThrow())
          .startsWith("\"LoginsPerIPAddress\";r=" + (9 - i) + ",");
    }
    for (int i = 0; i < 3; i++) {
      assertThat(post("/login?user=ann&password=x").statusCode()).isEqualTo(401);
    }
    assertThat(post("/login?user=ann&password=secret").body()).contains("BadPasswordsPerUser");
    assertThat(post("/login?user=bob&password=secret").statusCode()).isEqualTo(200);
    assertThat(post("/login?user=bob&password=secret").statusCode()).isEqualTo(200);

    HttpResponse<String> eleventh = post("/login?user=bob&password=secret");

    assertThat(eleventh.statusCode()).isEqualTo(429);
    assertThat(eleventh.body()).contains("LoginsPerIPAddress");
    // Ten requests passed the filter; three bad passwords and one 429 cost a token of this limit.
    assertThat(send("GET", "/actuator/sluice/FailedLoginsPerIPAddress/127.0.0.1").body())
        .contains("\"remaining\":26");
  }

  @Test
  void trial_refusesNobody_andIsSeenInTheMetrics() throws Exception {
    assertThat(post("/orders?account=tom&items=a").statusCode()).isEqualTo(200);
    double before = deniedOnTrial();

    for (int i = 0; i < 3; i++) {
      HttpResponse<String> order = post("/orders?account=tom&items=a");
      assertThat(order.statusCode()).isEqualTo(200);
      assertThat(order.headers().firstValue("RateLimit")).isEmpty();
    }

    assertThat(deniedOnTrial()).isEqualTo(before + 3);
  }

  private double deniedOnTrial() throws IOException, InterruptedException {
    String meter =
        send("GET", "/actuator/metrics/ratelimits.decisions?tag=decision:shadow_denied").body();
    String count = "\"value\":";
    int from = meter.indexOf(count) + count.length();
    return Double.parseDouble(meter.substring(from, meter.indexOf('}', from)));
  }

  @Test
  void actuator_showsLimits_health_metrics_andABucket_andResetsIt() throws Exception {
    assertThat(post("/orders?account=eve&items=a,b").statusCode()).isEqualTo(200);
    assertThat(String.valueOf(REDIS.command("DBSIZE"))).isNotEqualTo("0");

    assertThat(send("GET", "/actuator/health").body()).contains("UP");
    assertThat(send("GET", "/actuator/metrics/ratelimits.decisions").statusCode()).isEqualTo(200);
    assertThat(send("GET", "/actuator/sluice").body()).contains("\"OrdersPerAccount\"");
    assertThat(send("GET", "/actuator/sluice/OrdersPerAccount/eve").body())
        .contains("\"remaining\":3");
    assertThat(send("DELETE", "/actuator/sluice/OrdersPerAccount/eve").statusCode())
        .isEqualTo(204);
    assertThat(send("GET", "/actuator/sluice/OrdersPerAccount/eve").body())
        .contains("\"remaining\":5");
  }

  @Test
  void docs_quoteThisProgram() throws Exception {
    assertThat(Files.readString(Path.of("../../docs/spring.md")))
        .contains(part("names"))
        .contains(part("rules"));
  }

  private static String part(String name) throws IOException {
    String text = Files.readString(Path.of("../boot-3/src/main/resources/application.yml"));
    int begin = text.indexOf("# begin: " + name + "\n");
    int end = text.indexOf("# end: " + name + "\n");
    return "<!-- from: application.yml#%s -->\n```yaml\n%s\n```"
        .formatted(name, text.substring(text.indexOf('\n', begin) + 1, end).stripIndent().strip());
  }
}
