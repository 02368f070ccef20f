// SPDX-License-Identifier: Apache-2.0
package plans;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The application with a real Redis and a real database, asked over real HTTP. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class PlanApplicationTest {

  private static final LocalRedis REDIS = LocalRedis.start(RedisBinary.bundled());

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Value("${local.server.port}")
  private int port;

  @Autowired private JdbcClient database;
  @Autowired private Plans plans;

  @DynamicPropertySource
  static void properties(DynamicPropertyRegistry properties) {
    properties.add("spring.data.redis.host", () -> "127.0.0.1");
    properties.add("spring.data.redis.port", REDIS::port);
    properties.add("spring.data.redis.timeout", () -> "60s"); // a slow machine is waited for
    properties.add("spring.data.redis.connect-timeout", () -> "60s");
    properties.add("plans.refresh", () -> "50ms");
  }

  @AfterAll
  static void stop() {
    REDIS.close();
  }

  @BeforeEach
  void fullBuckets() {
    REDIS.command("FLUSHALL");
  }

  private HttpResponse<String> call(String tenant, String customer) {
    try {
      return client.send(
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/call"))
              .header("tenant", tenant)
              .header("customer", customer)
              .build(),
          BodyHandlers.ofString());
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private int passed(String tenant, String customer, int calls) {
    int passed = 0;
    for (int i = 0; i < calls; i++) {
      passed += call(tenant, customer).statusCode() == 200 ? 1 : 0;
    }
    return passed;
  }

  @Test
  void customers_haveTheirOwnPlans_perTenant() {
    assertThat(passed("shop", "ann", 5)).isEqualTo(2);
    assertThat(passed("shop", "bob", 5)).isEqualTo(5);
    assertThat(passed("bank", "ann", 5)).isEqualTo(3);

    HttpResponse<String> refused = call("bank", "ann");

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).isPresent();
    assertThat(refused.body()).contains("CallsPerCustomer");
    assertThat(call("shop", "eve").statusCode()).isEqualTo(403);
  }

  @Test
  void plan_changedInTheDatabase_holdsForTheLiveBucket() {
    insert("shop", "carl", 2, 2);
    assertThat(passed("shop", "carl", 5)).isEqualTo(2);

    // The bucket is full in 60 s. By the new plan, 10 tokens need as long: 10 of the 20 are left,
    // and one more comes each 6 s.
    long start = System.nanoTime();
    update("shop", "carl", 20, 10);
    await().atMost(Duration.ofMinutes(1)).until(() -> call("shop", "carl").statusCode() == 200);
    int passed = passed("shop", "carl", 20);
    long seconds = Duration.ofNanos(System.nanoTime() - start).toSeconds();
    assertThat(passed).isBetween(9, (int) (10 + seconds / 6));

    update("shop", "carl", 1, 1);
    plans.changed(new Customer("shop", "carl"));
    await().atMost(Duration.ofMinutes(1)).until(() -> call("shop", "carl").statusCode() == 429);
  }

  @Test
  void plan_whileTheDatabaseIsAway_staysAsItWas() {
    assertThat(call("shop", "bob").statusCode()).isEqualTo(200);

    database.sql("alter table plans rename to away").update();
    try {
      assertThat(passed("shop", "bob", 20)).isEqualTo(20);
    } finally {
      database.sql("alter table away rename to plans").update();
    }
  }

  private void insert(String tenant, String customer, int burst, int perMinute) {
    database
        .sql("insert into plans values (?, ?, ?, ?)")
        .params(tenant, customer, burst, perMinute)
        .update();
  }

  private void update(String tenant, String customer, int burst, int perMinute) {
    database
        .sql("update plans set burst = ?, per_minute = ? where tenant = ? and customer = ?")
        .params(burst, perMinute, tenant, customer)
        .update();
  }
}
