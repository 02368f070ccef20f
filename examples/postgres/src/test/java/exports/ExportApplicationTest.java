// SPDX-License-Identifier: Apache-2.0
package exports;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.servers.LocalPostgres;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Two processes of the application on a real PostgreSQL 16, asked over real HTTP. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class ExportApplicationTest {

  private static final String ADDRESS = LocalPostgres.newDatabase();
  private static final String URL = "jdbc:" + ADDRESS.replace("postgres@", "");

  @Autowired private TestRestTemplate http;
  @Autowired private JdbcClient database;

  @DynamicPropertySource
  static void properties(DynamicPropertyRegistry properties) {
    properties.add("spring.datasource.url", () -> URL);
    properties.add("spring.datasource.username", () -> "postgres");
  }

  private ResponseEntity<String> export(String server, String user) {
    return http.postForEntity(server + "/exports?user=" + user, null, String.class);
  }

  /** On a busy machine the database may take longer than a request waits for it. */
  private static ConfigurableApplicationContext patientProcess() {
    return new SpringApplicationBuilder(ExportApplication.class)
        .run(
            "--server.port=0",
            "--sluice.store=" + ADDRESS + "?timeout=30s",
            "--spring.datasource.url=" + URL,
            "--spring.datasource.username=postgres");
  }

  private static String server(ConfigurableApplicationContext process) {
    return "http://127.0.0.1:" + process.getEnvironment().getProperty("local.server.port");
  }

  @Test
  void processes_shareTheBuckets() {
    try (var one = patientProcess();
        var other = patientProcess()) {
      String its = server(one);
      String others = server(other);
      List<Integer> codes =
          Stream.of(its, others, its, others, its)
              .map(server -> export(server, "ann").getStatusCode().value())
              .toList();
      assertThat(codes).containsExactly(200, 200, 200, 429, 429);
      assertThat(export(others, "ann").getHeaders().getFirst("Retry-After")).isNotNull();
    }
  }

  @Test
  void buckets_areInTheTableOfTheDatabase() {
    await()
        .atMost(Duration.ofMinutes(1))
        .until(
            () -> {
              export("", "bob");
              return database
                  .sql("select convert_from(key, 'UTF8') from sluice_bucket")
                  .query(String.class)
                  .list()
                  .contains("exports:ExportsPerUser:bob");
            });
    assertThat(database.sql("show server_version").query(String.class).single()).startsWith("16.");
  }
}
