// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.LimitFiles;
import java.net.URLEncoder;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The recorded trace over HTTP: act by act, and as streams of acts. */
@Tag("slow")
final class HttpVectorsTest {

  private final List<String> trace = Vectors.lines("gcra/trace.jsonl");
  private final List<String> decisions = Vectors.lines("gcra/decisions.jsonl");
  private final ManualTime time = new ManualTime();
  private Limits limits;

  @BeforeEach
  void load(@TempDir Path folder) throws Exception {
    Path defaults = Files.writeString(folder.resolve("d.yml"), Vectors.text("gcra/defaults.yml"));
    Path overrides = Files.writeString(folder.resolve("o.yml"), Vectors.text("gcra/overrides.yml"));
    limits =
        LimitFiles.builder()
            .catalogue(AcmeLimits.bundled().catalogue())
            .defaults(defaults)
            .overrides(overrides)
            .build()
            .load();
    assertThat(trace).hasSize(2_760).hasSameSizeAs(decisions);
  }

  private ObjectNode act(int line) throws Exception {
    return (ObjectNode) TestServer.JSON.readTree(trace.get(line));
  }

  private void assertRecorded(int line, JsonNode answer) throws Exception {
    JsonNode recorded = TestServer.JSON.readTree(decisions.get(line));
    boolean limited = answer.path("limited").asBoolean(true); // a reset says nothing of it
    for (var field : recorded.properties()) {
      if (!limited && field.getKey().equals("remaining")) {
        // No number stands for "no limit" over HTTP.
        assertThat(field.getValue().longValue()).isEqualTo(Long.MAX_VALUE);
        assertThat(answer.has("remaining")).isFalse();
        continue;
      }
      assertThat((Object) answer.get(field.getKey()))
          .as("line %d: %s of %s", line + 1, field.getKey(), answer)
          .isEqualTo(field.getValue());
    }
  }

  @Test
  void trace_overHttp_isDecidedAsRecorded() throws Exception {
    try (BucketStore store = BucketStore.inMemory(time);
        TestServer server = new TestServer(limits, store)) {
      for (int i = 0; i < trace.size(); i++) {
        ObjectNode act = act(i);
        time.set(act.remove("at").longValue());
        String op = act.remove("op").textValue();

        assertRecorded(i, TestServer.json(server.post("/v1/" + path(op), act.toString())));
      }
    }
  }

  /**
   * The steps that a proxy can ask for, a spend, a check, or a batch of spends, go through the door
   * for proxies; the others between them go by JSON.
   */
  @Test
  void trace_asAProxyAsks_isDecidedAsRecorded() throws Exception {
    int carried = 0;
    try (BucketStore store = BucketStore.inMemory(time);
        TestServer server = new TestServer(limits, store)) {
      for (int i = 0; i < trace.size(); i++) {
        ObjectNode act = act(i);
        time.set(act.remove("at").longValue());
        String op = act.remove("op").textValue();
        String query = query(op, act);
        if (query == null) {
          assertRecorded(i, TestServer.json(server.post("/v1/" + path(op), act.toString())));
          continue;
        }
        carried++;
        JsonNode recorded = TestServer.JSON.readTree(decisions.get(i));
        HttpResponse<String> answer = server.get("/v1/forward-auth?" + query);
        assertThat(answer.statusCode())
            .as("line %d: %s", i + 1, query)
            .isEqualTo(recorded.get("allowed").booleanValue() ? 200 : 429);
        String left = answer.headers().firstValue("RateLimit").orElse("");
        if (!left.isEmpty() && !left.contains(",")) {
          long remaining = Math.min(recorded.get("remaining").longValue(), 999_999_999_999_999L);
          assertThat(left).as("line %d", i + 1).contains(";r=" + remaining);
        }
      }
    }
    assertThat(carried).isEqualTo(1_790);
  }

  @Test
  void settlements_overHttp_chargeWhatIsRecorded(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("l.yml"), Vectors.text("settle/limits.yml"));
    Limits settled = LimitFiles.builder().defaults(file).build().load();
    Map<Long, JsonNode> open = new HashMap<>();
    int settlements = 0;
    try (BucketStore store = BucketStore.inMemory(time);
        TestServer server = new TestServer(settled, store)) {
      for (String line : Vectors.lines("settle/trace.jsonl")) {
        ObjectNode act = (ObjectNode) TestServer.JSON.readTree(line);
        time.set(act.remove("at").longValue());
        String op = act.remove("op").textValue();
        if (op.equals("reserve")) {
          JsonNode held = TestServer.json(server.post("/v1/reservations", reserved(act)));
          assertThat(held.get("allowed")).as(line).isEqualTo(act.get("allowed"));
          assertThat(held.get("remaining").longValue())
              .as(line)
              .isEqualTo(act.get("remaining").longValue());
          open.put(act.path("as").longValue(), held);
          continue;
        }
        JsonNode held = open.remove(act.remove("as").longValue());
        String url = "/v1/reservations/" + held.get("token").textValue() + "/" + op;
        if (op.equals("cancel")) {
          assertThat(server.post(url, "").statusCode()).as(line).isEqualTo(200);
          continue;
        }
        String costs =
            "{\"costs\":{\"%s\":%s}}".formatted(held.get("limit").textValue(), act.remove("cost"));
        JsonNode part = TestServer.json(server.post(url, costs)).get("limits").get(0);
        act.properties()
            .forEach(
                field ->
                    assertThat(part.get(field.getKey()).longValue())
                        .as("%s of %s", field.getKey(), line)
                        .isEqualTo(field.getValue().longValue()));
        settlements++;
      }
    }
    assertThat(settlements).isEqualTo(214);
  }

  private static String reserved(ObjectNode act) {
    return act.deepCopy().retain("limit", "id", "cost").toString();
  }

  private static String path(String op) {
    return op.equals("batchSpend") ? "spend" : op;
  }

  /** What a proxy's configuration would say; null where it cannot. */
  private static String query(String op, ObjectNode act) {
    List<JsonNode> transactions = new ArrayList<>();
    if (op.equals("batchSpend")) {
      act.get("transactions").forEach(transactions::add);
    } else if (op.equals("spend") || op.equals("check")) {
      transactions.add(act);
    }
    StringBuilder query = new StringBuilder(op.equals("check") ? "dry=true" : "dry=false");
    for (JsonNode one : transactions) {
      if (!one.path("kind").asText("checkAndSpend").equals("checkAndSpend")) {
        return null;
      }
      query.append("&limit=").append(one.get("limit").textValue());
      query.append("&id=").append(encoded(one.get("id").textValue()));
      query.append("&cost=").append(one.path("cost").asLong(1));
    }
    return transactions.isEmpty() ? null : query.toString();
  }

  private static String encoded(String id) {
    return URLEncoder.encode(id, StandardCharsets.UTF_8);
  }

  /** Acts of one moment are one stream: the clock of the test stands still meanwhile. */
  @Test
  void trace_asStreams_isDecidedAsRecorded() throws Exception {
    try (BucketStore store = BucketStore.inMemory(time);
        TestServer server = new TestServer(limits, store)) {
      int next = 0;
      while (next < trace.size()) {
        long at = act(next).get("at").longValue();
        time.set(at);
        List<String> lines = new ArrayList<>();
        for (int i = next; i < trace.size() && act(i).get("at").longValue() == at; i++) {
          ObjectNode act = act(i);
          act.remove("at");
          lines.add(act.toString());
        }
        HttpResponse<String> answers =
            server.send(
                "POST",
                "/v1/decisions",
                BodyPublishers.ofString(String.join("\n", lines)),
                "application/x-ndjson");

        List<String> said = answers.body().lines().toList();
        assertThat(said).hasSameSizeAs(lines);
        for (String one : said) {
          assertRecorded(next++, TestServer.JSON.readTree(one));
        }
      }
    }
  }
}
