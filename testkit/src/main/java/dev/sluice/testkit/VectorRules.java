// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests that repeat recorded operations; the decisions must be the same to the nanosecond. */
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

  @Test
  default void settlements_replayed_chargeWhatIsRecorded() {
    ManualTime time = new ManualTime();
    Limits limits =
        Limits.builder(
                Catalogue.of(
                    LimitName.builder(301, "Owing").build(),
                    LimitName.builder(302, "Paid").build(),
                    LimitName.builder(303, "Wide").build()))
            .limit("Owing", Quota.per(10, Duration.ofSeconds(1)))
            .debt("Owing", 1)
            .limit("Paid", Quota.burst(7).refill(4, Duration.ofSeconds(1)))
            .limit("Wide", Quota.burst(100).refill(25, Duration.ofSeconds(1)))
            .debt("Wide", 2)
            .build();
    try (BucketStore store = newStore(time)) {
      Limiter limiter = Bench.limiter(new CurrentLimits(limits), store, time);
      Map<Long, Reservation> open = new HashMap<>();
      List<JsonNode> acts = Vectors.jsonLines("settle/trace.jsonl");
      assertThat(acts).hasSize(600);
      for (JsonNode act : acts) {
        time.set(act.get("at").asLong());
        if (act.get("op").asText().equals("reserve")) {
          Reservation made =
              limiter.reserve(
                  act.get("limit").asText(), act.get("id").asText(), act.get("cost").asLong());
          assertThat(made.allowed()).as("%s", act).isEqualTo(act.get("allowed").asBoolean());
          assertThat(made.decision().remaining())
              .as("%s", act)
              .isEqualTo(act.get("remaining").asLong());
          open.put(act.path("as").asLong(), made);
          continue;
        }
        Reservation call = Objects.requireNonNull(open.remove(act.get("as").asLong()));
        String limit = Objects.requireNonNull(call.decision().transaction()).name().name();
        if (act.get("op").asText().equals("cancel")) {
          call.cancel();
        } else {
          Settlement.Part part =
              call.settle(Map.of(limit, act.get("cost").asLong())).parts().get(0);
          assertThat(
                  List.of(
                      part.charged(), part.givenBack(), part.owed(), part.cut(), part.remaining()))
              .as("%s", act)
              .isEqualTo(
                  Stream.of("charged", "givenBack", "owed", "cut", "remaining")
                      .map(field -> act.get(field).asLong())
                      .toList());
        }
      }
    }
  }
}
