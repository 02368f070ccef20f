// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.sluice.replay.ReadAhead.Batch;
import io.airlift.compress.zstd.ZstdOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class LogReaderTest {

  private static final String COMBINED =
      "203.0.113.7 - alice [26/Nov/2026:00:00:03 +0100] \"GET /a?b=%22c HTTP/1.1\" 200 512"
          + " \"https://example.com/\" \"Moz \\\"quoted\\\" \\x41\"";
  private static final String ENVOY =
      "[2026-11-26T00:00:03.123Z] \"GET %s HTTP/1.1\" 200 - 0 15 3 2 \"%s\" \"%s\" \"id-1\" \"a.example\""
          + " \"10.0.0.1:80\"";
  private static final Duration WINDOW = Duration.ofSeconds(5);

  /** A format, one line of it, and what the line has. */
  private record Example(String format, String text, List<String> values, String time) {

    @Override
    public String toString() {
      return format;
    }
  }

  private static final List<String> COLUMNS = List.of("client", "target", "status", "host");

  static List<Example> examples() {
    return List.of(
        new Example(
            "combined",
            COMBINED,
            Arrays.asList("203.0.113.7", "/a?b=%22c", "200", null),
            "2026-11-25T23:00:03Z"),
        new Example(
            "common",
            "2001:db8::1 - - [01/Mar/2024:12:59:59 -0330] \"POST / HTTP/2.0\" 429 -",
            Arrays.asList("2001:db8::1", "/", "429", null),
            "2024-03-01T16:29:59Z"),
        new Example( // a client wrote the user name
            "combined",
            "203.0.113.7 - x 1795687203 [GET /health HTTP/1.1] 429 0 [26/Nov/2026:00:00:03 +0100]"
                + " \"POST /login HTTP/1.1\" 204 0 \"-\" \"curl/8\"",
            Arrays.asList("203.0.113.7", "/login", "204", null),
            "2026-11-25T23:00:03Z"),
        new Example( // the text of Apache for an empty user name
            "combined",
            "203.0.113.7 - \"\" [26/Nov/2026:00:00:03 +0100] \"GET /x HTTP/1.1\" 401 0 \"-\" \"-\"",
            Arrays.asList("203.0.113.7", "/x", "401", null),
            "2026-11-25T23:00:03Z"),
        new Example(
            "nginx-json",
            "{\"time_iso8601\":\"2026-11-26T00:00:03+01:00\",\"remote_addr\":\"203.0.113.7\","
                + "\"request\":\"GET /x HTTP/1.1\",\"status\":\"200\",\"http_host\":\"a.example\"}",
            List.of("203.0.113.7", "/x", "200", "a.example"),
            "2026-11-25T23:00:03Z"),
        new Example(
            "caddy",
            "{\"level\":\"info\",\"ts\":1764111603.25,\"logger\":\"http.log.access\",\"msg\":\"handled"
                + " request\",\"request\":{\"remote_ip\":\"203.0.113.7\",\"method\":\"GET\",\"host\":"
                + "\"a.example\",\"uri\":\"/x?y\",\"headers\":{\"User-Agent\":[\"curl\"]}},\"status\":404}",
            List.of("203.0.113.7", "/x?y", "404", "a.example"),
            "2025-11-25T23:00:03.250Z"),
        new Example(
            "envoy",
            "[2026-11-26T00:00:03.123Z] \"GET /x HTTP/1.1\" 200 - 0 15 3 2 \"203.0.113.7\" \"curl/8\""
                + " \"id-1\" \"a.example\" \"10.0.0.1:80\"",
            Arrays.asList(null, "/x", "200", "a.example"),
            "2026-11-26T00:00:03.123Z"),
        new Example(
            "envoy-json",
            "{\"start_time\":\"2026-11-26T00:00:03.123Z\",\"method\":\"GET\",\"path\":\"/x\","
                + "\"response_code\":503,\"downstream_remote_address\":\"203.0.113.7:4711\","
                + "\"authority\":\"a.example\"}",
            List.of("203.0.113.7", "/x", "503", "a.example"),
            "2026-11-26T00:00:03.123Z"),
        new Example(
            "haproxy",
            "Nov 26 00:00:03 lb haproxy[14389]: 203.0.113.7:33317 [26/Nov/2026:00:00:03.655] http-in"
                + " static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {}"
                + " \"GET /index.html HTTP/1.1\"",
            Arrays.asList("203.0.113.7", "/index.html", "200", null),
            "2026-11-26T00:00:03.655Z"),
        new Example( // a client wrote the captured header
            "haproxy",
            "203.0.113.7:33317 [26/Nov/2026:00:00:03.655] http-in static/srv1 10/0/30/69/109 200 2750"
                + " - - ---- 1/1/1/1/0 0/0 {x]: 198.51.100.9:1 [26/Nov/2026:10:00:03.655] a b 1/1/1/1/1"
                + " 503 1 - - ---- 1/1 0/0 z} \"GET /index.html HTTP/1.1\"",
            Arrays.asList("203.0.113.7", "/index.html", "200", null),
            "2026-11-26T00:00:03.655Z"),
        new Example(
            "alb",
            "https 2026-11-26T00:00:03.186641Z app/lb/50dc6c495c0c9188 203.0.113.7:2817 10.0.0.1:80"
                + " 0.086 0.048 0.037 200 200 0 57 \"GET https://a.example:443/x HTTP/1.1\" \"curl/8\""
                + " ECDHE TLSv1.2 arn:aws:x \"Root=1-58337281\" \"a.example\" \"arn:cert\" 1"
                + " 2026-11-26T00:00:03.086000Z \"forward\" \"-\" \"-\"",
            List.of("203.0.113.7", "/x", "200", "a.example"),
            "2026-11-26T00:00:03.186641Z"),
        new Example(
            "cloudfront",
            "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host)"
                + " cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query\n"
                + "2026-11-26\t00:00:03\tLAX1\t2390\t203.0.113.7\tGET\ta.example\t/x\t200\t-\tcurl%208\ty=1",
            List.of("203.0.113.7", "/x?y=1", "200", "a.example"),
            "2026-11-26T00:00:03Z"),
        new Example(
            "cloudfront",
            "#Fields: date time c-ip cs-method cs(Host) cs-uri-stem sc-status x-host-header\n"
                + "2026-11-26\t00:00:03\t203.0.113.7\tGET\td1.cloudfront.net\t/x\t200\ta.example",
            List.of("203.0.113.7", "/x", "200", "a.example"),
            "2026-11-26T00:00:03Z"),
        new Example(
            "waf",
            "{\"timestamp\":1764111603123,\"action\":\"ALLOW\",\"httpRequest\":{\"clientIp\":"
                + "\"203.0.113.7\",\"headers\":[{\"name\":\"Host\",\"value\":\"a.example\"}],\"uri\":\"/x\","
                + "\"args\":\"\",\"httpMethod\":\"GET\"},\"responseCodeSent\":403}",
            List.of("203.0.113.7", "/x", "403", "a.example"),
            "2025-11-25T23:00:03.123Z"),
        new Example(
            "json:time=when,client=who,target=url,method=verb",
            "{\"when\":1764111603,\"who\":\"203.0.113.7\",\"url\":\"/x\",\"verb\":\"PUT\"}",
            Arrays.asList("203.0.113.7", "/x", null, null),
            "2025-11-25T23:00:03Z"),
        new Example(
            "csv:time=when,client=who,request=line,status=code",
            "when,who,line,code\n2026-11-26 00:00:03,203.0.113.7,\"GET /x,\"\"y\"\" HTTP/1.1\",200",
            Arrays.asList("203.0.113.7", "/x,\"y\"", "200", null),
            "2026-11-26T00:00:03Z"),
        new Example(
            "regex:^(?<time>\\S+) (?<client>\\S+) (?<method>\\S+) (?<target>\\S+)",
            "2026-11-26T00:00:03Z 203.0.113.7 GET /x",
            Arrays.asList("203.0.113.7", "/x", null, null),
            "2026-11-26T00:00:03Z"));
  }

  @ParameterizedTest
  @MethodSource("examples")
  void line_hasItsValues(Example example) throws IOException {
    LogReader reader = reader(example.format(), example.text());
    LogRequest request = new LogRequest(reader.format(), null);
    LogEntry entry = reader.next();
    assertNotNull(entry, () -> example.format() + " is not understood");
    request.show(entry);
    String query = request.query();
    List<String> found = new ArrayList<>();
    found.add(request.peer());
    found.add(request.path() + (query == null ? "" : "?" + query));
    found.add(request.field("status"));
    found.add(
        request.headers("Host").isEmpty() ? null : request.headers("Host").get(0).split(":", 2)[0]);

    assertEquals(example.values(), found, () -> "of " + COLUMNS);
    assertEquals(Instant.parse(example.time()), Words.instant(entry.atNanos()));
    assertNull(reader.next());
    assertEquals(0, reader.found().unread());
  }

  @ParameterizedTest
  @MethodSource("examples")
  void format_isRecognised_whereItHasAName(Example example) {
    if (example.format().indexOf(':') < 0) {
      byte[] head = (example.text() + "\n").getBytes(StandardCharsets.UTF_8);
      String found = LogFormat.recognise(head, head.length, ZoneOffset.UTC);
      String expected =
          example.text().startsWith("{")
              ? "json"
              : example.format().equals("common") ? "combined" : example.format();
      assertEquals(expected, found);
    }
  }

  @Test
  void trace_isNotALog() throws IOException {
    String trace = "{\"at\":1700000000000000000,\"op\":\"spend\",\"limit\":\"L\",\"id\":\"3\"}\n";
    assertTrue(!Replay.isLog(stream(trace)) && !Replay.isLog(stream("")));
    assertTrue(
        Replay.isLog(stream(COMBINED)) && Replay.isLog(new ByteArrayInputStream(gzip(COMBINED))));
    assertTrue(Replay.isLog(new ByteArrayInputStream(zstd(COMBINED))));
  }

  @Test
  void logOfWhichNoLineIsUnderstood_isRefused_withItsFirstLine() throws IOException {
    LogReader reader = reader("combined", "what?\nthat.");
    String message = assertThrows(LogException.class, reader::next).getMessage();
    assertTrue(message.startsWith("log:1: ") && message.contains("what?"), message);

    LogReader noTime = reader("csv:client=ip", "ts,ip\n2026-11-26T00:00:03Z,203.0.113.7");
    message = assertThrows(LogException.class, noTime::next).getMessage();
    assertTrue(message.contains("no column for the time") && message.contains("ts, ip"), message);
  }

  @Test
  void dateAndTimeInTwoColumns_areInTheGivenZone_exceptInCloudFront() throws IOException {
    for (String format : List.of("csv:date=day,time=at", "csv", "cloudfront")) {
      String heading =
          switch (format) {
            case "csv" -> "date,time\n";
            case "cloudfront" -> "#Fields: date time\n";
            default -> "day,at\n";
          };
      String line = "2026-11-26" + (format.equals("cloudfront") ? "\t" : ",") + "10:00:00";
      LogReader reader =
          new LogReader(
              format,
              ZoneId.of("Europe/Berlin"),
              List.of(source("log", bytes(heading + line))),
              WINDOW,
              true);
      LogEntry entry = reader.next();
      assertNotNull(entry);
      String hour = format.equals("cloudfront") ? "10" : "09";
      assertEquals(
          Instant.parse("2026-11-26T%s:00:00Z".formatted(hour)),
          Words.instant(entry.atNanos()),
          format);
    }
  }

  @Test
  void headings_holdForTheirFile_whateverTheirCase() throws IOException {
    String mark = "\ufeff";
    LogReader csv =
        new LogReader(
            "csv:time=Timestamp,client=IP,method=Verb",
            ZoneOffset.UTC,
            List.of(
                source(
                    "a", bytes(mark + "Timestamp,IP,verb", "2026-11-26T00:00:01Z,203.0.113.1,A")),
                source("b", bytes("x,ip,timestamp", "?,203.0.113.2,2026-11-26T00:00:02Z"))),
            WINDOW,
            true);
    assertEquals(List.of("203.0.113.1 A", "203.0.113.2 null"), values(csv, "client", "method"));
    LogReader cloudfront =
        new LogReader(
            null,
            ZoneOffset.UTC,
            List.of(
                source(
                    "a",
                    bytes("#Fields: date time c-ip sc-status", "2026-11-26\t00:00:01\t::1\t200")),
                source(
                    "b",
                    bytes(
                        "#Version: 1.0",
                        "#Fields: time date sc-status c-ip",
                        "00:00:02\t2026-11-26\t404\t::2",
                        "#Fields: date time c-ip",
                        "2026-11-26\t00:00:03\t::3"))),
            WINDOW,
            true);
    assertEquals(List.of("::1 200", "::2 404", "::3 null"), values(cloudfront, "client", "status"));
    assertEquals(
        1,
        values(reader("combined", mark + COMBINED), "client", "status").stream()
            .filter("203.0.113.7 200"::equals)
            .count());
    byte[] head = (mark + COMBINED + "\n").getBytes(StandardCharsets.UTF_8);
    assertEquals("combined", LogFormat.recognise(head, head.length, ZoneOffset.UTC));
  }

  private static List<String> values(LogReader reader, String one, String two) throws IOException {
    LogRequest request = new LogRequest(reader.format(), null);
    List<String> values = new ArrayList<>();
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      request.show(entry);
      values.add(request.field(one) + " " + request.field(two));
    }
    return values;
  }

  @Test
  void headersOfARequest_areReadFromJson() throws IOException {
    String caddy =
        "{\"ts\":1764111603.25,\"request\":{\"remote_ip\":\"203.0.113.7\",\"method\":\"GET\",\"uri\":"
            + "\"/x\",\"headers\":{\"User-Agent\":[\"curl\"],\"Referer\":[\"r\"],\"X-Forwarded-For\":"
            + "[\"::1\"]}},\"status\":404}";
    String waf =
        "{\"timestamp\":1764111603123,\"httpRequest\":{\"clientIp\":\"203.0.113.7\",\"headers\":["
            + "{\"name\":\"user-agent\",\"value\":\"curl\"},{\"name\":\"Referer\",\"value\":\"r\"},"
            + "{\"name\":\"X-Forwarded-For\",\"value\":\"::1\"}],\"uri\":\"/x\",\"httpMethod\":\"GET\"}}";
    for (String text : List.of(caddy, waf)) {
      LogReader reader = reader("json", text);
      LogRequest request = new LogRequest(reader.format(), null);
      request.show(reader.next());
      assertEquals(List.of("curl"), request.headers("User-Agent"));
      assertEquals(List.of("r"), request.headers("Referer"));
      assertEquals(List.of("::1"), request.headers("X-Forwarded-For"));
    }
  }

  @Test
  void escapedBytes_areUtf8() throws IOException {
    LogReader reader =
        reader("combined", COMBINED.replace("\\x41", "\\xC3\\xA9t\\xc3\\xa9 \\\\x41"));
    LogRequest request = new LogRequest(reader.format(), null);
    request.show(reader.next());
    assertEquals(List.of("Moz \"quoted\" été \\x41"), request.headers("User-Agent"));
  }

  @Test
  void valuesWithLineEnds_makeDifferentKeys() throws IOException {
    List<byte[]> keys = new ArrayList<>();
    for (String values : List.of("\"a\\nb\",\"method\":\"c\"", "\"a\",\"method\":\"b\\nc\"")) {
      LogReader reader =
          reader("json", "{\"time\":\"2026-11-26T00:00:03Z\",\"host\":" + values + "}");
      LogEntry entry = reader.next();
      assertNotNull(entry);
      int[] columns = {reader.format().column("host"), reader.format().column("method")};
      keys.add(LogRequest.Key.of(entry, columns));
    }
    assertTrue(!Arrays.equals(keys.get(0), keys.get(1)));
  }

  @Test
  void escapes_areUndone_onlyWhereTheyAreAskedFor() throws IOException {
    LogReader reader = reader("combined", COMBINED);
    LogRequest request = new LogRequest(reader.format(), null);
    request.show(reader.next());
    assertEquals(List.of("Moz \"quoted\" A"), request.headers("User-Agent"));
    assertEquals("alice", request.user());
    assertEquals(List.of(), request.headers("X-Absent"));
  }

  @Test
  void userName_canContainSpacesBracketsAndEscapedQuotes() throws IOException {
    for (String user : List.of("john doe", "- [a] b [", "a\\\"b [c] \\\"d")) {
      LogReader reader = reader("common", COMBINED.replace("alice", user));
      LogRequest request = new LogRequest(reader.format(), null);
      request.show(reader.next());
      assertEquals(user.replace("\\", ""), request.user());
      assertEquals("/a", request.path());
    }
  }

  /** Envoy does not escape quotes, so a quote of the client would move all later values. */
  @ParameterizedTest
  @ValueSource(
      strings = {"198.51.100.1\" \"a", "198.51.100.1\" a", "198.51.100.1\"", "\"", "\" \""})
  void quoteInALineOfEnvoy_makesTheLineUnreadable(String forged) throws IOException {
    String line = ENVOY.formatted("/x", "203.0.113.7", "curl/8");
    for (String broken :
        List.of(
            ENVOY.formatted("/x", forged + ",203.0.113.7", "curl/8"),
            ENVOY.formatted("/x", "203.0.113.7", forged),
            ENVOY.formatted("/" + forged, "203.0.113.7", "curl/8"))) {
      LogReader reader = reader("envoy", line + "\n" + broken);
      assertNotNull(reader.next());
      assertNull(reader.next());
      assertEquals("log:2", reader.found().firstUnread());
    }
  }

  @Test
  void backslashInALineOfEnvoy_isNoEscape() throws IOException {
    LogReader reader = reader("envoy", ENVOY.formatted("/x", "203.0.113.7", "a\\x41\\"));
    LogRequest request = new LogRequest(reader.format(), null);
    request.show(reader.next());
    assertEquals(List.of("a\\x41\\"), request.headers("User-Agent"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\u0000\u0001\u0002\u0003",
        "203.0.113.7",
        "203.0.113.7 - - [",
        "203.0.113.7 - - [99/Nov/2026:00:00:03 +0100] \"GET / HTTP/1.1\" 200 1",
        "203.0.113.7 - - [26/Xyz/2026:00:00:03 +0100] \"GET / HTTP/1.1\" 200 1",
        "203.0.113.7 - - [26/Nov/2026:00:00:03 +9900] \"GET / HTTP/1.1\" 200 1",
        "203.0.113.7 - - [26/Nov/2026:00:00:0",
        "{\"ts\":1,",
        "{}",
        "[]",
        "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}",
        "{\"time\":\"1969-12-31T23:59:59Z\"}",
        "{\"time\":\"1900-01-01T00:00:00Z\"}",
        "{\"time\":17641116030}",
        "{\"time\":17641116030000}"
      })
  void brokenLine_isCounted_andTheOthersAreRead(String broken) throws IOException {
    for (String format :
        List.of("combined", "envoy", "alb", "haproxy", "json", "regex:(?<time>\\d+)x")) {
      LogReader reader = reader(format, broken + "\n" + broken);
      if (broken.isEmpty()) {
        assertNull(reader.next());
      } else {
        assertThrows(LogException.class, reader::next);
      }
      assertEquals(broken.isEmpty() ? 0 : 2, reader.found().unread());
      assertEquals(broken.isEmpty() ? null : "log:1", reader.found().firstUnread());
    }
    LogReader reader = reader("combined", broken + "\n" + COMBINED + "\r\n" + broken);
    assertNotNull(reader.next());
    assertNull(reader.next());
  }

  @Test
  void deeplyNestedObjects_areLeftOut() throws IOException {
    String deep = "{\"a\":".repeat(10) + "1" + "}".repeat(10);
    LogReader reader =
        reader("json", "{\"time\":1764111603,\"a\":" + deep + ",\"client\":\"203.0.113.7\"}");
    LogRequest request = new LogRequest(reader.format(), null);
    LogEntry entry = reader.next();
    assertNotNull(entry);
    request.show(entry);
    assertEquals("203.0.113.7", request.peer());
    assertEquals(0, reader.found().unread());
  }

  @Test
  void statusWhereTheTimeBelongs_isNotATime() throws IOException {
    LogReader reader = reader("combined", COMBINED.replace("- alice ", ""));
    assertThrows(LogException.class, reader::next);
    assertEquals(1, reader.found().unread());
  }

  @ParameterizedTest
  @CsvSource({
    "csv:time=t, 't\n0\n1'",
    "json:time=t, '{\"t\":0}\n{\"t\":1}'",
    "regex:t=(?<time>\\d+), 't=0\nt=1'"
  })
  void timeOfANamedField_canCountFromZero(String format, String text) throws IOException {
    LogReader reader = reader(format, text);
    List<Long> times = new ArrayList<>();
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      times.add(entry.atNanos());
    }
    assertEquals(List.of(0L, 1_000_000_000L), times);
  }

  @Test
  void strict_refusesTheFirstBrokenLine() throws IOException {
    LogReader reader =
        new LogReader(
            "combined",
            ZoneOffset.UTC,
            List.of(source("log", (COMBINED + "\n\u001b[31m").getBytes(StandardCharsets.UTF_8))),
            Duration.ZERO,
            true);
    String message = assertThrows(LogException.class, () -> all(reader)).getMessage();
    assertTrue(message.startsWith("log:2: "), message);
    assertTrue(message.indexOf('\u001b') < 0, message);
  }

  @Test
  void lineOf10Megabytes_isCounted_andTheNextIsRead() throws IOException {
    String huge = "x".repeat(10 << 20);
    LogReader reader = reader("combined", huge + "\n" + COMBINED + "\n" + huge);
    assertNotNull(reader.next());
    assertNull(reader.next());
    assertEquals(2, reader.found().unread());
    assertEquals(3, reader.found().lines());
  }

  @Test
  void manyLongLinesOfOneSecond_areNotAllHeld() throws IOException {
    String line = COMBINED + "x".repeat(1_000_000);
    LogReader reader = reader("combined", String.join("\n", Collections.nCopies(100, line)));
    ReadAhead ahead = new ReadAhead(reader, false);
    Batch batch = ahead.next();
    assertNotNull(batch);
    assertTrue(batch.size < 10, "requests in a batch: " + batch.size);
    assertTrue(batch.lines < 80, "lines read for the first batch: " + batch.lines);
    int count = 0;
    for (; batch != null; batch = ahead.next()) {
      count += batch.size;
    }
    assertEquals(100, count);
  }

  @Test
  void headerWith100000Values_isRead_andAlternatingHeadersAreRefused() throws IOException {
    String start = "{\"ts\":1764111603,\"request\":{\"headers\":{\"X-Forwarded-For\":[";
    LogReader reader = reader("json", start + "1,".repeat(100_000) + "2]}}}");
    LogRequest request = new LogRequest(reader.format(), null);
    reader.format().declare("header:x-forwarded-for");
    request.show(reader.next());
    assertEquals(100_001, request.headers("X-Forwarded-For").size());

    String two = "{\"name\":\"a\",\"value\":1},{\"name\":\"b\",\"value\":1},";
    reader =
        reader(
            "json",
            "{\"timestamp\":1764111603123,\"httpRequest\":{\"headers\":["
                + two.repeat(20_000)
                + "{}]}}");
    reader.format().declare("header:a");
    reader.format().declare("header:b");
    assertThrows(LogException.class, reader::next);
    assertEquals(1, reader.found().unread());
  }

  @Test
  void lineThatIsTooLongForAPattern_isCounted_andTheNextIsRead() throws IOException {
    LogReader reader =
        reader(
            "regex:(?<time>\\d+) \"(?<target>(?:[^\"\\\\]|\\\\.)*)\"",
            "1764111603 \"" + "x".repeat(1_000_000) + "\"\n1764111603 \"/\"");
    assertNotNull(reader.next());
    assertNull(reader.next());
    assertEquals(1, reader.found().unread());
  }

  @Test
  void compressedLogs_areRead_alsoOfSeveralParts() throws IOException {
    ByteArrayOutputStream twoMembers = new ByteArrayOutputStream();
    twoMembers.write(gzip(line(1)));
    twoMembers.write(gzip(line(2)));
    ByteArrayOutputStream twoFrames = new ByteArrayOutputStream();
    twoFrames.write(zstd(line(3)));
    twoFrames.write(zstd(line(4)));
    LogReader reader =
        new LogReader(
            null,
            ZoneOffset.UTC,
            List.of(
                trickling("b.gz", twoMembers.toByteArray()),
                source("c.zst", twoFrames.toByteArray())),
            WINDOW,
            true);
    assertEquals(List.of(1L, 2L, 3L, 4L), all(reader));
    assertEquals("combined", reader.format().name());
  }

  @Test
  void truncatedLogs_areRefused_withTheirName() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 5000; i++) {
      text.append(line(i)).append('\n');
    }
    for (byte[] whole : List.of(gzip(text.toString()), zstd(text.toString()))) {
      byte[] part = Arrays.copyOf(whole, whole.length / 2);
      LogReader reader =
          new LogReader("combined", ZoneOffset.UTC, List.of(source("cut", part)), WINDOW, false);
      String message = assertThrows(LogException.class, () -> all(reader)).getMessage();
      assertTrue(message.startsWith("cut: "), message);
    }
  }

  @Test
  void cutLogOfAFewKilobytes_isReadUpToItsEnd() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 200; i++) {
      text.append(line(i).replace("/a?", "/" + UUID.nameUUIDFromBytes(new byte[] {(byte) i}) + "?"))
          .append('\n');
    }
    byte[] whole = gzip(text.toString());
    byte[] part = Arrays.copyOf(whole, whole.length * 3 / 4);
    LogReader reader =
        new LogReader(null, ZoneOffset.UTC, List.of(source("cut", part)), WINDOW, false);
    assertEquals("combined", reader.format().name());
    String message = assertThrows(LogException.class, () -> all(reader)).getMessage();
    assertTrue(message.matches("(?s)cut: cannot be read after line [1-9][0-9]+: .*"), message);
  }

  @Test
  void damagedLogs_areRefused_withTheirName() throws IOException {
    for (byte[] whole : List.of(gzip(line(1)), zstd(line(1)))) {
      byte[] damaged = whole.clone();
      for (int i = 6; i < damaged.length; i++) {
        damaged[i] ^= 0x55;
      }
      String message =
          assertThrows(
                  LogException.class,
                  () ->
                      all(
                          new LogReader(
                              "combined",
                              ZoneOffset.UTC,
                              List.of(source("bad", damaged)),
                              WINDOW,
                              false)))
              .getMessage();
      assertTrue(message.startsWith("bad: "), message);
    }
  }

  @Test
  void severalLogs_areMergedByTime() throws IOException {
    LogReader reader =
        new LogReader(
            "combined",
            ZoneOffset.UTC,
            List.of(
                source("a", bytes(line(1), line(40), line(100))),
                source("b", bytes(line(2), line(50))),
                source("c", bytes())),
            Duration.ZERO,
            true);
    assertEquals(List.of(1L, 2L, 40L, 50L, 100L), all(reader));
    assertEquals(0, reader.found().mostLateNanos());
  }

  @Test
  void linesWithinTheWindow_areSorted_andLaterOnesAreCounted() throws IOException {
    LogReader reader =
        reader(
            "combined",
            String.join("\n", line(10), line(7), line(12), line(30), line(31), line(3)));
    assertEquals(List.of(7L, 10L, 12L, 12L, 30L, 31L), all(reader));
    assertEquals(1, reader.found().late());
    assertEquals(Duration.ofSeconds(28).toNanos(), reader.found().mostLateNanos());
  }

  @Test
  void lineWithATimeInTheFuture_makesNoOtherLineOfItsFileLate() throws IOException {
    LogReader reader =
        new LogReader(
            "combined",
            ZoneOffset.UTC,
            List.of(
                source("a", bytes(line(1), line(4).replace("2026", "2062"), line(3), line(5))),
                source("b", bytes(line(2), line(4), line(90)))),
            WINDOW,
            true);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 90L), all(reader).subList(0, 6));
    assertEquals(0, reader.found().late());
  }

  @Test
  void longLinesAmongShortOnes_enlargeFewOfTheBuffers() throws IOException {
    String longPath = "/" + "x".repeat(15_000) + "?";
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 40_000; i++) {
      text.append(line(i / 1000).replace("/a?", i % 19 == 0 ? longPath : "/a?")).append('\n');
    }
    LogReader reader = reader("combined", text.toString());
    Set<LogEntry> buffers = Collections.newSetFromMap(new IdentityHashMap<>());
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      buffers.add(entry);
      reader.release(entry);
    }
    long bytes = buffers.stream().mapToLong(entry -> entry.bytes().length).sum();
    assertTrue(bytes < 20_000_000, bytes + " bytes for 5,000 lines in memory");
  }

  /** The size of the buffers bounds how many lines can wait for lines that are out of order. */
  @Test
  void bufferOfALongLine_isNotKeptForAShortLine() {
    LogEntry entry = new LogEntry(LogFormat.parse("combined", ZoneOffset.UTC));
    for (int length : new int[] {1_500, 300, 700, 300}) {
      entry.take(new byte[length], 0, length);
      assertTrue(entry.bytes().length <= 4 * length, entry.bytes().length + " for " + length);
    }
  }

  @Test
  void thousandShortFiles_takeLittleMemory_andAreClosedOneByOne() throws IOException {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    AtomicInteger open = new AtomicInteger();
    List<LogSource> sources = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      sources.add(counted(source("log" + i, gzip(line(10L * i) + "\n" + line(10L * i + 5))), open));
    }
    long before = threads.getCurrentThreadAllocatedBytes();
    LogReader reader = new LogReader("combined", ZoneOffset.UTC, sources, WINDOW, true);
    assertNotNull(reader.next());
    long bytes = threads.getCurrentThreadAllocatedBytes() - before;
    assertTrue(bytes < 100_000_000, bytes + " bytes allocated for the first line");
    for (int i = 1; i < 2000; i++) {
      assertNotNull(reader.next());
      assertTrue(open.get() <= 1002 - i / 2, open + " files are open after line " + i);
    }
    assertNull(reader.next());
  }

  /** A log that counts how many logs are open. */
  private static LogSource counted(LogSource log, AtomicInteger open) {
    return new LogSource() {
      @Override
      public String name() {
        return log.name();
      }

      @Override
      public InputStream open() throws IOException {
        open.incrementAndGet();
        return new FilterInputStream(log.open()) {
          private boolean closed;

          @Override
          public void close() {
            open.addAndGet(closed ? 0 : -1);
            closed = true;
          }
        };
      }
    };
  }

  @Test
  void olderFile_thatIsGivenLast_isSorted_andIsNotLate() throws IOException {
    LogReader reader =
        new LogReader(
            "json",
            ZoneOffset.UTC,
            List.of(
                source("new", bytes("{\"time\":1764111700}", "{\"time\":1764111701}")),
                source(
                    "old",
                    bytes(
                        "{\"time\":1764111603}",
                        "{\"time\":1764111601}",
                        "{\"time\":1764111602}"))),
            WINDOW,
            true);
    List<Long> seconds = new ArrayList<>();
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      seconds.add(entry.atNanos() / 1_000_000_000);
    }
    assertEquals(List.of(1764111601L, 1764111602L, 1764111603L, 1764111700L, 1764111701L), seconds);
    assertEquals(0, reader.found().late());
    assertEquals(2_000_000_000L, reader.found().mostLateNanos());
  }

  @Test
  void linesOfHaproxyAboutConnections_areNoRequests() {
    LogFormat format = LogFormat.parse("haproxy", ZoneOffset.UTC);
    for (String line :
        List.of(
            "10.0.1.2:33318 [14/Nov/2023:22:13:21.200] https-in/1: SSL handshake failure",
            "10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0")) {
      byte[] text = line.getBytes(StandardCharsets.UTF_8);
      assertFalse(format.read(text, 0, text.length, new LogEntry(format)), line);
    }
  }

  @Test
  void jsonWithSpaces_isRecognisedAsJson() {
    String text =
        "{\"time\": \"2026-11-26T10:00:00Z\", \"client\": \"::1\", \"method\": \"GET\","
            + " \"target\": \"/\", \"status\": 200, \"user_agent\": \"a b c d e f g h i j k l\"}\n";
    byte[] head = text.repeat(20).getBytes(StandardCharsets.UTF_8);
    assertEquals("json", LogFormat.recognise(head, head.length, ZoneOffset.UTC));
  }

  @Test
  void hourThatRepeatsAtTheEndOfSummerTime_isReadInOrder() throws IOException {
    ZoneId berlin = ZoneId.of("Europe/Berlin");
    List<String> lines = new ArrayList<>();
    for (String time :
        List.of("02:10:00", "02:40:00", "02:59:59", "02:00:01", "02:30:00", "03:00:00")) {
      lines.add("2026-10-25T" + time + " 203.0.113.7");
    }
    LogReader reader =
        new LogReader(
            "regex:(?<time>\\S+) (?<client>\\S+)",
            berlin,
            List.of(source("log", bytes(lines.toArray(String[]::new)))),
            WINDOW,
            true);
    List<Instant> times = new ArrayList<>();
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      times.add(Words.instant(entry.atNanos()));
    }
    assertEquals(
        List.of(
            Instant.parse("2026-10-25T00:10:00Z"),
            Instant.parse("2026-10-25T00:40:00Z"),
            Instant.parse("2026-10-25T00:59:59Z"),
            Instant.parse("2026-10-25T01:00:01Z"),
            Instant.parse("2026-10-25T01:30:00Z"),
            Instant.parse("2026-10-25T02:00:00Z")),
        times);
  }

  @Test
  void hourThatRepeats_isReadForEachFileApart() throws IOException {
    byte[] file = bytes("2026-10-25T02:10:00 a", "2026-10-25T02:59:59 a", "2026-10-25T02:20:00 a");
    LogReader reader =
        new LogReader(
            "regex:(?<time>\\S+) (?<client>\\S+)",
            ZoneId.of("Europe/Berlin"),
            List.of(source("a", file), source("b", file)),
            WINDOW,
            true);
    List<String> times = new ArrayList<>();
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      times.add(Words.instant(entry.atNanos()).toString().substring(11, 16));
    }
    assertEquals(List.of("00:10", "00:10", "00:59", "00:59", "01:20", "01:20"), times);
  }

  @Test
  void unknownFormat_isRefused_withThoseThatExist() {
    String message =
        assertThrows(IllegalArgumentException.class, () -> reader("comboned", "")).getMessage();
    assertTrue(message.contains("combined"), message);
    assertThrows(IllegalArgumentException.class, () -> reader("json:time", ""));
    assertThrows(IllegalArgumentException.class, () -> reader("regex:(", ""));
  }

  /** A line at a second of a day. */
  private static String line(long second) {
    return COMBINED.replace(
        "00:00:03",
        String.format(Locale.ROOT, "%02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60));
  }

  private static List<Long> all(LogReader reader) throws IOException {
    long midnight = Instant.parse("2026-11-25T23:00:00Z").getEpochSecond();
    List<Long> seconds = new ArrayList<>();
    for (LogEntry entry = reader.next(); entry != null; entry = reader.next()) {
      seconds.add(Words.instant(entry.atNanos()).getEpochSecond() - midnight);
    }
    return seconds;
  }

  private static LogReader reader(String format, String text) throws IOException {
    return new LogReader(
        format,
        ZoneOffset.UTC,
        List.of(source("log", text.getBytes(StandardCharsets.UTF_8))),
        WINDOW,
        false);
  }

  private static byte[] bytes(String... lines) {
    return String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
  }

  private static InputStream stream(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] gzip(String text) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream out = new GZIPOutputStream(packed)) {
      out.write((text + "\n").getBytes(StandardCharsets.UTF_8));
    }
    return packed.toByteArray();
  }

  private static byte[] zstd(String text) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream out = new ZstdOutputStream(packed)) {
      out.write((text + "\n").getBytes(StandardCharsets.UTF_8));
    }
    return packed.toByteArray();
  }

  static LogSource source(String name, byte[] bytes) {
    return new LogSource() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public InputStream open() {
        return new ByteArrayInputStream(bytes);
      }
    };
  }

  /** A pipe, which has a few bytes at a time and never says that it has more. */
  private static LogSource trickling(String name, byte[] bytes) {
    return new LogSource() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public InputStream open() {
        return new ByteArrayInputStream(bytes) {
          @Override
          public int read(byte[] target, int from, int length) {
            return super.read(target, from, Math.min(length, 7));
          }

          @Override
          public int available() {
            return 0;
          }
        };
      }
    };
  }
}
