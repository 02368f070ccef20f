// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Callers who come together share calls, and don't hurt each other. */
final class CoalescingTest {

  private static final Pattern COMMAND = Pattern.compile("cmdstat_([^:]+):calls=([0-9]+)");

  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
  private final List<Integer> callsOf = new CopyOnWriteArrayList<>();

  private RedisStoreBuilder builder() {
    return RedisStore.builder(redis.uri())
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1))
        .denials(Duration.ZERO)
        .observer(
            new BucketStore.Observer() {
              @Override
              public void called(
                  String server, Result result, int batches, int charges, long nanos) {
                callsOf.add(batches);
              }
            });
  }

  @AfterEach
  void stop() {
    redis.close();
  }

  @Test
  void callersWhileTwoCallsAreUnderWay_shareTheNext() {
    try (RedisStore store = builder().open()) {
      store.ping();
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      redis.freeze();
      List<CompletableFuture<Decision>> calls = new ArrayList<>();
      for (int i = 0; i < 110; i++) {
        calls.add(limiter.async().spend(LIMIT, "a").toCompletableFuture());
      }
      redis.thaw();
      // In the order in which they came: the first hundred got a token, the last ten did not.
      for (int i = 0; i < 110; i++) {
        assertThat(calls.get(i).join().remaining()).isEqualTo(Math.max(99 - i, 0));
        assertThat(calls.get(i).join().allowed()).isEqualTo(i < 100);
      }
      await().until(() -> callsOf.stream().mapToInt(Integer::intValue).sum() == 110);
      assertThat(callsOf).containsExactly(1, 1, 108);
    }
  }

  @Test
  void oneCaller_waitsForNobody() {
    try (RedisStore store = builder().open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(Spending.granted(limiter, "a", 5)).isEqualTo(5);
      await().until(() -> callsOf.equals(List.of(1, 1, 1, 1, 1)));
    }
  }

  /** A second command would double the time that each call takes on the network. */
  @Test
  void spend_andBatch_areOneCommandEach() {
    try (RedisStore store = builder().open()) {
      var unusedToLoadTheScript = store.charge(Charges.spend("1:first"));
      redis.command("CONFIG", "RESETSTAT");
      for (int i = 0; i < 100; i++) {
        assertThat(store.charge(Charges.spend("1:a"))).hasSize(1);
        assertThat(store.charge(Charges.spend("1:b", "1:c"))).hasSize(2);
      }
      Map<String, Integer> commands =
          COMMAND
              .matcher(String.valueOf(redis.command("INFO", "commandstats")))
              .results()
              .collect(Collectors.toMap(m -> m.group(1), m -> Integer.valueOf(m.group(2))));
      commands.keySet().removeIf(name -> name.startsWith("config")); // of this test
      assertThat(commands)
          .as("commands, and those that the script runs inside the server")
          .isEqualTo(Map.of("evalsha", 200, "time", 200, "get", 300, "set", 300));
    }
  }

  @Test
  void moreThanMayWait_areRefusedAtOnce() {
    try (RedisStore store = builder().queue(10).open()) {
      store.ping();
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      redis.freeze();
      List<CompletableFuture<Decision>> calls = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        calls.add(limiter.async().spend(LIMIT, "a").toCompletableFuture());
      }
      // Two are under way, ten wait.
      assertThat(calls.subList(12, 20))
          .allSatisfy(
              call ->
                  assertThatThrownBy(call::join)
                      .hasMessageContaining("queue full: 10 requests are waiting for")
                      .hasMessageContaining("nothing was charged"));
      redis.thaw();
      assertThat(calls.subList(0, 12))
          .allSatisfy(call -> assertThat(call.join().allowed()).isTrue());
    }
  }

  @Test
  void badBucketInACall_hurtsNoNeighbour() {
    redis.command("LPUSH", "1:bad", "x");
    try (RedisStore store = builder().open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      List<CompletableFuture<Decision>> bad = new ArrayList<>();
      List<CompletableFuture<Decision>> good = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        bad.add(limiter.async().spend(LIMIT, "bad").toCompletableFuture());
        good.add(limiter.async().spend(LIMIT, "good").toCompletableFuture());
      }
      assertThat(good).allSatisfy(call -> assertThat(call.join().allowed()).isTrue());
      assertThat(bad)
          .allSatisfy(
              call -> assertThatThrownBy(call::join).hasMessageContaining("is not a string"));
    }
  }

  @Test
  void callerWhoGaveUpWhileWaiting_isNotCharged() {
    try (RedisStore store = builder().open()) {
      store.ping();
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      redis.freeze();
      var first = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      var second = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      var third = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      assertThat(third.cancel(false)).isTrue();
      redis.thaw();
      first.join();
      second.join();
      assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST - 2);
    }
  }

  @Test
  void callersOfABatchWhoGaveUpWhileWaiting_areNotCharged() {
    try (RedisStore store = builder().open()) {
      store.ping();
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      redis.freeze();
      var first = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      var second = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      var cancelled = store.chargeAsync(Charges.spend("1:a", "1:b")).toCompletableFuture();
      var refund = store.chargeAsync(Charges.refund("1:a")).toCompletableFuture();
      var tooLate = store.chargeAsync(Charges.spend("1:a", "1:b")).toCompletableFuture();
      var decision = limiter.async().spend(LIMIT, "b", 1).toCompletableFuture();
      var reservation = limiter.async().reserve(LIMIT, "b", 1).toCompletableFuture();
      assertThat(cancelled.cancel(false)).isTrue();
      assertThat(refund.cancel(false)).isTrue();
      assertThat(decision.cancel(false)).isTrue();
      assertThat(reservation.cancel(false)).isTrue();
      assertThatThrownBy(tooLate.orTimeout(1, TimeUnit.MILLISECONDS)::join)
          .hasCauseInstanceOf(TimeoutException.class);
      redis.thaw();
      first.join();
      second.join();
      assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST - 2);
      assertThat(redis.command("EXISTS", "1:b")).isEqualTo(0L);
    }
  }

  @Test
  void callerOfABatchOverServersWhoGaveUp_isNotChargedWhereItWaited_andGetsBackTheRest() {
    try (LocalRedis other = LocalRedis.start(RedisBinary.bundled());
        RedisStore store =
            RedisStore.builder(
                    "redis-ring://%s,%s?names=one,other"
                        .formatted(redis.address(), other.address()))
                .timeout(Duration.ofMinutes(1))
                .connectTimeout(Duration.ofMinutes(1))
                .denials(Duration.ZERO)
                .open()) {
      Rendezvous placement = new Rendezvous(List.of("one", "other"));
      String here = idOn(placement, 0);
      String there = idOn(placement, 1);
      store.ping();
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      redis.freeze(); // two calls are under way there, so that the batch's part waits
      var first = store.chargeAsync(Charges.spend("1:" + here)).toCompletableFuture();
      var second = store.chargeAsync(Charges.spend("1:" + here)).toCompletableFuture();
      var batch = store.chargeAsync(Charges.spend("1:" + here, "1:" + there)).toCompletableFuture();
      await().until(() -> other.command("EXISTS", "1:" + there).equals(1L));
      assertThat(batch.cancel(false)).isTrue();
      await().until(() -> other.command("EXISTS", "1:" + there).equals(0L));
      redis.thaw();
      first.join();
      second.join();
      assertThat(limiter.check(LIMIT, here, 0).remaining()).isEqualTo(Spending.BURST - 2);
    }
  }

  private static String idOn(Rendezvous placement, int server) {
    return IntStream.range(0, 1_000)
        .mapToObj(i -> "id" + i)
        .filter(id -> placement.serverOf(("1:" + id).getBytes(StandardCharsets.UTF_8)) == server)
        .findFirst()
        .orElseThrow();
  }

  /** It runs on a thread that may wait: a store's own would wait for itself. */
  @Test
  void blockingCall_inWhatIsChainedToAStage_isAnswered() {
    try (RedisStore store = builder().open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      redis.freeze(); // or the answer could be there before something is chained to it
      var chained =
          limiter
              .async()
              .spend(LIMIT, "a")
              .thenApply(d -> limiter.spend(LIMIT, "a"))
              .toCompletableFuture();
      var pinging = limiter.async().spend(LIMIT, "a").thenAccept(d -> store.ping());
      redis.thaw();
      assertThat(chained.join().allowed()).isTrue();
      pinging.toCompletableFuture().join();
    }
  }

  @Test
  void callerThatBlocks_delaysNobodyElse() {
    try (RedisStore store = builder().open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      CountDownLatch others = new CountDownLatch(20);
      redis.freeze();
      var blocked =
          limiter
              .async()
              .spend(LIMIT, "a")
              .thenAccept(d -> awaitZero(others))
              .toCompletableFuture();
      List<CompletableFuture<Decision>> free = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        free.add(limiter.async().spend(LIMIT, "b").toCompletableFuture());
      }
      redis.thaw();
      free.forEach(call -> assertThat(call.join().allowed()).isTrue());
      assertThat(blocked).isNotDone();
      free.forEach(call -> others.countDown());
      blocked.join();
    }
  }

  /** More than any pool with a bound would have threads for; the later call is answered in time. */
  @Test
  void callersThatBlock_delayNobodyElse_howeverManyTheyAre() {
    try (RedisStore store = builder().open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      CountDownLatch end = new CountDownLatch(1);
      List<CompletableFuture<Void>> blocked = new ArrayList<>();
      redis.freeze(); // or an answer could be there before something is chained to it
      for (int i = 0; i < 600; i++) {
        blocked.add(
            limiter
                .async()
                .spend(LIMIT, "a" + i)
                .thenAccept(d -> awaitZero(end))
                .toCompletableFuture());
      }
      redis.thaw();
      var later = limiter.async().spend(LIMIT, "b").toCompletableFuture();
      assertThat(later.orTimeout(2, TimeUnit.MINUTES).join().allowed()).isTrue();
      end.countDown();
      CompletableFuture.allOf(blocked.toArray(CompletableFuture[]::new)).join();
    }
  }

  private static void awaitZero(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void closedStore_refuses() {
    RedisStore store = builder().open();
    store.close();
    store.close();
    assertThatThrownBy(() -> store.charge(Charges.check("1:a"))).hasMessageContaining("is closed");
  }
}
