// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.FailureRule;
import dev.sluice.server.Aside;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.tls.Pem;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;

/** The alerts for Prometheus and the first row of the dashboard. */
class AlertsTest {

  private static final Path ALERTS = Path.of("../docs/prometheus/sluice-alerts.yml");
  private static final Path RUNBOOK = Path.of("../docs/alerts.md");
  private static final Path DASHBOARD = Path.of("../docs/grafana/sluice.json");
  private static final Pattern METRIC = Pattern.compile("\\b(?:ratelimits|sluice)_[a-z_]+\\b");
  private static final String NONE = "";

  /** An hour in which all is well: a table half full, a caller without a token each minute. */
  private static final Map<String, String> WELL =
      Map.ofEntries(
          Map.entry("up{job='sluice',instance='a'}", "1x60"),
          Map.entry("up{job='database',instance='b'}", "0x60"),
          Map.entry("sluice_build_info{job='sluice',instance='a',version='1'}", "1x60"),
          Map.entry(latency("success"), "0+6000x60"),
          Map.entry(sample("ratelimits_decisions_total", "limit='L'"), "0+6000x60"),
          Map.entry(sample("ratelimits_live_buckets"), "1000x60"),
          Map.entry(sample("ratelimits_live_buckets_max"), "2000x60"),
          Map.entry(sample("sluice_connections"), "400x60"),
          Map.entry(sample("sluice_connections_max"), "832x60"),
          Map.entry(sample("ratelimits_limit_files_errors"), "0x60"),
          Map.entry(sample("ratelimits_overrides_errors"), "0x60"),
          Map.entry(sample("ratelimits_missing_defaults"), "0x60"),
          Map.entry(sample("ratelimits_redis_up", "server='redis-1'"), "1x60"),
          Map.entry(sample("sluice_generation_mistakes", "files='limits'"), "0x60"),
          Map.entry(sample("sluice_generation_put_back"), "0x60"),
          Map.entry(hash("limits", "a"), "1111x60"),
          Map.entry(hash("certificates", "a"), "2222x60"),
          Map.entry(hash("certificates", "c"), "3333x60"),
          Map.entry(sample("sluice_generation_mistakes", "files='runtime'"), "0x60"),
          Map.entry(sample("sluice_tls_certificate_end_timestamp_seconds"), "2592000x60"),
          Map.entry(sample("sluice_snapshot_failing"), "0x60"),
          Map.entry(sample("sluice_audit_lost_total"), "0x60"),
          Map.entry(sample("sluice_access_refused_total", "reason='unauthenticated'"), "0+1x60"));

  /** Each with the series that differ, and the alerts that fire at its end. */
  private static final List<Arguments> DRILLS =
      List.of(
          drill("all is well", NONE),
          drill(
              "a server ends",
              "SluiceServerDown",
              "up{job='sluice',instance='a'}",
              "1x9 0x50",
              "sluice_build_info{job='sluice',instance='a',version='1'}",
              "1x9 stale"),
          drill(
              "no server is asked for its metrics",
              "SluiceServerDown",
              "sluice_build_info{job='sluice',instance='a',version='1'}",
              "_x60"),
          drill(
              "Redis goes away, and requests fail",
              "SluiceStoreDown",
              sample("ratelimits_redis_up", "server='redis-1'"),
              "1x30 0x30",
              latency("error"),
              "0x30 0+100x30"),
          drill(
              "Redis goes away, and failure rules decide",
              "SluiceDegraded SluiceStoreDown",
              sample("ratelimits_redis_up", "server='redis-1'"),
              "1x30 0x30",
              sample("ratelimits_degraded_total", "limit='L'"),
              "0x30 0+100x30"),
          drill(
              "a failure rule decides the only request in an hour",
              NONE,
              sample("ratelimits_decisions_total", "limit='L'"),
              "0x56 1x3",
              sample("ratelimits_degraded_total", "limit='L'"),
              "0x56 1x3"),
          drill(
              "failure rules decide one request in a thousand",
              NONE,
              sample("ratelimits_degraded_total", "limit='L'"),
              "0+6x60"),
          drill(
              "PostgreSQL goes away",
              "SluiceStoreDown",
              sample("ratelimits_postgres_up", "server='postgres-1'"),
              "1x30 0x30"),
          drill(
              "MariaDB goes away",
              "SluiceStoreDown",
              sample("ratelimits_mariadb_up", "server='mariadb-1'"),
              "1x30 0x30"),
          drill(
              "a restart of Redis of half a minute",
              NONE,
              sample("ratelimits_redis_up", "server='redis-1'"),
              "1x58 0 1"),
          drill(
              "Redis is away for two minutes, and requests fail",
              NONE,
              sample("ratelimits_redis_up", "server='redis-1'"),
              "1x54 0 0 1x3",
              latency("error"),
              "0x54 6000 12000 18000x3"),
          drill("a slow Redis", "SluiceStoreErrors", latency("error"), "0+120x60"),
          drill(
              "a Redis that answers probes and no calls, so that it is marked down now and then",
              "SluiceStoreErrors",
              sample("ratelimits_redis_up", "server='redis-1'"),
              "1 0 0 1 0 1 ".repeat(10) + "1",
              latency("error"),
              "0+9000x60"),
          drill(
              "one client invents ids",
              "SluiceTableNearlyFull",
              sample("ratelimits_live_buckets"),
              "1000+100x60"),
          drill(
              "a client opens connections and never closes them",
              "SluiceConnectionsNearlyFull",
              sample("sluice_connections"),
              "400+10x43 832x16"),
          drill(
              "a minute of many connections",
              NONE,
              sample("sluice_connections"),
              "400x30 832 400x29"),
          drill(
              "a bad file arrives",
              "SluiceFilesMistaken",
              sample("sluice_generation_mistakes", "files='limits'"),
              "0x30 1x30",
              sample("ratelimits_limit_files_errors"),
              "0x30 1x30"),
          drill(
              "a bad file arrives in an application without a server",
              "SluiceFilesMistaken",
              "ratelimits_limit_files_errors{job='shop',instance='d'}",
              "0x30 1x30"),
          drill(
              "one of two servers keeps its old limits",
              "SluiceFilesDiffer",
              hash("limits", "c"),
              "1110x60"),
          drill(
              "two servers get new limits, one after the other",
              NONE,
              hash("limits", "a"),
              "1111x50 1112x10",
              hash("limits", "c"),
              "1111x54 1112x6"),
          drill(
              "a rollback is forgotten",
              "SluiceRollbackInForce",
              sample("sluice_generation_put_back"),
              "1x60"),
          drill(
              "a rollback of half an hour",
              NONE,
              sample("sluice_generation_put_back"),
              "0x30 1x30"),
          drill(
              "a rule names a limit without a default",
              "SluiceDefaultsMissing",
              sample("ratelimits_missing_defaults"),
              "1x60"),
          drill(
              "a bad row in the table of overrides",
              "SluiceOverridesUnread",
              sample("ratelimits_overrides_errors"),
              "1x60"),
          drill(
              "the table of penalties goes away, and is read every half an hour",
              "SluiceOverridesUnread",
              sample("sluice_generation_mistakes", "files='runtime'"),
              "0x40 1x19",
              sample("sluice_runtime_reads_failed_total", "source='penalties_table'"),
              "0x40 1x19"),
          drill(
              "a database of overrides and penalties restarts",
              NONE,
              sample("ratelimits_overrides_errors"),
              "0x53 1 1 1 0x3",
              sample("sluice_generation_mistakes", "files='runtime'"),
              "0x53 1 1 1 0x3",
              sample("sluice_runtime_reads_failed_total", "source='overrides_table'"),
              "0x53 2 3 4x4"),
          drill(
              "a certificate is not renewed",
              "SluiceCertificateEnds",
              sample("sluice_tls_certificate_end_timestamp_seconds"),
              "1200000x60"),
          drill(
              "a certificate has ended",
              "SluiceCertificateEnds",
              sample("sluice_tls_certificate_end_timestamp_seconds"),
              "60x60"),
          drill(
              "the disk is full",
              "SluiceAuditLost SluiceSnapshotFails",
              sample("sluice_snapshot_failing"),
              "1x60",
              sample("sluice_audit_lost_total"),
              "0+9x60"),
          drill("one snapshot fails", NONE, sample("sluice_snapshot_failing"), "0x58 1 0"),
          drill(
              "the only snapshot in an hour fails",
              "SluiceSnapshotFails",
              sample("sluice_snapshot_failing"),
              "0x40 1x19"),
          drill(
              "a client's token was revoked",
              "SluiceCallersRefused",
              sample("sluice_access_refused_total", "reason='unauthenticated'"),
              "0x30 0+60x30"));

  @TempDir private Path folder;

  private static String sample(String metric, String... labels) {
    return metric
        + Stream.concat(Stream.of("job='sluice'", "instance='a'"), Stream.of(labels))
            .collect(Collectors.joining(",", "{", "}"));
  }

  private static String latency(String result) {
    return sample("ratelimits_latency_count", "call='spend'", "result='" + result + "'");
  }

  private static String hash(String files, String instance) {
    return "sluice_generation_hash{job='sluice',instance='%s',files='%s',generation='active'}"
        .formatted(instance, files);
  }

  private static Arguments drill(String what, String alerts, String... seriesAndValues) {
    Map<String, String> series = new TreeMap<>(WELL);
    for (int i = 0; i < seriesAndValues.length; i += 2) {
      series.put(seriesAndValues[i], seriesAndValues[i + 1]);
    }
    return Arguments.of(what, alerts, series);
  }

  @Tag("slow")
  @ParameterizedTest(name = "{0}: {1}")
  @FieldSource("DRILLS")
  void drill_firesItsAlerts_andNoOther(String what, String alerts, Map<String, String> series)
      throws Exception {
    Path test = folder.resolve("drill.yml");
    Files.writeString(
        test,
        """
        rule_files: [%s]
        tests:
          - interval: 1m
            input_series:
        %s
            promql_expr_test:
              - expr: group by (alertname) (ALERTS{alertstate="firing"})
                eval_time: 60m
                exp_samples: [%s]
        """
            .formatted(
                ALERTS.toAbsolutePath(),
                series.entrySet().stream()
                    .map(
                        one ->
                            "      - {series: \"%s\", values: %s}"
                                .formatted(one.getKey(), one.getValue()))
                    .collect(Collectors.joining("\n")),
                Stream.of(alerts.split(" "))
                    .filter(alert -> !alert.isEmpty())
                    .map("{labels: '{alertname=\"%s\"}', value: 1}"::formatted)
                    .collect(Collectors.joining(", "))));

    Process promtool =
        new ProcessBuilder("/usr/bin/promtool", "test", "rules", test.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(promtool.waitFor()).as(what + ": " + said).isZero();
  }

  @Test
  void everyAlert_isDrilled_andHasADuration_aSeverity_andItsHeadingInTheRunbook()
      throws IOException {
    Set<String> drilled =
        DRILLS.stream()
            .flatMap(one -> Stream.of(String.valueOf(one.get()[1]).split(" ")))
            .filter(alert -> !alert.isEmpty())
            .collect(Collectors.toCollection(TreeSet::new));
    List<String> named = new ArrayList<>();
    for (String rule : Files.readString(ALERTS).split("- alert: ", -1)) {
      if (!rule.startsWith("#")) {
        String name = rule.lines().findFirst().orElseThrow();
        named.add(name);
        assertThat(rule)
            .containsPattern("(?m)^ +for: \\d+m$")
            .containsPattern("severity: (critical|warning)}")
            .contains("docs/alerts.md#" + name.toLowerCase(Locale.ROOT));
      }
    }
    assertThat(named).containsExactlyInAnyOrderElementsOf(drilled);
    assertThat(Files.readString(RUNBOOK).lines().filter(line -> line.startsWith("## Sluice")))
        .containsExactlyElementsOf(named.stream().map("## "::concat).toList());
  }

  @Test
  void everyMetricOfTheServer_thatAnAlertOrTheDashboardNames_isExposed() throws Exception {
    TlsFixture tls = TlsFixture.in(folder);
    Storage kept = Configs.keptIn(folder.resolve("buckets"));
    Control audited = new Control(null, folder.resolve("audit").toString(), null, null);
    Set<String> exposed = new TreeSet<>();
    try (Service service =
            Service.start(
                new ServerConfig(tls.doors(false), tls.sources(), kept, audited, Telemetry.NONE));
        Aside.End end = Aside.end(service)) {
      HttpClient client = HttpClient.newBuilder().sslContext(Pem.client(null, Pem.SERVER)).build();
      exposed.addAll(names(get(client, TlsFixture.url(service, TlsFixture.HTTP, "/metrics"))));
    }
    for (String store :
        List.of(
            "redis://127.0.0.1:1/0?timeout=200ms",
            "jdbc:postgresql://127.0.0.1:1/x",
            "mariadb://127.0.0.1:1/x")) {
      Storage away =
          new Storage(
              StoreAccess.of(store), null, kept.tokenKey(), FailureRule.allow(), Map.of(), true);
      try (Service service = Service.start(Configs.of(away));
          Aside.End end = Aside.end(service)) {
        String server = "http://localhost:" + service.addresses().get(0).getPort();
        HttpClient client = HttpClient.newHttpClient();
        post(client, server + "/v1/spend", "{\"limit\":\"ApiCallsPerKey\",\"id\":\"a\"}");
        post(
            client,
            server + "/json",
            "{\"domain\":\"d\",\"descriptors\":[{\"entries\":[{\"key\":\"k\"}]}]}");
        exposed.addAll(names(get(client, server + "/metrics")));
      }
    }
    Set<String> named = new TreeSet<>(names(Files.readString(ALERTS)));
    names(Files.readString(DASHBOARD)).stream()
        .filter(name -> name.startsWith("sluice_"))
        .forEach(named::add);

    assertThat(named).hasSizeGreaterThan(15);
    assertThat(exposed).containsAll(named);
  }

  private static void post(HttpClient client, String uri, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(uri))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
    assertThat(client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
  }

  private static String get(HttpClient client, String uri) throws Exception {
    return client
        .send(HttpRequest.newBuilder(URI.create(uri)).build(), BodyHandlers.ofString())
        .body();
  }

  private static Set<String> names(String text) {
    return METRIC
        .matcher(text)
        .results()
        .map(found -> found.group())
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
