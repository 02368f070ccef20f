// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Files;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Table;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.testkit.servers.LocalPostgres;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Servers that share the tables of one PostgreSQL. */
@Tag("slow")
class SharedTableTest {

  private static final Duration EVERY = Duration.ofSeconds(1);
  private static final Duration SLOW_MACHINE = Duration.ofMinutes(1);

  private final HttpClient client = HttpClient.newHttpClient();
  private final DataSource database = PostgresUrl.dataSource(LocalPostgres.newDatabase());

  @BeforeEach
  void makeTables() throws SQLException {
    new OverridesTable(database, Catalogue.samples()).migrate();
  }

  private Service server(Duration every) {
    InetSocketAddress free = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return Service.start(
        new ServerConfig(
            Doors.of(Http.on(free)),
            new Sources(
                Files.NONE, new Table(database, every), List.of(), MissingDefault.REFUSE, null),
            Storage.in(StoreAccess.of("memory")),
            Control.NONE,
            Telemetry.NONE));
  }

  private HttpResponse<String> send(Service to, String method, String path, @Nullable String body)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(to.addresses().get(0)) + path))
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (body != null) {
      request.header("Content-Type", "application/json");
    }
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private String spend(Service on, String id) throws Exception {
    String body = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"%s\"}".formatted(id);
    return send(on, "POST", "/v1/spend", body).body();
  }

  private void awaitReady(Service service) {
    await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(
            () -> assertThat(send(service, "GET", "/readyz", null).statusCode()).isEqualTo(200));
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void overrideAndPenalty_setOnOneServer_areInForceOnAnother_withinTheInterval() throws Exception {
    try (Service a = server(EVERY);
        End ofA = new End(a);
        Service b = server(EVERY);
        End ofB = new End(b);
        Service late = server(Duration.ofMinutes(10));
        End ofLate = new End(late)) {
      awaitReady(a);
      awaitReady(b);
      awaitReady(late);
      String override = "{\"burst\":500,\"count\":500,\"period\":\"1m\"}";
      String at = "/v1/admin/overrides/ApiCallsPerKey/vip";
      assertThat(send(a, "PUT", at, override).statusCode()).isEqualTo(200);
      assertThat(spend(a, "vip")).contains("\"burst\":500");
      String ban = "{\"for\":\"10m\"}";
      String banned = "/v1/admin/penalties/ApiCallsPerKey/bad";
      assertThat(send(a, "PUT", banned, ban).statusCode()).isEqualTo(200);
      assertThat(spend(a, "bad")).contains("\"allowed\":false");

      await()
          .atMost(EVERY.plus(SLOW_MACHINE))
          .untilAsserted(
              () -> {
                assertThat(spend(b, "vip")).contains("\"burst\":500");
                assertThat(spend(b, "bad")).contains("\"allowed\":false", "\"penaltyUntil\"");
              });
      // Otherwise each server might read as often as it likes, and its interval mean nothing.
      assertThat(spend(late, "vip")).doesNotContain("\"burst\":500");
      assertThat(spend(late, "bad")).contains("\"allowed\":true");

      assertThat(send(a, "DELETE", banned, null).statusCode()).isEqualTo(200);
      assertThat(send(a, "DELETE", at, null).statusCode()).isEqualTo(200);
      assertThat(send(a, "DELETE", at, null).statusCode()).isEqualTo(404);
      await()
          .atMost(EVERY.plus(SLOW_MACHINE))
          .untilAsserted(
              () -> {
                assertThat(spend(b, "vip")).doesNotContain("\"burst\":500");
                assertThat(spend(b, "bad")).contains("\"allowed\":true");
              });
    }
  }

  /** With a long interval: the first read is tried again soon. */
  @Test
  void server_isReadyOnlyWhenPenaltiesWereRead_andCountsReadsThatFail() throws Exception {
    execute("ALTER TABLE rate_limit_penalties RENAME TO away");
    try (Service service = server(Duration.ofMinutes(10));
        End end = new End(service)) {
      await()
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(
              () -> {
                HttpResponse<String> answer = send(service, "GET", "/readyz", null);
                assertThat(answer.statusCode()).isEqualTo(503);
                assertThat(answer.body()).contains("the table of penalties has not been read yet");
                assertThat(failures(service, "penalties_table")).isPositive();
              });
      assertThat(failures(service, "overrides_table")).isZero();
      execute("ALTER TABLE away RENAME TO rate_limit_penalties");
      awaitReady(service);
    }
  }

  @Test
  void readsOfTheOverridesThatFail_areCounted_andTheServerStaysReady() throws Exception {
    try (Service service = server(EVERY);
        End end = new End(service)) {
      awaitReady(service);
      assertThat(failures(service, "overrides_table")).isZero();
      assertThat(failures(service, "penalties_table")).isZero();
      execute("ALTER TABLE rate_limit_overrides RENAME TO away");
      await()
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(() -> assertThat(failures(service, "overrides_table")).isPositive());
      assertThat(send(service, "GET", "/readyz", null).statusCode()).isEqualTo(200);
    }
  }

  private double failures(Service of, String source) throws Exception {
    String line = "sluice_runtime_reads_failed_total{source=\"%s\"} ".formatted(source);
    return send(of, "GET", "/metrics", null)
        .body()
        .lines()
        .filter(one -> one.startsWith(line))
        .mapToDouble(one -> Double.parseDouble(one.substring(line.length())))
        .sum();
  }
}
