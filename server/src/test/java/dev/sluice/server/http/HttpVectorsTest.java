package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HttpVectorsTest {

  @Test
  void trace_overHttp_isDecidedAsRecorded(@TempDir Path folder) throws Exception {
    Path defaults = Files.writeString(folder.resolve("d.yml"), Vectors.text("gcra/defaults.yml"));
    Path overrides = Files.writeString(folder.resolve("o.yml"), Vectors.text("gcra/overrides.yml"));
    Limits limits = LimitFiles.builder().defaults(defaults).overrides(overrides).build().load();
    List<String> trace = Vectors.lines("gcra/trace.jsonl");
    List<String> decisions = Vectors.lines("gcra/decisions.jsonl");
    ManualTime time = new ManualTime();

    try (BucketStore store = BucketStore.inMemory(time);
        TestServer server = new TestServer(limits, store)) {
      for (int i = 0; i < trace.size(); i++) {
        ObjectNode act = (ObjectNode) TestServer.JSON.readTree(trace.get(i));
        time.set(act.remove("at").longValue());
        String op = act.remove("op").textValue();
        String path = "/v1/" + (op.equals("batchSpend") ? "spend" : op);

        JsonNode answer = TestServer.json(server.post(path, act.toString()));

        JsonNode recorded = TestServer.JSON.readTree(decisions.get(i));
        boolean limited = answer.path("limited").asBoolean(true); // a reset says nothing of it
        for (var field : recorded.properties()) {
          if (!limited && field.getKey().equals("remaining")) {
            // No number stands for "no limit" over HTTP.
            assertThat(field.getValue().longValue()).isEqualTo(Long.MAX_VALUE);
            assertThat(answer.has("remaining")).isFalse();
            continue;
          }
          assertThat((Object) answer.get(field.getKey()))
              .as("line %d: %s of %s", i + 1, field.getKey(), answer)
              .isEqualTo(field.getValue());
        }
      }
    }
  }
}
