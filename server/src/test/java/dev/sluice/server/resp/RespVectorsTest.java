// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RespVectorsTest {

  private static final ObjectMapper JSON = new ObjectMapper();

  @Test
  void trace_overResp_isDecidedAsRecorded(@TempDir Path folder) throws Exception {
    Path defaults = Files.writeString(folder.resolve("d.yml"), Vectors.text("gcra/defaults.yml"));
    Path overrides = Files.writeString(folder.resolve("o.yml"), Vectors.text("gcra/overrides.yml"));
    Limits limits =
        LimitFiles.builder()
            .catalogue(AcmeLimits.bundled().catalogue())
            .defaults(defaults)
            .overrides(overrides)
            .build()
            .load();
    List<String> trace = Vectors.lines("gcra/trace.jsonl");
    List<String> decisions = Vectors.lines("gcra/decisions.jsonl");
    assertThat(trace).hasSize(2_760).hasSameSizeAs(decisions);
    ManualTime time = new ManualTime();

    try (BucketStore store = BucketStore.inMemory(time);
        TestRespServer server = new TestRespServer(limits, store);
        RespClient client = server.connect()) {
      assertThat(client.call("HELLO", "3")).isInstanceOf(Map.class);
      for (int i = 0; i < trace.size(); i++) {
        JsonNode act = JSON.readTree(trace.get(i));
        time.set(act.get("at").longValue());

        Object reply = client.call(command(act).toArray(new String[0]));

        JsonNode recorded = JSON.readTree(decisions.get(i));
        if (recorded.has("reset")) {
          assertThat(reply).as("line %d", i + 1).isEqualTo("OK");
          continue;
        }
        Map<?, ?> decision = (Map<?, ?>) reply;
        for (var field : recorded.properties()) {
          Object found = decision.get(field.getKey());
          Object expected =
              field.getValue().isBoolean()
                  ? (Object) field.getValue().booleanValue()
                  : (Object) field.getValue().longValue();
          if (found == null) { // no number stands for "no limit"
            assertThat(decision.get("limited")).isEqualTo(false);
            assertThat(expected).isEqualTo(Long.MAX_VALUE);
          } else {
            assertThat(found).as("line %d: %s", i + 1, field.getKey()).isEqualTo(expected);
          }
        }
      }
    }
  }

  @Test
  void settlements_overResp_chargeWhatIsRecorded(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("l.yml"), Vectors.text("settle/limits.yml"));
    Limits limits = LimitFiles.builder().defaults(file).build().load();
    ManualTime time = new ManualTime();
    Map<Long, String[]> open = new HashMap<>(); // token and limit
    int settlements = 0;
    try (BucketStore store = BucketStore.inMemory(time);
        TestRespServer server = new TestRespServer(limits, store);
        RespClient client = server.connect()) {
      assertThat(client.call("HELLO", "3")).isInstanceOf(Map.class);
      for (String line : Vectors.lines("settle/trace.jsonl")) {
        JsonNode act = JSON.readTree(line);
        time.set(act.get("at").longValue());
        String op = act.get("op").textValue();
        if (op.equals("reserve")) {
          Map<?, ?> held = (Map<?, ?>) client.call(command(act).toArray(new String[0]));
          assertThat(held.get("allowed")).as(line).isEqualTo(act.get("allowed").booleanValue());
          assertThat(held.get("remaining")).as(line).isEqualTo(act.get("remaining").longValue());
          String limit = act.get("limit").textValue();
          open.put(
              act.path("as").longValue(), new String[] {String.valueOf(held.get("token")), limit});
          continue;
        }
        String[] held = open.remove(act.get("as").longValue());
        if (op.equals("cancel")) {
          assertThat(client.call("SLUICE.CANCEL", held[0])).as(line).isEqualTo("OK");
          continue;
        }
        Map<?, ?> settled =
            (Map<?, ?>) client.call("SLUICE.SETTLE", held[0], held[1], act.get("cost").asText());
        Map<?, ?> part = (Map<?, ?>) ((List<?>) settled.get("limits")).get(0);
        for (String field : List.of("charged", "givenBack", "owed", "cut", "remaining")) {
          assertThat(part.get(field))
              .as("%s of %s", field, line)
              .isEqualTo(act.get(field).longValue());
        }
        settlements++;
      }
    }
    assertThat(settlements).isEqualTo(214);
  }

  private static List<String> command(JsonNode act) {
    String op = act.get("op").textValue();
    List<String> words = new ArrayList<>();
    if (op.equals("batchSpend")) {
      words.addAll(List.of("SLUICE.BATCH", "SPEND"));
      for (JsonNode one : act.get("transactions")) {
        words.add(one.get("limit").textValue());
        words.add(one.get("id").textValue());
        words.add(one.path("cost").asText("1"));
        words.add(one.path("kind").asText("checkAndSpend"));
      }
      return words;
    }
    words.add("SLUICE." + op.toUpperCase(Locale.ROOT));
    words.add(act.get("limit").textValue());
    words.add(act.get("id").textValue());
    if (act.has("cost") && !op.equals("reset")) {
      words.add(act.get("cost").asText());
    }
    return words;
  }
}
