// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.UInt64Value;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.acme.AcmeLimits;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.LimitFiles;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The recorded trace through this door. What Envoy cannot ask (a check at a cost, a refund, a
 * reset, a part that only spends) is asked of the limiter beside it, so that the buckets are the
 * recorded ones. A twin of the buckets, asked by the library alone, tells what each part of a batch
 * comes to.
 */
@Tag("slow")
final class RlsVectorsTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long UINT32_MAX = 0xffff_ffffL;
  private static final long NANOS = 1_000_000_000;

  /** Of the 2,760 steps; the others are for what Envoy cannot ask. */
  private static final int CARRIED = 1_550;

  /** Descriptors of those that have several. */
  private static final int PARTS = 46;

  private int asked;
  private int parts;

  @Test
  void trace_overGrpc_isDecidedAsRecorded(@TempDir Path folder) throws Exception {
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
        BucketStore twin = BucketStore.inMemory(time);
        TestRlsServer server = new TestRlsServer(limits, store)) {
      Limiter beside = Limiter.of(new CurrentLimits(limits), store);
      Limiter reference = Limiter.of(new CurrentLimits(limits), twin);
      RateLimitServiceBlockingStub client = server.client();
      for (int i = 0; i < trace.size(); i++) {
        JsonNode act = JSON.readTree(trace.get(i));
        time.set(act.get("at").longValue());
        RateLimitDescriptor.Builder[] descriptors = descriptors(act);
        List<Decision> expected = apply(act, reference);
        if (descriptors.length == 0) {
          var unused = apply(act, beside);
        } else {
          RateLimitResponse response =
              client.shouldRateLimit(TestRlsServer.request(descriptors).build());
          compare("line " + (i + 1), act, response, JSON.readTree(decisions.get(i)));
          compareParts("line " + (i + 1), response, expected);
        }
      }
    }
    assertThat(asked).isEqualTo(CARRIED);
    assertThat(parts).isEqualTo(PARTS);
  }

  /** Empty for what Envoy cannot ask. */
  private static RateLimitDescriptor.Builder[] descriptors(JsonNode act) {
    List<RateLimitDescriptor.Builder> descriptors = new ArrayList<>();
    String op = act.get("op").textValue();
    if (op.equals("spend")) {
      descriptors.add(of(act));
    } else if (op.equals("batchSpend")) {
      for (JsonNode one : act.get("transactions")) {
        if (!one.path("kind").asText("checkAndSpend").equals("checkAndSpend")
            || one.path("cost").asLong(1) == 0) {
          return new RateLimitDescriptor.Builder[0];
        }
        descriptors.add(of(one));
      }
    }
    return descriptors.toArray(RateLimitDescriptor.Builder[]::new);
  }

  private static RateLimitDescriptor.Builder of(JsonNode transaction) {
    return descriptor(transaction.get("limit").textValue(), transaction.get("id").textValue())
        .setHitsAddend(UInt64Value.of(transaction.path("cost").asLong(1)));
  }

  private void compare(String line, JsonNode act, RateLimitResponse response, JsonNode recorded) {
    asked++;
    boolean looks = act.path("cost").asLong(1) == 0;
    boolean allowed = recorded.get("allowed").booleanValue();
    long remaining = recorded.get("remaining").longValue();
    // 0 hits ask whether one more would pass; the library's 0 always does.
    boolean expected = looks ? remaining > 0 : allowed;
    assertThat(response.getOverallCode()).as(line).isEqualTo(expected ? Code.OK : Code.OVER_LIMIT);
    if (response.getStatusesCount() != 1) {
      return; // the recorded numbers are those of the strictest part
    }
    DescriptorStatus status = response.getStatuses(0);
    assertThat(Integer.toUnsignedLong(status.getLimitRemaining()))
        .as("%s: remaining", line)
        .isEqualTo(expected ? Math.min(remaining, UINT32_MAX) : 0);
    if (remaining != Long.MAX_VALUE && !(looks && !expected)) {
      long nanos = recorded.get(allowed ? "resetInNanos" : "retryInNanos").longValue();
      assertThat(status.getDurationUntilReset().getSeconds())
          .as("%s: duration", line)
          .isEqualTo(nanos / NANOS + (nanos % NANOS > 0 ? 1 : 0));
    }
  }

  /** The recorded numbers are those of the strictest part; the library tells those of each. */
  private void compareParts(String line, RateLimitResponse response, List<Decision> expected) {
    if (response.getStatusesCount() == 1) {
      return;
    }
    assertThat(response.getStatusesCount()).as(line).isEqualTo(expected.size());
    for (int i = 0; i < expected.size(); i++) {
      parts++;
      Decision part = expected.get(i);
      DescriptorStatus status = response.getStatuses(i);
      String what = "%s, descriptor %s".formatted(line, i + 1);
      assertThat(status.getCode()).as(what).isEqualTo(part.allowed() ? Code.OK : Code.OVER_LIMIT);
      assertThat(status.hasCurrentLimit()).as(what).isEqualTo(part.limited());
      assertThat(Integer.toUnsignedLong(status.getLimitRemaining()))
          .as("%s: remaining", what)
          .isEqualTo(part.allowed() ? Math.min(part.remaining(), UINT32_MAX) : 0);
      if (part.limited()) {
        long nanos = part.allowed() ? part.resetInNanos() : part.retryInNanos();
        assertThat(status.getDurationUntilReset().getSeconds())
            .as("%s: duration", what)
            .isEqualTo(nanos / NANOS + (nanos % NANOS > 0 ? 1 : 0));
      }
    }
  }

  /** Returns the decision on each part of a batch; empty for any other act. */
  private static List<Decision> apply(JsonNode act, Limiter limiter) {
    String op = act.get("op").textValue();
    if (op.equals("batchSpend")) {
      List<dev.sluice.Transaction> batch = new ArrayList<>();
      for (JsonNode one : act.get("transactions")) {
        dev.sluice.Transaction transaction =
            limiter
                .transaction(one.get("limit").textValue(), one.get("id").textValue())
                .withCost(one.path("cost").asLong(1));
        batch.add(
            switch (one.path("kind").asText("checkAndSpend")) {
              case "checkOnly" -> transaction.checkOnly();
              case "spendOnly" -> transaction.spendOnly();
              default -> transaction;
            });
      }
      return limiter.spend(batch).parts();
    }
    String limit = act.get("limit").textValue();
    String id = act.get("id").textValue();
    long cost = act.path("cost").asLong(1);
    switch (op) {
      case "spend" -> {
        var unused = limiter.spend(limit, id, cost);
      }
      case "refund" -> limiter.refund(limit, id, cost);
      case "reset" -> limiter.reset(limit, id);
      default -> assertThat(op).isEqualTo("check"); // changes nothing
    }
    return List.of();
  }
}
