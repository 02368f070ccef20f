// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireRequest;
import dev.sluice.wire.WireTransaction;
import java.io.IOException;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A decision by a failure rule looked like one of the store. */
final class DecidedByTest {

  private static final CurrentLimits LIMITS =
      new CurrentLimits(
          Limits.builder(Catalogue.samples())
              .limit("ApiCallsPerKey", Quota.per(100, Duration.ofMinutes(1)))
              .build());

  private static final BucketStore AWAY =
      new BucketStore() {
        @Override
        public List<Reading> charge(List<Charge> charges) {
          throw new StoreException("as the test wants");
        }
      };

  private static JsonNode json(Limiter limiter, boolean batch) throws IOException {
    Decision decision = limiter.spend(List.of(limiter.transaction("ApiCallsPerKey", "a")));
    StringWriter text = new StringWriter();
    try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
      DecisionWriter.write(
          decision,
          batch
              ? WireRequest.ofBatch(List.of())
              : WireRequest.of(new WireTransaction(null, null, null, null)),
          json);
    }
    return new ObjectMapper().readTree(text.toString());
  }

  private static JsonNode by(FailureRule rule) throws IOException {
    return json(Limiter.builder(LIMITS, AWAY).onFailure(rule).build(), false);
  }

  @Test
  void store_hasAllNumbers() throws IOException {
    JsonNode json = json(Limiter.of(LIMITS, BucketStore.inMemory()), true);
    assertThat(json.get("decidedBy").textValue()).isEqualTo("store");
    assertThat(json.get("decisions").get(0).get("decidedBy").textValue()).isEqualTo("store");
    assertThat(json.get("remaining").longValue()).isEqualTo(99);
  }

  @Test
  void allow_andDeny_tellNoNumberThatNobodyKnows() throws IOException {
    for (FailureRule rule : List.of(FailureRule.allow(), FailureRule.deny())) {
      JsonNode json = by(rule);
      boolean allows = rule.equals(FailureRule.allow());
      assertThat(json.get("allowed").booleanValue()).isEqualTo(allows);
      assertThat(json.get("decidedBy").textValue()).isEqualTo(allows ? "allow" : "deny");
      assertThat(json.has("remaining")).isFalse();
      assertThat(json.has("resetInNanos") || json.has("resetInSeconds")).isFalse();
    }
  }

  @Test
  void local_tellsTheShareThatDecided() throws IOException {
    JsonNode json = by(FailureRule.local(10));
    assertThat(json.get("decidedBy").textValue()).isEqualTo("local");
    assertThat(json.get("burst").longValue()).isEqualTo(10);
    assertThat(json.get("remaining").longValue()).isEqualTo(9);
  }
}
