package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * What other rate limiters assert in their own tests, in our terms; the note in each file says what
 * its terms mean. Every case either runs or stands in a list of those that don't, with the reason.
 */
interface PeerRules extends DrivenStores {

  /** Cases of golang.org/x/time/rate that mean something else there, or that we don't have. */
  Map<String, String> NOT_OURS =
      Map.ofEntries(
          Map.entry("TestLimiterJumpBackwards", "mints a token after a step back; we mint none"),
          Map.entry("TestSimpleReserve", "goes into debt; ours is denied, with the wait"),
          Map.entry("TestMix", "goes into debt; ours is denied, with the wait"),
          Map.entry("TestCancelInvalid", "goes into debt; see ReservationTest for what we do"),
          Map.entry("TestCancelLast", "goes into debt; see ReservationTest for what we do"),
          Map.entry("TestCancelTooLate", "goes into debt; see ReservationTest for what we do"),
          Map.entry("TestCancel0Tokens", "keeps what was reserved later; we give all back"),
          Map.entry("TestCancel1Token", "keeps what was reserved later; we give all back"),
          Map.entry("TestCancelMulti", "keeps what was reserved later; we give all back"),
          Map.entry("TestReserveJumpBack", "goes into debt, at an earlier time"),
          Map.entry("TestReserveJumpBackCancel", "goes into debt, at an earlier time"),
          Map.entry("TestReserveSetLimit", "goes into debt; the limit changes under it"),
          Map.entry("TestReserveSetBurst", "goes into debt; the limit changes under it"),
          Map.entry("TestReserveSetLimitCancel", "goes into debt; the limit changes under it"),
          Map.entry("TestReserveMax", "goes into debt up to a given wait"),
          Map.entry("TestWaitSimple", "blocks; we answer with the wait and never block"),
          Map.entry("TestWaitCancel", "blocks; we answer with the wait and never block"),
          Map.entry("TestWaitTimeout", "blocks; we answer with the wait and never block"),
          Map.entry("TestWaitInf", "an infinite rate is a disabled limit; see SpendRules"),
          Map.entry("TestZeroLimit", "a rate of zero is refused when the quota is made"),
          Map.entry("TestSetAfterZeroLimit", "a rate of zero is refused when the quota is made"),
          Map.entry("TestEvery", "converts an interval to a rate in floats; we keep the interval"));

  /** Cases of throttled that are about its own store interface. */
  Set<String> THROTTLED_STORE =
      Set.of("TestRateLimitUpdateFailures", "TestRateLimitUpdateFailuresWithRetryLimitSetToTwo");

  @Test
  default void governor_itsCases_holdHere() {
    for (JsonNode peer : Vectors.json("peers/governor.json").get("cases")) {
      JsonNode limit = peer.get("limit");
      Quota quota = quota(limit.get("burst").asLong(), limit.get("emission_interval_ns").asLong());
      try (Bench bench = Bench.of(this, quota)) {
        Set<String> keys = new TreeSet<>();
        for (JsonNode step : peer.get("steps")) {
          keys.add(key(step));
          governorStep(bench, keys, step, peer.get("name").asText() + " " + step);
        }
      }
    }
  }

  private static void governorStep(Bench bench, Set<String> keys, JsonNode step, String what) {
    bench.time.set(ManualTime.START_NANOS + step.get("at_ns").asLong());
    JsonNode expect = step.get("expect");
    if (step.get("op").asText().equals("retain_recent")) {
      // It keeps each key for at least as long as its bucket is not full; so every bucket of ours
      // that is not full must be among its keys, while it may keep others a little longer.
      List<String> kept = new ArrayList<>();
      expect.get("keys").forEach(key -> kept.add(key.asText()));
      for (String key : keys) {
        if (bench.limiter.check(A, key, 0).resetInNanos() > 0) {
          assertThat(kept).as(what).contains(key);
        }
      }
      return;
    }
    long cost = step.get("quantity").asLong();
    if (expect.get("result").asText().equals("insufficient")) {
      assertThatThrownBy(() -> bench.limiter.spend(A, key(step), cost).orThrow())
          .as(what)
          .isInstanceOf(InvalidRequestException.class)
          .hasMessageContaining("burst is " + expect.get("capacity").asText());
      return;
    }
    Decision decision = bench.limiter.spend(A, key(step), cost);
    assertThat(decision.allowed()).as(what).isEqualTo(expect.get("result").asText().equals("ok"));
    if (expect.has("remaining")) {
      assertThat(decision.remaining()).as(what).isEqualTo(expect.get("remaining").asLong());
    }
    if (expect.has("wait_ns")) {
      assertThat(decision.retryInNanos()).as(what).isEqualTo(expect.get("wait_ns").asLong());
    }
  }

  @Test
  default void throttled_itsCases_holdHere() {
    JsonNode file = Vectors.json("peers/throttled_gcra.json");
    Set<String> left = new TreeSet<>();
    for (String part : List.of("cases", "derived_cases")) {
      for (JsonNode peer : file.get(part)) {
        String name = peer.get("name").asText();
        if (THROTTLED_STORE.contains(name)) {
          left.add(name);
          continue;
        }
        JsonNode limit = peer.get("limit");
        Quota quota =
            quota(limit.get("limit").asLong(), limit.get("emission_interval_ns").asLong());
        try (Bench bench = Bench.of(this, quota)) {
          for (JsonNode step : peer.get("steps")) {
            throttledStep(bench, quota, step, name + " " + step);
          }
        }
      }
    }
    assertThat(left).containsExactlyInAnyOrderElementsOf(THROTTLED_STORE);
  }

  private static void throttledStep(Bench bench, Quota quota, JsonNode step, String what) {
    bench.time.set(ManualTime.START_NANOS + step.get("at_ns").asLong());
    long cost = step.get("quantity").asLong();
    JsonNode expect = step.get("expect");
    if (cost > quota.burst()) {
      // There: denied, with the state of a full bucket whatever is in it. Here: refused.
      assertThatThrownBy(() -> bench.limiter.spend(A, key(step), cost).orThrow())
          .as(what)
          .isInstanceOf(InvalidRequestException.class);
      return;
    }
    Decision decision = bench.limiter.spend(A, key(step), cost);
    if (expect.has("limited")) {
      boolean limited = expect.get("limited").asBoolean();
      assertThat(decision.denied()).as(what).isEqualTo(limited);
    }
    if (expect.has("remaining")) {
      assertThat(decision.remaining()).as(what).isEqualTo(expect.get("remaining").asLong());
      assertThat(decision.resetInNanos()).as(what).isEqualTo(expect.get("reset_after_ns").asLong());
    }
    // Its -1 is "not limited"; ours then is the wait for the same cost once more.
    if (expect.path("retry_after_ns").asLong(-1) >= 0) {
      assertThat(decision.retryInNanos()).as(what).isEqualTo(expect.get("retry_after_ns").asLong());
    }
  }

  @Test
  default void goRate_itsCases_holdHere() {
    Set<String> left = new TreeSet<>();
    for (JsonNode peer : Vectors.json("peers/x_time_rate.json").get("cases")) {
      String name = peer.get("name").asText();
      if (NOT_OURS.containsKey(name)) {
        left.add(name);
        continue;
      }
      JsonNode limit = peer.get("limit");
      double intervalNanos = Math.min(1e9 / limit.get("rate_per_s").asDouble(), Long.MAX_VALUE);
      Quota quota = quota(limit.get("burst").asLong(), Math.round(intervalNanos));
      try (Bench bench = Bench.of(this, quota)) {
        for (JsonNode step : peer.get("steps")) {
          goStep(bench, quota, step, name + " " + step);
        }
      }
    }
    assertThat(left).as("left out").containsExactlyInAnyOrderElementsOf(NOT_OURS.keySet());
  }

  private static void goStep(Bench bench, Quota quota, JsonNode step, String what) {
    assertThat(step.get("op").asText()).isEqualTo("allow_n");
    JsonNode expect = step.get("expect");
    long cost = step.get("quantity").asLong();
    if (step.has("threads")) {
      AtomicInteger granted = new AtomicInteger();
      Crowd.run(
          step.get("threads").asInt(),
          thread -> granted.addAndGet(bench.spend(cost).allowed() ? 1 : 0));
      assertThat(granted).as(what).hasValue(expect.get("total_ok").asInt());
      return;
    }
    if (step.has("every_ns")) {
      assertThat(grantedEvery(bench, step))
          .as(what)
          .isBetween(
              expect.get("total_ok_at_least").asLong(), expect.get("total_ok_at_most").asLong());
      return;
    }
    bench.time.set(ManualTime.START_NANOS + step.path("at_ns").asLong(0));
    if (cost > quota.burst()) {
      assertThat(expect.get("ok").asBoolean()).as(what).isFalse();
      assertThatThrownBy(() -> bench.spend(cost).orThrow())
          .as(what)
          .isInstanceOf(InvalidRequestException.class);
      return;
    }
    if (expect.has("tokens_before")) {
      long tokens = expect.get("tokens_before").asLong();
      assertThat(bench.state().remaining()).as(what).isEqualTo(tokens);
    }
    assertThat(bench.spend(cost).allowed()).as(what).isEqualTo(expect.get("ok").asBoolean());
  }

  private static long grantedEvery(Bench bench, JsonNode step) {
    long granted = 0;
    for (long at = 0; at <= step.get("until_ns").asLong(); at += step.get("every_ns").asLong()) {
      bench.time.set(ManualTime.START_NANOS + at);
      granted += bench.spend(1).allowed() ? 1 : 0;
    }
    return granted;
  }

  private static Quota quota(long burst, long intervalNanos) {
    return Quota.of(burst, 1, Duration.ofNanos(intervalNanos));
  }

  private static String key(JsonNode step) {
    return step.path("key").asText("someone");
  }
}
