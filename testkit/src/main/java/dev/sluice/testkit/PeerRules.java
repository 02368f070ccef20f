// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.WAITS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.InvalidRequestException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Test cases of other rate limiters, run with the API of Sluice. A note in each JSON file explains
 * the API of the other rate limiter. Each case either runs or is in a list of excluded cases, with
 * the reason.
 */
interface PeerRules extends DrivenStores {

  /**
   * The excluded cases of golang.org/x/time/rate, with the reasons. In an excluded case, Sluice
   * behaves differently, or does not have the operation.
   */
  Map<String, String> NOT_OURS =
      Map.ofEntries(
          Map.entry(
              "TestLimiterJumpBackwards",
              "Go grants an extra token after the clock steps back; Sluice grants none"),
          Map.entry("TestReserveJumpBack", "if the clock steps back, Go refills from the new time"),
          Map.entry(
              "TestReserveJumpBackCancel", "if the clock steps back, Go refills from the new time"),
          Map.entry("TestReserveSetBurst", "if the clock steps back, Go refills from the new time"),
          Map.entry("TestWaitInf", "an infinite rate is a disabled limit; see SpendRules"),
          Map.entry("TestZeroLimit", "a rate of zero is rejected when the quota is created"),
          Map.entry(
              "TestSetAfterZeroLimit", "a rate of zero is rejected when the quota is created"),
          Map.entry(
              "TestEvery",
              "Go converts an interval to a floating-point rate; Sluice keeps the interval"));

  /**
   * The cases in which Sluice admits waiting callers at other times than golang.org/x/time/rate.
   * Each inner map maps the number of a caller's step to the time of admission, in nanoseconds
   * after the start of the case.
   *
   * <ul>
   *   <li>In golang.org/x/time/rate, a caller that gives up returns the tokens that no later caller
   *       took. In Sluice, a caller that gives up returns all of its tokens if no later caller took
   *       tokens, and otherwise none.
   *   <li>In golang.org/x/time/rate, a caller can cancel a reservation at the end of the wait. In
   *       Sluice, a caller has already been admitted at the end of the wait.
   *   <li>In golang.org/x/time/rate, a change of the rate converts the debt to another number of
   *       tokens. In Sluice, a change of the rate changes neither the time at which the bucket will
   *       be full, nor the times at which waiting callers are admitted.
   */
  Map<String, Map<Integer, Long>> OTHERWISE =
      Map.of(
          "TestCancel1Token", Map.of(4, 500_000_000L),
          "TestCancelMulti", Map.of(6, 700_000_000L),
          "TestReserveSetLimit", Map.of(3, 700_000_000L),
          "TestReserveSetLimitCancel", Map.of(4, 400_000_000L));

  /** The excluded cases of the Go library throttled, which test that library's store interface. */
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
      // governor stores a key at least until the key's bucket is full. The keys that governor
      // stores must include each key whose bucket is not full in Sluice.
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
          .hasMessageContaining("the burst (" + expect.get("capacity").asText() + ")");
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
      // For a cost above the burst, throttled denies the spend and always reports a full bucket,
      // whereas Sluice throws an exception.
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
    // In throttled, a wait of -1 means "not limited". If throttled reports -1, the wait that Sluice
    // reports is not compared.
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
        GoCase goCase = new GoCase(bench, quota, OTHERWISE.getOrDefault(name, Map.of()));
        for (JsonNode step : peer.get("steps")) {
          goCase.step(step, name + " " + step);
        }
        goCase.assertPassed(name);
      }
    }
    assertThat(left).as("left out").containsExactlyInAnyOrderElementsOf(NOT_OURS.keySet());
  }

  /** Runs one case of golang.org/x/time/rate. */
  final class GoCase {
    private final Bench bench;
    private final Map<Integer, Long> otherwise;
    // Maps the number of a caller's step to the time at which the caller must be admitted.
    private final Map<Integer, Long> expected = new TreeMap<>();
    private final Map<Integer, Long> passed = new ConcurrentSkipListMap<>();
    private final Map<String, CompletableFuture<Decision>> byId = new HashMap<>();
    private Quota quota;
    private int number;

    GoCase(Bench bench, Quota quota, Map<Integer, Long> otherwise) {
      this.bench = bench;
      this.quota = quota;
      this.otherwise = otherwise;
    }

    void step(JsonNode step, String what) {
      moveTo(step);
      switch (step.get("op").asText()) {
        case "allow_n" -> allow(step, what);
        case "reserve_n", "wait_n" -> acquire(step, what);
        case "cancel" -> {
          CompletableFuture<Decision> caller = byId.get(step.get("id").asText());
          if (caller != null) {
            caller.cancel(false); // has no effect if the caller was already admitted
          }
          bench.settle();
        }
        case "set_limit" -> {
          double intervalNanos = 1e9 / step.get("value").asDouble();
          quota = quota(quota.burst(), Math.round(intervalNanos));
          bench.changeLimits(quota);
        }
        default -> throw new AssertionError(what);
      }
      number++;
    }

    private void moveTo(JsonNode step) {
      long atNanos = ManualTime.START_NANOS + step.path("at_ns").asLong(sinceStart());
      bench.time.advanceNanos(atNanos - bench.time.nanos());
    }

    private long sinceStart() {
      return bench.time.nanos() - ManualTime.START_NANOS;
    }

    private void acquire(JsonNode step, String what) {
      JsonNode expect = step.get("expect");
      boolean granted = expect.path("ok").asBoolean(!expect.path("error").asBoolean());
      long cost = step.get("quantity").asLong();
      String context = step.path("context").asText();
      if (context.startsWith("already")) {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> bench.limiter.acquire(WAITS, Bench.ID, cost, maxWait(step)))
            .as(what)
            .isInstanceOf(InterruptedException.class);
        return;
      }
      CompletableFuture<Decision> caller =
          bench.limiter.async().acquire(WAITS, Bench.ID, cost, maxWait(step)).toCompletableFuture();
      bench.settle();
      if (cost > quota.burst()) {
        assertThat(granted).as(what).isFalse();
        assertThatThrownBy(caller::join).as(what).hasCauseInstanceOf(InvalidRequestException.class);
      } else if (context.startsWith("cancelled")) {
        bench.time.advanceNanos(expect.get("delay_ns").asLong());
        assertThat(caller.cancel(false)).as(what).isTrue();
        bench.settle();
      } else if (!granted) {
        assertThat(caller.join().denied()).as(what).isTrue();
      } else {
        int which = number;
        byId.put(step.path("id").asText(what), caller);
        passesIn(which, expect.get("delay_ns").asLong());
        Stages.onSuccess(caller, decision -> passed.put(which, sinceStart()));
        if (step.get("op").asText().equals("wait_n")) { // wait_n of golang.org/x/time/rate blocks
          bench.time.advanceNanos(expect.get("delay_ns").asLong());
        }
      }
    }

    private void passesIn(int which, long delayNanos) {
      expected.put(which, otherwise.getOrDefault(which, sinceStart() + delayNanos));
    }

    private static Duration maxWait(JsonNode step) {
      boolean hasDeadline = step.path("context").asText().startsWith("deadline");
      long most = hasDeadline ? 100_000_000 : Bench.LONGEST_WAIT.toNanos();
      return Duration.ofNanos(step.path("max_wait_ns").asLong(most));
    }

    /** Asserts that each caller was admitted at the expected time, unless the caller gave up. */
    void assertPassed(String what) {
      bench.time.advance(Duration.ofMinutes(1));
      bench.settle();
      byId.values().stream()
          .filter(caller -> !caller.isCancelled())
          .forEach(caller -> assertThat(AsyncRules.await(caller).allowed()).as(what).isTrue());
      expected.keySet().retainAll(passed.keySet());
      assertThat(passed).as(what).containsExactlyEntriesOf(expected);
    }

    private void allow(JsonNode step, String what) {
      JsonNode expect = step.get("expect");
      long cost = step.get("quantity").asLong();
      if (step.has("threads")) {
        AtomicInteger granted = new AtomicInteger();
        Crowd.run(
            step.get("threads").asInt(),
            thread ->
                granted.addAndGet(bench.limiter.spend(WAITS, Bench.ID, cost).allowed() ? 1 : 0));
        assertThat(granted).as(what).hasValue(expect.get("total_ok").asInt());
        return;
      }
      if (step.has("every_ns")) {
        assertThat(grantedEvery(step))
            .as(what)
            .isBetween(
                expect.get("total_ok_at_least").asLong(), expect.get("total_ok_at_most").asLong());
        return;
      }
      if (cost > quota.burst()) {
        assertThat(expect.get("ok").asBoolean()).as(what).isFalse();
        assertThatThrownBy(() -> bench.limiter.spend(WAITS, Bench.ID, cost).orThrow())
            .as(what)
            .isInstanceOf(InvalidRequestException.class);
        return;
      }
      if (expect.has("tokens_before")) {
        long tokens = Math.max(expect.get("tokens_before").asLong(), 0);
        assertThat(bench.state(WAITS).remaining()).as(what).isEqualTo(tokens);
      }
      assertThat(bench.limiter.spend(WAITS, Bench.ID, cost).allowed())
          .as(what)
          .isEqualTo(expect.get("ok").asBoolean());
    }

    private long grantedEvery(JsonNode step) {
      long granted = 0;
      for (long at = 0; at <= step.get("until_ns").asLong(); at += step.get("every_ns").asLong()) {
        bench.time.set(ManualTime.START_NANOS + at);
        granted += bench.limiter.spend(WAITS, Bench.ID, 1).allowed() ? 1 : 0;
      }
      return granted;
    }
  }

  private static Quota quota(long burst, long intervalNanos) {
    return Quota.burst(burst).refill(1, Duration.ofNanos(intervalNanos));
  }

  private static String key(JsonNode step) {
    return step.path("key").asText("someone");
  }
}
