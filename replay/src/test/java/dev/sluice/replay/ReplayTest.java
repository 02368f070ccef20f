// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import dev.sluice.replay.Replay.Denial;
import dev.sluice.replay.ReplayResult.Row;
import dev.sluice.rules.RuleBook;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ReplayTest {

  private static final String NAMES =
      """
      names:
        - {number: 1001, name: Logins, id: ipAddress}
        - {number: 1002, name: Calls, id: ipAddress}
        - {number: 1003, name: PerKey, id: string}
        - {number: 1004, name: Trial, id: ipAddress}
      """;
  private static final String LIMITS =
      NAMES
          + """
          limits:
            Logins: {burst: 3, count: 3, period: 1m}
            Calls: {burst: 20, count: 20, period: 10s}
            PerKey: {burst: 1, count: 1, period: 1m}
            Trial: {burst: 1, count: 1, period: 1h}
          """;
  private static final String RULES =
      """
      rules:
        - path: /login
          limits:
            - {limit: Logins, id: "{ip}"}
            - {limit: Calls, id: "{ip}"}
        - path: /free
          unlimited: true
        - path: /api/**
          limits:
            - {limit: Calls, id: "{ip}"}
            - {limit: Trial, id: "{ip}", shadow: true}
      """;

  @TempDir Path folder;

  /** A line of a log. */
  private record Request(long second, int client, String path) {

    String line() {
      return String.format(
          Locale.ROOT,
          "203.0.113.%s - - [26/Nov/2026:%02d:%02d:%02d +0000] \"GET %s HTTP/1.1\" 200 5 \"-\" \"-\"",
          client,
          second / 3600,
          second / 60 % 60,
          second % 60,
          path);
    }
  }

  /** The law in its simplest form: a bucket of tokens that are counted in nanoseconds. */
  private static final class Model {

    private final Map<String, Long> tats = new HashMap<>();

    boolean wouldDeny(String bucket, long burst, long nanosPerToken, long now) {
      long tat = Math.max(now, tats.getOrDefault(bucket, 0L));
      return tat + nanosPerToken - now > burst * nanosPerToken;
    }

    void spend(String bucket, long nanosPerToken, long now) {
      tats.put(bucket, Math.max(now, tats.getOrDefault(bucket, 0L)) + nanosPerToken);
    }
  }

  private static List<Request> traffic(long seed, int size) {
    Random random = new Random(seed);
    List<String> paths = List.of("/login", "/api/a?x=1", "/api/b", "/free", "/other");
    List<Request> traffic = new ArrayList<>();
    long second = 0;
    for (int i = 0; i < size; i++) {
      second += random.nextInt(10) == 0 ? random.nextInt(30) : 0;
      traffic.add(
          new Request(second, 1 + random.nextInt(6), paths.get(random.nextInt(paths.size()))));
    }
    return traffic;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void replay_equalsTheModel(long seed) throws IOException {
    List<Request> traffic = traffic(seed, 3000);
    Model model = new Model();
    long callsNanos = 500_000_000;
    long loginsNanos = 20_000_000_000L;
    Map<String, Long> denied = new HashMap<>();
    Map<String, Set<Integer>> deniedClients = new HashMap<>();
    long tried = 0;
    long trials = 0;
    for (Request request : traffic) {
      long now = request.second() * 1_000_000_000;
      String calls = "calls" + request.client();
      String logins = "logins" + request.client();
      if (request.path().equals("/login")) {
        boolean one = model.wouldDeny(logins, 3, loginsNanos, now);
        boolean two = model.wouldDeny(calls, 2, callsNanos, now);
        if (one || two) {
          String row = one ? "1 Logins" : "1 Calls"; // the one that asks for the longer wait
          denied.merge(row, 1L, Long::sum);
          deniedClients.computeIfAbsent(row, unused -> new HashSet<>()).add(request.client());
        } else {
          model.spend(logins, loginsNanos, now);
          model.spend(calls, callsNanos, now);
        }
      } else if (request.path().startsWith("/api")) {
        if (model.wouldDeny(calls, 2, callsNanos, now)) {
          denied.merge("8 Calls", 1L, Long::sum);
          deniedClients.computeIfAbsent("8 Calls", u -> new HashSet<>()).add(request.client());
        } else {
          model.spend(calls, callsNanos, now);
          tried++; // a request that an enforced limit denies is not charged in shadow
          String trial = "trial" + request.client();
          if (model.wouldDeny(trial, 1, 3_600_000_000_000L, now)) {
            trials++;
          } else {
            model.spend(trial, 3_600_000_000_000L, now);
          }
        }
      }
    }

    String few = LIMITS.replace("Calls: {burst: 20,", "Calls: {burst: 2,");
    ReplayResult result = Replay.of(limits(few, RULES), sources(traffic)).run();

    assertTrue(denied.containsKey("8 Calls"), "some requests are not charged in shadow");
    assertEquals(traffic.size(), result.totals().requests());
    assertEquals(6, result.totals().clients());
    Map<String, Long> found = new HashMap<>();
    for (Row row : result.rows()) {
      String line = row.rule().substring(row.rule().lastIndexOf(':') + 1);
      if (row.shadow()) {
        assertEquals(tried, row.requests());
        assertEquals(trials, row.denied());
      } else if (row.denied() > 0) {
        String key = (line.equals("2") ? "1" : "8") + " " + row.limit();
        found.put(key, row.denied());
        assertEquals(deniedClients.get(key).size(), row.deniedClients());
      }
    }
    assertEquals(denied, found);
    assertEquals(
        denied.values().stream().mapToLong(Long::longValue).sum(), result.totals().denied());
    assertEquals(count(traffic, "/other"), result.uncharged().noRule());
    assertEquals(count(traffic, "/free"), result.uncharged().free());
    assertEquals(
        result.totals().denied(),
        result.series().bins().stream().mapToLong(ReplayResult.Bin::denied).sum());
  }

  private static long count(List<Request> traffic, String path) {
    return traffic.stream().filter(request -> request.path().equals(path)).count();
  }

  @Test
  void count_needsNoRules_andEqualsARuleForAllPaths() throws IOException {
    List<Request> traffic = traffic(9, 2000);
    ReplayResult counted =
        Replay.of(limits(LIMITS, ""), sources(traffic)).counts(List.of("Logins={ip}")).run();
    ReplayResult ruled =
        Replay.of(
                limits(
                    LIMITS, "rules:\n  - path: /**\n    limits: [{limit: Logins, id: '{ip}'}]\n"),
                sources(traffic))
            .run();

    assertTrue(counted.totals().denied() > 0, counted.uncharged() + " " + counted.rows());
    assertEquals(ruled.totals(), counted.totals());
    assertEquals(ruled.mostDenied(), counted.mostDenied());
    assertEquals(ruled.worst(), counted.worst());
    assertEquals(ruled.series(), counted.series());
  }

  /** A server would not be asked about them. */
  @Test
  void linesWithoutARequest_areNotCharged_neitherByRulesNorByCount() throws IOException {
    String line = "203.0.113.1 - - [26/Nov/2026:00:00:03 +0100] \"%s\" 400 0 \"-\" \"-\"\n";
    StringBuilder log = new StringBuilder();
    for (String request : List.of("-", "\\x16\\x03 \\x01", "<BADREQ>", "", "GET / HTTP/1.1")) {
      log.append(line.formatted(request).repeat(3));
    }
    String rules = "rules:\n  - path: /**\n    limits: [{limit: Logins, id: '{ip}'}]\n";
    for (Replay replay :
        List.of(
            Replay.of(limits(LIMITS, ""), sources(log.toString())).counts(List.of("Logins={ip}")),
            Replay.of(limits(LIMITS, rules), sources(log.toString())))) {
      ReplayResult result = replay.run();
      assertEquals(12, result.uncharged().unusable());
      assertEquals(3, result.rows().get(0).requests());
    }
  }

  @ParameterizedTest
  @MethodSource("logsWithOneRequestOfThree")
  void lineWithoutARequest_isNotCharged_inAnyFormat(String format, String log) throws IOException {
    ReplayResult result =
        Replay.of(limits(LIMITS, ""), sources(log))
            .format(format)
            .client(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "10.0.0.0/8"), "10.0.0.1")
            .counts(List.of("Logins={ip}"))
            .run();

    assertEquals(2, result.uncharged().unusable());
    assertEquals(1, result.rows().get(0).requests());
  }

  static List<Arguments> logsWithOneRequestOfThree() {
    return List.of(
        arguments(
            "envoy",
            """
            [2026-11-26T00:00:00Z] "GET / HTTP/1.1" 200 - 0 1 2 - "203.0.113.1" "-" "-" "a.example" "-"
            [2026-11-26T00:00:00Z] "- - HTTP/1.1" 400 DPE 0 1 2 - "203.0.113.1" "-" "-" "-" "-"
            [2026-11-26T00:00:00Z] "- - -" 400 DPE 0 1 2 - "203.0.113.1" "-" "-" "-" "-"
            """),
        arguments(
            "json",
            """
            {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","request":"GET / HTTP/1.1"}
            {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","request":""}
            {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","request":"-"}
            """),
        arguments(
            "json",
            """
            {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","method":"GET","path":"/"}
            {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","method":"-","path":"-"}
            {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","method":"","path":""}
            """),
        arguments(
            "csv",
            """
            time,client,request
            2026-11-26T00:00:00Z,203.0.113.1,GET / HTTP/1.1
            2026-11-26T00:00:00Z,203.0.113.1,
            2026-11-26T00:00:00Z,203.0.113.1,-
            """),
        arguments(
            "regex:(?<time>\\S+) (?<client>\\S+) \"(?<request>[^\"]*)\"",
            """
            2026-11-26T00:00:00Z 203.0.113.1 "GET / HTTP/1.1"
            2026-11-26T00:00:00Z 203.0.113.1 "-"
            2026-11-26T00:00:00Z 203.0.113.1 ""
            """));
  }

  /** The query has two readings, so the request is charged to two ids of the limit. */
  @Test
  void requestWithTwoReadings_countsOnceForItsRule() throws IOException {
    List<Request> traffic = Collections.nCopies(5, new Request(0, 1, "/search?q=a+b"));
    Row row =
        Replay.of(limits(LIMITS, ""), sources(traffic))
            .counts(List.of("PerKey={query:q}"))
            .run()
            .rows()
            .get(0);
    assertEquals(5, row.requests());
    assertEquals(4, row.denied());
  }

  @Test
  void field_isAPlaceholder_andACost() throws IOException {
    String log =
        """
        {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","tenant":"a","tokens":2}
        {"time":"2026-11-26T00:00:00Z","client":"203.0.113.2","tenant":"a","tokens":2}
        {"time":"2026-11-26T00:00:00Z","client":"203.0.113.2","tenant":"b","tokens":1}
        {"time":"2026-11-26T00:00:01Z","client":"203.0.113.2","tokens":1}
        {"time":"2026-11-26T00:00:02Z","client":"203.0.113.2","tenant":"a","tokens":9}
        """;
    ReplayResult result =
        Replay.of(
                limits(LIMITS.replace("PerKey: {burst: 1", "PerKey: {burst: 3"), ""), sources(log))
            .counts(List.of("PerKey={field:tenant}"))
            .costField("tokens")
            .run();
    // one for the tokens that are left, one for a cost above the burst
    assertEquals(2, result.totals().denied(), result.uncharged() + " " + result.rows());
    assertEquals(1, result.uncharged().free());
    assertEquals(0, result.uncharged().unusable());
  }

  @Test
  void costOfARule_isNotChangedByTheLog() throws IOException {
    String rules =
        """
        rules:
          - path: /**
            limits:
              - {limit: Logins, id: "{ip}", cost: 2}
              - {limit: Calls, id: "{ip}"}
        """;
    for (int cost : List.of(0, 1, 5)) {
      String line =
          "{\"time\":\"2026-11-26T00:00:00Z\",\"client\":\"203.0.113.1\",\"request\":\"GET /x"
              + " HTTP/1.1\",\"tokens\":%s}\n".formatted(cost);
      ReplayResult result =
          Replay.of(limits(LIMITS, rules), sources(line.repeat(5))).costField("tokens").run();
      assertEquals(4, result.totals().denied(), "cost " + cost); // 3 tokens are one request
      assertEquals("Logins 4", denied(result.rows().get(0)));
      assertEquals("Calls 0", denied(result.rows().get(1)));
    }
    String free = "{\"time\":1790000000,\"client\":\"203.0.113.1\",\"tokens\":0}\n";
    ReplayResult counted =
        Replay.of(limits(LIMITS, ""), sources(free.repeat(50)))
            .counts(List.of("Calls={ip}"))
            .costField("tokens")
            .run();
    assertEquals(0, counted.totals().denied());
    assertEquals(0, counted.uncharged().tooCostly());
    ReplayResult tooCostly =
        Replay.of(
                limits(LIMITS, ""), sources(free.repeat(2) + free.replace(":0}", ":21}").repeat(3)))
            .counts(List.of("Calls={ip}"))
            .costField("tokens")
            .run();
    assertEquals(3, tooCostly.totals().denied());
    assertEquals(3, tooCostly.uncharged().tooCostly());
    assertTrue(
        ReplayText.lines(tooCostly, "", ClientNames.SHOW).stream()
            .anyMatch(one -> one.matches("cost above the burst, never charged +3")));
  }

  private static String denied(Row row) {
    return row.limit() + " " + row.denied();
  }

  @Test
  void headerOfACost_isReadFromTheFirstLine_andListedWhereTheLogLacksIt() throws IOException {
    String rules =
        "rules:\n  - path: /**\n    limits: [{limit: Logins, id: '{ip}', cost: {header: X-Cost}}]\n";
    String line =
        "{\"time\":1790000000,\"client\":\"203.0.113.1\",\"request\":\"GET /x HTTP/1.1\","
            + "\"request\":{\"headers\":{\"X-Cost\":[\"2\"]}}}\n";
    ReplayResult result = Replay.of(limits(LIMITS, rules), sources(line.repeat(3))).run();
    assertEquals("Logins 2", denied(result.rows().get(0)));
    assertEquals(List.of(), result.uncharged().lacking());
    ReplayResult lacking =
        Replay.of(limits(LIMITS, rules), sources(line.replace("X-Cost", "Y-Cost"))).run();
    assertEquals("header:X-Cost", lacking.uncharged().lacking().get(0).word());
  }

  @Test
  void methodOverrideAndHeadersWithSimilarNames_areReadFromJson() throws IOException {
    String rules =
        "rules:\n  - {path: /x, methods: [DELETE], limit: PerKey, id: '{header:x-api-key}'}\n";
    String line =
        "{\"ts\":1790000000,\"request\":{\"remote_ip\":\"203.0.113.1\",\"method\":\"POST\",\"uri\":\"/x\","
            + "\"headers\":{\"X-Http-Method-Override\":[\"DELETE\"],\"X-Api-Key\":[\"%s\"],"
            + "\"X_api_key\":[\"k1\"]}}}\n";
    String log = line.formatted("k1") + line.formatted("k2");
    ReplayResult result = Replay.of(limits(LIMITS, rules), sources(log)).run();
    assertEquals("PerKey 1", denied(result.rows().get(0)));
  }

  @Test
  void fieldAndHeader_withOneName_areDifferentInJson() throws IOException {
    String line =
        "{\"time\":1790000000,\"client\":\"203.0.113.1\",\"tenant\":\"a\","
            + "\"request\":{\"headers\":{\"Tenant\":[\"%s\"]}}}\n";
    String log = line.formatted("x") + line.formatted("y") + line.formatted("z");
    Limits limits = limits(LIMITS, "");
    for (String turned : List.of(log, log.replaceAll("(\"tenant\":\"a\"),(.*)}", "$2,$1}"))) {
      ReplayResult byField =
          Replay.of(limits, sources(turned))
              .counts(List.of("PerKey={field:tenant}", "Calls={ip}"))
              .run();
      assertEquals(2, byField.totals().denied(), turned);
      for (List<String> counts :
          List.of(
              List.of("PerKey={header:tenant}"),
              List.of("PerKey={header:tenant}:{field:tenant}"),
              List.of("PerKey={field:tenant}:{header:tenant}"))) {
        ReplayResult byHeader = Replay.of(limits, sources(turned)).counts(counts).run();
        assertEquals(0, byHeader.totals().denied(), counts + turned);
        assertEquals(0, byHeader.uncharged().free(), counts + turned);
      }
    }
    String plain = "{\"time\":1790000000,\"client\":\"203.0.113.1\",\"tenant\":\"a\"}\n";
    ReplayResult header =
        Replay.of(limits, sources(plain.repeat(2))).counts(List.of("PerKey={header:tenant}")).run();
    assertEquals(1, header.totals().denied());
    String own =
        "{\"time\":1790000000,\"client\":\"203.0.113.1\",\"user_id\":\"a\",\"user-id\":\"%s\"}\n";
    ReplayResult otherName =
        Replay.of(limits, sources(own.formatted("x") + own.formatted("y")))
            .counts(List.of("PerKey={header:user-id}"))
            .run();
    assertEquals(0, otherName.totals().denied());
  }

  @Test
  void listsOfAddresses_areReadAsAServerReadsThem() throws IOException {
    String caddy =
        "{\"ts\":1790000000,\"request\":{\"remote_ip\":\"10.0.0.1\",\"method\":\"GET\",\"uri\":\"/api/x\","
            + "\"headers\":{\"X-Forwarded-For\":[\"192.0.2.9\",\"203.0.113.%s, 10.0.0.2\"]}}}\n";
    String waf =
        "{\"timestamp\":1790000000000,\"httpRequest\":{\"clientIp\":\"10.0.0.1\",\"uri\":\"/api/x\","
            + "\"httpMethod\":\"GET\",\"headers\":[{\"name\":\"X-Forwarded-For\",\"value\":\"192.0.2.9\"},"
            + "{\"name\":\"x-forwarded-for\",\"value\":\"203.0.113.%s, 10.0.0.2\"}]}}\n";
    for (String line : List.of(caddy, waf)) {
      ReplayResult result =
          Replay.of(
                  limits(LIMITS, RULES), sources(line.formatted(1) + line.formatted(2).repeat(30)))
              .client(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "10.0.0.0/8"), null)
              .run();
      assertEquals(2, result.totals().clients(), line);
      assertEquals("203.0.113.2", result.mostDenied().get(0).name());
    }
  }

  @Test
  void costField_thatNoRequestHas_isRefused() {
    String log = "{\"time\":\"2026-11-26T00:00:00Z\",\"client\":\"203.0.113.1\",\"tokens\":2}\n";
    for (String text : List.of(log, "time,client,tokens\n2026-11-26T00:00:00Z,203.0.113.1,2\n")) {
      Replay replay =
          Replay.of(assertDoesNotThrow(() -> limits(LIMITS, "")), sources(text))
              .format(text.equals(log) ? "json" : "csv")
              .counts(List.of("Calls={ip}"))
              .costField("tokns");
      String message = assertThrows(LogException.class, replay::run).getMessage();
      assertTrue(message.contains("\"tokns\""), message);
    }
  }

  @Test
  void headingInTheMiddleOfALog_addsAColumn_forClientsThatAreKnown() throws IOException {
    StringBuilder log = new StringBuilder("#Fields: date time c-ip\n");
    String line = "2026-11-26\t00:%02d:%02d\t203.0.113.1";
    for (int i = 0; i < 1200; i++) {
      log.append(String.format(Locale.ROOT, line + "\n", i / 60, i % 60));
    }
    log.append("#Fields: date time c-ip x-tokens\n");
    for (int i = 1200; i < 1210; i++) {
      log.append(String.format(Locale.ROOT, line + "\t2\n", i / 60, i % 60));
    }
    ReplayResult result =
        Replay.of(limits(LIMITS, ""), sources(log.toString()))
            .format("cloudfront")
            .counts(List.of("Calls={ip}"))
            .costField("x-tokens")
            .run();
    assertEquals(1200, result.uncharged().lackingCost());
  }

  @Test
  void costThatIsNoNumber_isTakenAs1_andCounted() throws IOException {
    StringBuilder log = new StringBuilder();
    for (String cost : List.of("7", "-", "many", "", "1.5", "-3", "12345678901234567890", "7")) {
      log.append("2026-11-26T00:00:00Z,203.0.113.1,").append(cost).append('\n');
    }
    ReplayResult result =
        Replay.of(limits(LIMITS, ""), sources("time,client,tokens\n" + log))
            .format("csv")
            .counts(List.of("Calls={ip}"))
            .costField("tokens")
            .run();
    assertEquals(5, result.uncharged().lackingCost());
    assertEquals(1, result.totals().denied()); // the huge cost; the others are 19 of 20
    String text = String.join("\n", ReplayText.lines(result, "", ClientNames.SHOW));
    assertTrue(text.contains("no cost in the log, so the cost is 1"), text);
  }

  @Test
  void costAboveTheBurstOfTheCandidate_isADenial() throws IOException {
    String log =
        """
        {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","request":"GET /api/x HTTP/1.1","tokens":9}
        {"time":"2026-11-26T00:01:00Z","client":"203.0.113.2","request":"GET /api/x HTTP/1.1","tokens":1}
        """;
    Limits candidate = limits(LIMITS.replace("Calls: {burst: 20,", "Calls: {burst: 5,"), "");
    List<Denial> denials = new ArrayList<>();
    for (List<String> counts : List.of(List.<String>of(), List.of("Calls={ip}"))) {
      ReplayResult result =
          Replay.of(limits(LIMITS, RULES), sources(log))
              .counts(counts)
              .costField("tokens")
              .against(candidate)
              .run();
      ReplayResult.Change change = result.change();
      assertNotNull(change);
      assertEquals(0, result.totals().denied());
      assertEquals(1, change.newlyDenied(), result.toString());
      assertEquals(1, change.newlyDeniedClients());
      Row row = change.rows().get(0);
      assertEquals("Calls 1 1", row.limit() + " " + row.denied() + " " + row.deniedClients());
      var unused =
          Replay.of(candidate, sources(log))
              .counts(List.of("Calls={ip}"))
              .costField("tokens")
              .denials(denials::add)
              .run();
      assertEquals("Calls 203.0.113.1", denials.get(0).limit() + " " + denials.get(0).id());
    }
  }

  @Test
  void costAboveTheBurstOfALimitInShadow_isNotCharged_asInAServer() throws IOException {
    String log =
        """
        {"time":"2026-11-26T00:00:00Z","client":"203.0.113.1","request":"GET /api/x HTTP/1.1","tokens":9}
        {"time":"2026-11-26T00:01:00Z","client":"203.0.113.1","request":"GET /api/x HTTP/1.1","tokens":1}
        """;
    ReplayResult result = Replay.of(limits(LIMITS, RULES), sources(log)).costField("tokens").run();
    Row trial = result.rows().stream().filter(Row::shadow).findFirst().orElseThrow();
    assertEquals("Trial 0 of 1", denied(trial) + " of " + trial.requests());
    assertEquals(1, result.uncharged().tooCostly());
    assertEquals(0, result.totals().denied());
  }

  @Test
  void limitThatTheCandidateLacks_isRefusedBeforeTheRun() throws IOException {
    Limits base = limits(LIMITS, RULES);
    String absent = LIMITS.replace("  Calls: {burst: 20, count: 20, period: 10s}\n", "");
    String unknown = absent.replace("  - {number: 1002, name: Calls, id: ipAddress}\n", "");
    for (String candidate : List.of(absent, unknown)) {
      for (List<String> counts : List.of(List.<String>of(), List.of("Calls={ip}"))) {
        Replay replay =
            Replay.of(base, sources(traffic(1, 10)))
                .counts(counts)
                .against(limits(candidate, ""))
                .denials(denial -> fail("the run has begun"));
        String message = assertThrows(LogException.class, replay::run).getMessage();
        assertTrue(message.startsWith("the candidate: ") && message.contains("Calls"), message);
      }
    }
  }

  @Test
  void trialThatDenies_hasClientsAndAWait() throws IOException {
    ReplayResult result = Replay.of(limits(LIMITS, RULES), sources(traffic(1, 1000))).run();
    Row trial = result.rows().stream().filter(Row::shadow).findFirst().orElseThrow();
    assertTrue(trial.denied() > 0);
    assertEquals(6, trial.deniedClients());
    assertTrue(trial.longestWaitNanos() > Duration.ofMinutes(50).toNanos(), trial.toString());
  }

  @Test
  void logWhoseRequestsLackWhatIsCounted_isRefused() throws IOException {
    Limits limits = limits(LIMITS, "");
    String log = "time,client\n2026-11-26T00:00:00Z,203.0.113.1\n";
    Replay noClient =
        Replay.of(limits, sources(log)).format("csv:time=time").counts(List.of("Calls={ip}"));
    assertTrue(
        assertThrows(LogException.class, noClient::run)
            .getMessage()
            .endsWith("the log, read as csv:time=time, does not have ip"));
    Replay noField =
        Replay.of(limits, sources(log)).format("csv").counts(List.of("PerKey={field:tenant}"));
    assertTrue(
        assertThrows(LogException.class, noField::run).getMessage().endsWith("field:tenant"));
  }

  @Test
  void columnsOfTheCandidatesRules_areReadFromTheFirstLine() throws IOException {
    String rules = "rules:\n  - path: /**\n    limits: [{limit: PerKey, id: '{header:x-key}'}]\n";
    String line =
        "{\"time\":\"2026-11-26T00:00:00Z\",\"client\":\"203.0.113.1\",\"request\":\"GET /api/x"
            + " HTTP/1.1\",\"x-key\":\"a\"}\n";
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(line.repeat(3)))
            .against(limits(LIMITS, rules))
            .run();
    ReplayResult.Change change = result.change();
    assertNotNull(change);
    assertEquals(2, change.newlyDenied(), change.toString());
    ReplayResult lacking =
        Replay.of(limits(LIMITS, RULES), sources(line.replace("x-key", "y-key")))
            .against(limits(LIMITS, rules))
            .run();
    assertEquals("header:x-key", lacking.uncharged().lacking().get(0).word());
  }

  @Test
  void hugeValues_areNotKept_andClientsStayDistinct() throws IOException {
    StringBuilder log = new StringBuilder("time,client\n");
    for (int i = 0; i < 4; i++) {
      log.append("2026-11-26T00:00:00Z,").append("x".repeat(5000)).append(i % 2).append('\n');
    }
    String rules = "rules:\n  - path: /**\n    limits: [{limit: PerKey, id: all}]\n";
    ReplayResult result =
        Replay.of(limits(LIMITS, rules), sources(log.toString()))
            .format("csv")
            .counts(List.of("PerKey=all"))
            .run();
    assertEquals(2, result.totals().clients());
    assertEquals(3, result.totals().denied());
    assertTrue(result.mostDenied().get(0).name().length() < 200);
  }

  @Test
  void mask_hidesTheEndOfAddresses_andOfOtherNames() {
    assertEquals("203.0.113.x", ClientNames.MASK.of("203.0.113.7"));
    assertEquals("203.0.113.x", ClientNames.MASK.of("203.0.113.7/32"));
    assertEquals("2001:db8:x", ClientNames.MASK.of("2001:db8:1:2::/64"));
    assertEquals("use…", ClientNames.MASK.of("user:alice:admin"));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void against_findsWhoIsNewlyDenied(long seed) throws IOException {
    List<Request> traffic = traffic(seed, 2000);
    Limits base = limits(LIMITS, RULES);
    Limits candidate =
        limits(LIMITS.replace("Calls: {burst: 20, count: 20", "Calls: {burst: 2, count: 20"), "");
    ReplayResult alone = Replay.of(base, sources(traffic)).run();
    ReplayResult both = Replay.of(base, sources(traffic)).against(candidate).run();
    ReplayResult other =
        Replay.of(
                limits(
                    LIMITS.replace("Calls: {burst: 20, count: 20", "Calls: {burst: 2, count: 20"),
                    RULES),
                sources(traffic))
            .run();

    assertEquals(alone.totals(), both.totals());
    assertEquals(alone.rows(), both.rows());
    assertNull(alone.change());
    ReplayResult.Change change = both.change();
    assertNotNull(change);
    assertEquals(other.totals(), change.totals());
    assertEquals(other.rows(), change.rows());
    assertEquals(
        change.totals().denied() - both.totals().denied(),
        change.newlyDenied() - change.newlyAllowed());
    assertTrue(FailIf.parse("newly-denied-requests > 0").isMet(both));
    assertTrue(!FailIf.parse("newly-denied-requests > 100%").isMet(both));
    assertTrue(FailIf.parse("denied-clients >= 100%").isMet(both));
  }

  /** The rule for /login is on the line that the rule for /api has in the other file. */
  @Test
  void candidateWithItsOwnRules_isComparedRuleByRule_thoughLinesMove() throws IOException {
    String added = "rules:\n  - {path: /other, limit: PerKey, id: all}\n" + "  #\n".repeat(5);
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(traffic(1, 1000)))
            .against(limits(LIMITS, RULES.replace("rules:\n", added)))
            .run();
    List<String> compared =
        ReplayText.cells(result, "candidate.yml").stream()
            .filter(cells -> cells.get(0).startsWith("rules.yml"))
            .map(cells -> cells.get(0) + " " + cells.get(2) + ": " + cells.get(6))
            .map(text -> text.replaceFirst("denies .*", "denies"))
            .toList();
    assertEquals(
        List.of(
            "rules.yml:2 /login Logins: the same",
            "rules.yml:2 /login Calls: the same",
            "rules.yml:8 /api/** Calls: the same",
            "rules.yml:8 /api/** Trial (shadow): the same",
            "rules.yml:2 /other PerKey: denies"),
        compared);
  }

  @Test
  void candidateThatDropsOneOfTwoAlikeRules_isComparedByTheLine() throws IOException {
    String get = "  - {path: /api/**, methods: GET, limit: Calls, id: '{ip}'}\n";
    String post = get.replace("GET", "POST");
    String log = text(List.of(new Request(0, 1, "/api/a")));
    String both = log + log.replace("\"GET", "\"POST");
    ReplayResult result =
        Replay.of(limits(LIMITS, "rules:\n" + get + post), sources(both))
            .against(limits(LIMITS, "rules:\n" + get))
            .run();
    assertEquals(
        List.of("with c.yml", "the same", "unclear: several such rules"),
        ReplayText.cells(result, "c.yml").stream()
            .filter(cells -> cells.size() == 7)
            .map(cells -> cells.get(6))
            .toList());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 50})
  void shards_joinToTheWholeResult(int of) throws IOException {
    List<Request> traffic = traffic(of, 2000);
    traffic.add(new Request(10 * 86_400L / 24, 9, "/login")); // a client in one minute only
    for (List<String> counts : List.of(List.<String>of(), List.of("Logins={ip}"))) {
      Limits candidate = limits(LIMITS.replace("burst: 20,", "burst: 5,"), "");
      Limits base = limits(LIMITS, RULES);
      Shards shards = new Shards();
      for (int number = of; number >= 1; number--) {
        ReplayResult shard =
            Replay.of(base, sources(traffic))
                .against(candidate)
                .counts(counts)
                .shard(number, of)
                .run();
        shards.add(number + ".json", ReplayJson.of(shard, ClientNames.SHOW));
      }
      ReplayResult whole =
          Replay.of(base, sources(traffic)).against(candidate).counts(counts).run();
      assertTrue(whole.totals().denied() > 0);
      assertEquals(whole, shards.joined());
    }
  }

  @Test
  void shards_ofALogWithAnUnreadLine_join_thoughTheirPathsDiffer() throws IOException {
    List<Request> traffic = traffic(1, 50);
    Shards shards = new Shards();
    for (int number = 1; number <= 2; number++) {
      List<LogSource> sources = new ArrayList<>(sources(traffic));
      byte[] rest = ("garbage\n" + traffic.get(0).line()).getBytes(StandardCharsets.UTF_8);
      sources.add(LogReaderTest.source("mount%s/rest.log".formatted(number), rest));
      ReplayResult shard = Replay.of(limits(LIMITS, RULES), sources).shard(number, 2).run();
      shards.add(number + ".json", ReplayJson.of(shard, ClientNames.SHOW));
    }
    assertEquals(1, shards.joined().log().found().unread());
  }

  @Test
  void shard_ofAnId_neverChanges() {
    List<Integer> found = new ArrayList<>();
    for (String id : List.of("203.0.113.7", "2001:db8::1", "alice", "")) {
      found.add(1 + Sketch.shard(Sketch.hash(id.getBytes(StandardCharsets.UTF_8)), 16));
    }
    assertEquals(List.of(10, 13, 5, 14), found);
    int[] sizes = new int[16];
    for (int i = 0; i < 16_000; i++) {
      sizes[Sketch.shard(Sketch.hash(("10.0." + i).getBytes(StandardCharsets.UTF_8)), 16)]++;
    }
    for (int size : sizes) {
      assertEquals(1000, size, 150);
    }
  }

  @Test
  void requestWithDifferentIds_isRefusedInShards_withItsRule() throws IOException {
    String rules =
        """
        rules:
          - path: /free
            unlimited: true
          - path: /**
            limits:
              - {limit: Calls, id: "{ip}"}
              - {limit: PerKey, id: "{path}"}
        """;
    for (int number = 1; number <= 3; number++) {
      Replay replay = Replay.of(limits(LIMITS, rules), sources(traffic(1, 50))).shard(number, 3);
      String message = assertThrows(LogException.class, replay::run).getMessage();
      assertTrue(message.startsWith("rules.yml:4 charges a request to different ids, "), message);
    }
  }

  @Test
  void resultsThatAreNotAllShardsOfALog_areNotJoined() throws IOException {
    Limits limits = limits(LIMITS, RULES);
    List<Request> traffic = traffic(1, 100);
    String one =
        ReplayJson.of(Replay.of(limits, sources(traffic)).shard(1, 2).run(), ClientNames.SHOW);
    String other =
        ReplayJson.of(
            Replay.of(limits, sources(traffic(1, 99))).shard(2, 2).run(), ClientNames.SHOW);
    String of3 =
        ReplayJson.of(Replay.of(limits, sources(traffic)).shard(2, 3).run(), ClientNames.SHOW);
    String whole = ReplayJson.of(Replay.of(limits, sources(traffic)).run(), ClientNames.SHOW);
    Shards shards = new Shards();
    shards.add("1.json", one);
    for (String wrong :
        List.of(
            one,
            other,
            of3,
            whole,
            "",
            "[]",
            "{}",
            "x",
            one.substring(0, one.length() / 2),
            one.replace("\"binNanos\":60", "\"binNanos\":61"),
            one.replace("\"number\":1", "\"number\":3"),
            one.replace("\"number\":1", "\"number\":2").replace("rules.yml:2", "rules.yml:x"),
            one.replace("\"zone\":\"", "\"zone\":\"Mars/"))) {
      String message =
          assertThrows(LogException.class, () -> shards.add("2.json", wrong), wrong).getMessage();
      assertTrue(message.startsWith("2.json: "), message);
    }
    Shards half = new Shards();
    half.add("1.json", one);
    assertEquals(
        "the shard 2 of 2 is missing", assertThrows(LogException.class, half::joined).getMessage());
  }

  @Test
  void moreClientsThanNames_areEstimated_andDecisionsStayExact() throws IOException {
    StringBuilder log = new StringBuilder();
    for (int i = 0; i < 20_000; i++) {
      String line =
          "10.0.%s.%s - - [26/Nov/2026:00:00:00 +0000] \"GET /api/x HTTP/1.1\" 200 5 \"-\" \"-\"\n"
              .formatted(i / 250, i % 250);
      log.append(line.repeat(i % 1000 == 999 ? 30 : 1));
    }
    Replay replay = Replay.of(limits(LIMITS, RULES), sources(log.toString()));
    replay.mostClients = 100;
    ReplayResult result = replay.run();
    assertTrue(!result.totals().exact());
    assertEquals(20_000.0, (double) result.totals().clients(), 400.0);
    assertEquals(200, result.totals().denied());
    assertEquals(20, result.totals().deniedClients());
    assertEquals(10, result.mostDenied().size());
    List<String> lines = ReplayText.lines(result, "", ClientNames.SHOW);
    assertTrue(lines.get(0).contains("about "));
    assertTrue(String.join("\n", lines).contains("All decisions are exact."), lines.toString());
  }

  @Test
  void moreBucketsThanTheStoreHolds_endTheReplayWithAdvice() throws IOException {
    StringBuilder log = new StringBuilder();
    for (int client = 1; client <= 11; client++) {
      log.append(new Request(client, client, "/login").line()).append('\n');
    }
    Replay replay =
        Replay.of(limits(LIMITS, ""), sources(log.toString())).counts(List.of("Trial={ip}"));
    replay.mostBuckets = 10;
    String message = assertThrows(LogException.class, replay::run).getMessage();
    assertTrue(message.contains("10 live buckets") && message.contains("--shard"), message);
  }

  @Test
  void moreDeniedClientsThanNames_areEstimated() throws IOException {
    StringBuilder log = new StringBuilder();
    for (int i = 0; i < 5_000; i++) {
      String line =
          "10.0.%s.%s - - [26/Nov/2026:00:00:00 +0000] \"GET /api/x HTTP/1.1\" 200 5 \"-\" \"-\"\n"
              .formatted(i / 250, i % 250);
      log.append(line.repeat(i % 2 == 1 ? 30 : 1));
    }
    Replay replay = Replay.of(limits(LIMITS, RULES), sources(log.toString()));
    replay.mostClients = 100;
    ReplayResult result = replay.run();
    assertEquals(2_500.0, (double) result.totals().deniedClients(), 75.0);
    assertEquals(2_500.0, (double) result.rows().get(0).deniedClients(), 75.0);
  }

  @Test
  void addressBehindAProxy_isFoundAsAServerFindsIt() throws IOException {
    String log =
        """
        {"time":"2026-11-26T00:00:00Z","remote_addr":"10.0.0.1","request":"GET /api/x HTTP/1.1","http_x_forwarded_for":"198.51.100.9, 203.0.113.8"}
        {"time":"2026-11-26T00:00:00Z","remote_addr":"203.0.113.8","request":"GET /api/x HTTP/1.1","http_x_forwarded_for":"192.0.2.1"}
        """;
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(log))
            .client(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "10.0.0.0/8"), null)
            .run();
    assertEquals(1, result.totals().clients());
  }

  @Test
  void redactedHeader_isAMissingHeader() throws IOException {
    String caddy =
        "{\"ts\":1790000000,\"request\":{\"remote_ip\":\"203.0.113.%s\",\"method\":\"GET\",\"uri\":\"/\","
            + "\"headers\":{\"Authorization\":[\"REDACTED\"]}}}\n";
    String waf =
        "{\"timestamp\":1790000000000,\"httpRequest\":{\"clientIp\":\"203.0.113.%s\",\"uri\":\"/\","
            + "\"httpMethod\":\"GET\",\"headers\":[{\"name\":\"authorization\",\"value\":\"REDACTED\"}]}}\n";
    for (String line : List.of(caddy, waf)) {
      Replay replay =
          Replay.of(limits(LIMITS, ""), sources(line.formatted(1) + line.formatted(2)))
              .counts(List.of("PerKey={header:authorization}"));
      String message = assertThrows(LogException.class, replay::run).getMessage();
      assertTrue(message.endsWith("does not have header:authorization"), message);
    }
  }

  @Test
  void hostAmongTheHeaders_isNotListedAsMissing() throws IOException {
    String rules =
        """
        rules:
          - host: a.example
            path: /**
            limits: [{limit: PerKey, id: "{header:host}"}]
        """;
    String waf =
        "{\"timestamp\":1790000000000,\"httpRequest\":{\"clientIp\":\"10.0.0.1\",\"uri\":\"/api/x\","
            + "\"httpMethod\":\"GET\",\"headers\":[{\"name\":\"Host\",\"value\":\"a.example\"}]}}\n";
    String alb =
        "https 2026-11-26T00:00:03.186641Z app/lb/50dc6c495c0c9188 203.0.113.7:2817 10.0.0.1:80"
            + " 0.086 0.048 0.037 200 200 0 57 \"GET https://a.example:443/x HTTP/1.1\" \"curl/8\""
            + " ECDHE TLSv1.2 arn:aws:x \"Root=1-58337281\" \"a.example\" \"arn:cert\"\n";
    String absolute = new Request(0, 1, "/x").line().replace(" /x ", " http://a.example/x ") + "\n";
    for (String log : List.of(waf, alb, absolute)) {
      ReplayResult result = Replay.of(limits(LIMITS, rules), sources(log)).run();
      assertEquals(1, result.rows().get(0).requests(), log);
      assertEquals(List.of(), result.uncharged().lacking(), log);
    }
    ReplayResult none =
        Replay.of(limits(LIMITS, rules), sources(List.of(new Request(0, 1, "/x")))).run();
    assertEquals(
        List.of("header:host", "host"),
        none.uncharged().lacking().stream().map(ReplayResult.Lacking::word).toList());
  }

  @Test
  void statusToLeaveOut_inALogWithoutStatus_isRefused() throws IOException {
    String log = "{\"ts\":1790000000,\"ip\":\"203.0.113.1\"}\n";
    Replay replay =
        Replay.of(limits(LIMITS, ""), sources(log))
            .format("json:time=ts,client=ip")
            .counts(List.of("Calls={ip}"))
            .skipStatus(Set.of(429));
    assertEquals(
        "no request of the log has a status, so none can be left out by its status",
        assertThrows(LogException.class, replay::run).getMessage());
  }

  @Test
  void headerOfProxies_thatNoRequestHas_isRefused() throws IOException {
    String log = text(List.of(new Request(0, 1, "/login"), new Request(1, 2, "/login")));
    for (ProxyHeader header : ProxyHeader.values()) {
      Replay replay =
          Replay.of(limits(LIMITS, RULES), sources(log))
              .client(ClientAddress.behind(header, "0.0.0.0/0"), null);
      String message = assertThrows(LogException.class, replay::run).getMessage();
      assertEquals(
          "no request from a trusted proxy has the header %s, so all clients of a proxy would share one bucket; log the header, or do not name trusted proxies"
              .formatted(header.name().toLowerCase(Locale.ROOT).replace('_', '-')),
          message);
    }
    Replay others =
        Replay.of(limits(LIMITS, RULES), sources(log))
            .client(ClientAddress.behind(ProxyHeader.FORWARDED, "192.0.2.1"), null);
    assertEquals(2, others.run().totals().clients());
  }

  @Test
  void shareOfNoRequest_isZero() throws IOException {
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(List.of(new Request(0, 1, "/login"))))
            .skipStatus(Set.of(200))
            .run();
    assertEquals(0, result.totals().requests());
    for (String metric : List.of("denied-clients", "denied-requests")) {
      assertTrue(!FailIf.parse(metric + " >= 1%").isMet(result), metric);
      assertTrue(!FailIf.parse(metric + " > 0%").isMet(result), metric);
      assertTrue(FailIf.parse(metric + " >= 0%").isMet(result), metric);
    }
  }

  @Test
  void ruleWhoseFieldTheLogLacks_isListed() throws IOException {
    String rules =
        """
        rules:
          - path: /api/**
            limits: [{limit: PerKey, id: "{header:X-Api-Key}"}]
          - path: /**
            limits: [{limit: Calls, id: "{ip}"}]
        """;
    ReplayResult result = Replay.of(limits(LIMITS, rules), sources(traffic(1, 100))).run();
    assertEquals(
        List.of("header:X-Api-Key"),
        result.uncharged().lacking().stream().map(ReplayResult.Lacking::word).toList());
    assertTrue(
        String.join("\n", ReplayText.lines(result, "", ClientNames.SHOW))
            .contains("rules.yml:2 uses header:X-Api-Key, which the log does not have."));
  }

  @Test
  void status_leavesLinesOut_andTellsWhoWasServed() throws IOException {
    List<Request> traffic = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      traffic.add(new Request(0, 1, "/login"));
    }
    String log = text(traffic) + new Request(0, 1, "/login").line().replace(" 200 5", " 429 5");
    ReplayResult all = Replay.of(limits(LIMITS, RULES), sources(log)).run();
    assertEquals(3, all.totals().denied());
    assertEquals(2, all.mostDenied().get(0).served());
    ReplayResult some =
        Replay.of(limits(LIMITS, RULES), sources(log)).skipStatus(Set.of(429)).run();
    assertEquals(2, some.totals().denied());
    assertEquals(1, some.log().skipped());
  }

  @ParameterizedTest
  @CsvSource({
    "999, 999",
    "1000, 1k",
    "1499, ≈1k",
    "1999, ≈2k",
    "999499, ≈999k",
    "999500, ≈1M",
    "2000000, 2M"
  })
  void heatMap_marksRoundedCounts(long count, String label) {
    assertEquals(label, ReplayPage.shortened(count));
  }

  @Test
  void status_ofAHeadingsColumn_leavesLinesOut() throws IOException {
    String log =
        "time,client,status\n2026-11-26T00:00:00Z,203.0.113.1,429\n2026-11-26T00:00:01Z,203.0.113.1,200\n";
    ReplayResult result =
        Replay.of(limits(LIMITS, ""), sources(log))
            .format("csv")
            .counts(List.of("Calls={ip}"))
            .skipStatus(Set.of(429))
            .run();
    assertEquals(1, result.log().skipped());
    assertEquals(1, result.totals().requests());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void result_isTheSame_withAThreadThatReads(int processors) throws IOException {
    List<Request> traffic = traffic(7, 5000);
    String last = new Request(80_000, 1, "/login").line() + "\nwhat?\n";
    List<Denial> denials = new ArrayList<>();
    Replay replay =
        Replay.of(limits(LIMITS, RULES), sources(text(traffic) + last)).denials(denials::add);
    replay.processors = processors;
    ReplayResult result = replay.run();
    List<Denial> expected = new ArrayList<>();
    Replay other = Replay.of(limits(LIMITS, RULES), sources(text(traffic) + last));
    other.processors = 3 - processors;
    ReplayResult same = other.denials(expected::add).run();
    assertEquals(ReplayJson.of(same, ClientNames.SHOW), ReplayJson.of(result, ClientNames.SHOW));
    assertTrue(denials.size() > 10, "found " + denials.size());
    assertEquals(expected, denials);
    LogException fault = assertThrows(LogException.class, replay.strict(true)::run);
    assertTrue(String.valueOf(fault.getMessage()).contains("what?"), fault.getMessage());
  }

  @Test
  void denials_areSafeInASpreadsheet_andOnATerminal() throws IOException {
    String evil =
        "203.0.113.1 - - [26/Nov/2026:00:00:00 +0000] \"GET /login?=<b>\u001b[31m,\\\"x HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    StringBuilder csv = new StringBuilder();
    List<Denial> denials = new ArrayList<>();
    DenialsCsv table = new DenialsCsv(csv, ClientNames.SHOW);
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(evil.repeat(5)))
            .denials(
                denial -> {
                  denials.add(denial);
                  table.accept(denial);
                })
            .run();
    assertEquals(2, result.totals().denied());
    assertEquals(2, denials.size());
    assertEquals(20_000_000_000L, denials.get(0).retryInNanos());
    assertTrue(csv.indexOf("\u001b") < 0, csv.toString());
    assertEquals(
        "2026-11-26T00:00:00Z,203.0.113.1,2,Logins,203.0.113.1,\"GET /login?=<b>\\u001b[31m,\"\"x\",200,20.0",
        csv.toString().split("\n", 3)[1]);
  }

  @Test
  void json_hasWhatTheTextHas() throws IOException {
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(traffic(1, 1000)))
            .against(limits(LIMITS, ""))
            .run();
    JsonNode json = new ObjectMapper().readTree(ReplayJson.of(result, ClientNames.MASK));
    assertEquals(result.totals().denied(), json.at("/totals/denied").asLong());
    assertEquals(0, json.at("/against/newlyDeniedRequests").asLong());
    assertEquals("203.0.113.x", json.at("/mostDenied/0/client").asText());
    assertEquals(result.rows().size(), json.at("/rules").size());
  }

  @Test
  void span_overTheEndOfSummerTime_hasTwoOffsets() {
    long first = Instant.parse("2026-10-24T23:00:00Z").getEpochSecond() * 1_000_000_000;
    long last = Instant.parse("2026-10-25T02:40:00Z").getEpochSecond() * 1_000_000_000;
    assertEquals(
        "2026-10-25 01:00:00 +0200 to 03:40:00 +0100",
        Words.span(first, last, ZoneId.of("Europe/Berlin")));
  }

  @Test
  void text_isATable() throws IOException {
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(traffic(1, 1000)))
            .against(limits(LIMITS.replace("burst: 20,", "burst: 5,"), ""))
            .run();
    List<String> lines = ReplayText.lines(result, "candidate.yml", ClientNames.SHOW);
    String all = String.join("\n", lines);
    assertTrue(lines.get(0).startsWith("1,000 lines, 2026-11-26 00:00:00 to "), all);
    assertTrue(lines.get(2).endsWith("with candidate.yml"), all);
    assertTrue(all.contains("/login") && all.contains("the same") && all.contains("no rule"), all);
    assertTrue(all.contains("Most denied: 203.0.113."), all);
    assertTrue(all.contains("Worst minute: 2026-11-26 00:"), all);
  }

  @Test
  void page_needsNoNetwork_andEscapesWhatTheLogHas() throws IOException {
    String evil =
        "<script>alert(1)</script> - - [26/Nov/2026:00:00:00 +0000] \"GET /login HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    String rules = "rules:\n  - path: /**\n    limits: [{limit: PerKey, id: all}]\n";
    ReplayResult result =
        Replay.of(limits(LIMITS, rules), sources(evil.repeat(5))).against(limits(LIMITS, "")).run();
    String page = ReplayPage.html(result, "<b>.yml", ClientNames.SHOW, null);
    assertTrue(page.indexOf("<script") < 0 && page.indexOf("<b>") < 0, page);
    assertTrue(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), page);
    assertTrue(!page.matches("(?s).*(src|href)=.*") && page.indexOf("http:") < 0, page);
    assertTrue(page.contains("Thu") && page.contains("class=\"deny\""), page);
    assertTrue(
        ReplayPage.html(
                Replay.of(limits(LIMITS, rules), sources("")).format("combined").run(),
                "",
                ClientNames.SHOW,
                null)
            .contains("No request is denied."));
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 5000})
  void page_hasTheLevelOfABucket(int size) throws IOException {
    LevelOverTime level = new LevelOverTime("Logins of <b>", Quota.per(3, Duration.ofMinutes(1)));
    List<Request> traffic = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      traffic.add(new Request(i * 10L, 1, "/login"));
    }
    ReplayResult result =
        Replay.of(limits(LIMITS, RULES), sources(traffic))
            .watch("Logins", "203.0.113.1", level)
            .run();
    String page = ReplayPage.html(result, "", ClientNames.SHOW, level);
    assertTrue(page.contains("<h2>Tokens in Logins of &lt;b&gt;</h2>"), page);
    assertTrue(
        page.contains(
            "%s charged to the bucket, %s of them denied; the bucket holds at most 3 tokens."
                .formatted(Words.counted(size, "request"), Words.whole(result.totals().denied()))),
        page);
    assertTrue(page.contains("<polyline class=\"level\" points=\"60.0,10.0 60.0,"), page);
    assertTrue(level.spans().size() < 2000);
    assertEquals(
        result.totals().denied(),
        level.spans().stream().mapToLong(LevelOverTime.Span::denied).sum());
    assertTrue(page.length() < 300_000, "bounded");
  }

  @Test
  void mistakesInOptions_areRefused() {
    for (String count : List.of("Calls", "=x", "Nothing={ip}", "Calls={ipp}", "Calls={path:x}")) {
      assertThrows(
          LogException.class,
          () -> Replay.of(limits(LIMITS, ""), sources(traffic(1, 1))).counts(List.of(count)).run(),
          count);
    }
    assertThrows(
        LogException.class,
        () ->
            Replay.of(limits(LIMITS, ""), sources(traffic(1, 1)))
                .counts(List.of("Calls={ip}", "Calls={ip}"))
                .run());
    for (String condition : List.of("", "denied > 1", "denied-clients < 1", "denied-clients > x")) {
      assertThrows(IllegalArgumentException.class, () -> FailIf.parse(condition), condition);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "combined | what? | the line has no complete ident, which is value 2 of 9",
        "combined | a - - [26/Nov/2026:10:00:00 +0100 | the line has no complete time_local, which is value 4 of 9",
        "combined | a - - [yesterday] \"GET / HTTP/1.1\" 200 5 | the time is \"yesterday\", expected a time such as 26/Nov/2026",
        "json | [1] | expected one JSON object",
        "json | {\"a\":1} | the line has no ",
        "regex:(?<time>[0-9]+) | x | the pattern matches no part of the line, or the line is too long for the pattern",
        "csv | time,a;1790000000 | the line has 1 value, expected the values of the heading: time, a",
        "csv | time,a;1790000000,2,3 | the line has more values than the heading, which has 2",
        "cloudfront | 2026-11-26 | no heading precedes the line",
      })
  void lineThatIsNotUnderstood_isShown_withTheReason(String format, String log, String reason)
      throws IOException {
    Limits limits = limits(LIMITS, RULES);
    String lines = log.replace(';', '\n') + "\n";
    for (boolean strict : List.of(false, true)) {
      Replay replay = Replay.of(limits, sources(lines)).format(format).strict(strict);
      String message = assertThrows(LogException.class, replay::run).getMessage();
      assertTrue(message.startsWith("access.log:"), message);
      assertTrue(message.contains(", which is not a line of the format " + format), message);
      assertTrue(message.contains(": " + reason), message);
    }
  }

  @Test
  void emptyLog_hasAnEmptyResult() throws IOException {
    ReplayResult result = Replay.of(limits(LIMITS, RULES), sources("")).format("combined").run();
    assertEquals(0, result.totals().requests());
    assertTrue(ReplayText.lines(result, "", ClientNames.SHOW).contains("No request is denied."));
    assertThrows(
        LogException.class, () -> Replay.of(limits(LIMITS, RULES), sources("what?\n")).run());
  }

  private Limits limits(String limits, String rules) throws IOException {
    Path file = Files.writeString(folder.resolve("limits.yml"), limits);
    LimitFiles.Builder files = LimitFiles.builder().defaults(file);
    if (rules.isEmpty()) {
      return files.companion(RuleBook.reader()).build().load();
    }
    Path book = Files.writeString(folder.resolve("rules.yml"), rules);
    return files.companion(book, RuleBook.reader()).build().load();
  }

  private static String text(List<Request> traffic) {
    StringBuilder text = new StringBuilder();
    traffic.forEach(request -> text.append(request.line()).append('\n'));
    return text.toString();
  }

  private static List<LogSource> sources(List<Request> traffic) {
    return sources(text(traffic));
  }

  private static List<LogSource> sources(String log) {
    return List.of(LogReaderTest.source("access.log", log.getBytes(StandardCharsets.UTF_8)));
  }
}
