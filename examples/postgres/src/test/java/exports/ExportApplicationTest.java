// SPDX-License-Identifier: Apache-2.0
package exports;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalPostgres;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.client.TestRestTemplate;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** Two processes of the application on a real PostgreSQL 16, asked over real HTTP. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT)
class ExportApplicationTest {

  private static final String URL = "jdbc:" + LocalPostgres.newDatabase().replace("postgres@", "");

  @Autowired private TestRestTemplate http;
  @Autowired private JdbcClient database;

  @DynamicPropertySource
  static void properties(DynamicPropertyRegistry properties) {
    properties.add("spring.datasource.url", () -> URL);
    properties.add("spring.datasource.username", () -> "postgres");
  }

  private ResponseEntity<String> export(String server) {
    return http.postForEntity(server + "/exports?user=ann", null, String.class);
  }

  @Test
  void processes_shareTheBuckets_inTheTableOfTheDatabase() {
    try (var other =
        new SpringApplicationBuilder(ExportApplication.class)
            .run(
                "--server.port=0",
                "--spring.datasource.url=" + URL,
                "--spring.datasource.username=postgres")) {
      String its = "http://127.0.0.1:" + other.getEnvironment().getProperty("local.server.port");
      List<Integer> codes =
          Stream.of("", its, "", its, "").map(one -> export(one).getStatusCode().value()).toList();
      assertThat(codes).containsExactly(200, 200, 200, 429, 429);
      assertThat(export(its).getHeaders().getFirst("Retry-After")).isNotNull();
    }
    assertThat(
            database
                .sql("select convert_from(key, 'UTF8') from sluice_bucket")
                .query(String.class)
                .list())
        .contains("exports:ExportsPerUser:ann");
    assertThat(database.sql("show server_version").query(String.class).single()).startsWith("16.");
  }
}
