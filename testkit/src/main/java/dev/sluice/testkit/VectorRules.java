// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.store.BucketStore;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The recorded decisions, repeated to the nanosecond. */
interface VectorRules extends DrivenStores {

  @Test
  default void trace_replayed_givesTheRecordedDecisions() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      Limiter limiter = Bench.limiter(new CurrentLimits(GcraVectors.limits()), store, time);
      List<JsonNode> trace = GcraVectors.trace();
      List<JsonNode> decisions = GcraVectors.decisions();
      assertThat(trace).hasSize(2760).hasSameSizeAs(decisions);
      for (int i = 0; i < trace.size(); i++) {
        JsonNode act = trace.get(i);
        time.set(act.get("at").asLong());
        assertThat(GcraVectors.act(act, limiter))
            .as("line %d, %s", i + 1, act)
            .isEqualTo(GcraVectors.text(decisions.get(i)));
      }
    }
  }

  @Test
  default void spendsUpTo_replayed_takeWhatIsRecorded() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      Limiter limiter = Bench.limiter(new CurrentLimits(GcraVectors.limits()), store, time);
      List<JsonNode> acts = Vectors.jsonLines("gcra/up-to.jsonl");
      assertThat(acts).hasSize(630);
      for (JsonNode act : acts) {
        time.set(act.get("at").asLong());
        Decision decision =
            limiter.spendUpTo(
                act.get("limit").asText(), act.get("id").asText(), act.get("cost").asLong());
        assertThat(decision.taken()).as("%s", act).isEqualTo(act.get("taken").asLong());
        assertThat(GcraVectors.text(decision)).as("%s", act).isEqualTo(GcraVectors.text(act));
      }
    }
  }
}
