// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static dev.sluice.redis.Spending.within;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Observer.State;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** One server that breaks: nobody gets too much, every call ends, and it works again by itself. */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT) // each test has a server of its own
final class FaultsTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(4);

  private final List<State> states = new CopyOnWriteArrayList<>();
  private LocalRedis redis;
  private RedisStore store;
  private Limiter limiter;

  @BeforeEach
  void start() {
    redis =
        LocalRedis.start(RedisBinary.bundled(), "--appendonly", "yes", "--appendfsync", "always");
    store = open(redis.uri());
    limiter = Limiter.of(Spending.LIMITS, store);
    awaitDecisions(); // or a busy machine needs the time-out for its first connection
    states.clear();
  }

  private RedisStore open(String uri) {
    return RedisStore.builder(uri)
        .timeout(TIMEOUT)
        .failures(3)
        .probe(Duration.ofMillis(50))
        .denials(Duration.ZERO)
        .observer(
            new BucketStore.Observer() {
              @Override
              public void changed(String server, State state, String reason) {
                states.add(state);
              }
            })
        .open();
  }

  @AfterEach
  void stop() {
    store.close();
    redis.close();
  }

  private void awaitDecisions() {
    await()
        .ignoreExceptions()
        .until(
            () -> {
              assertThat(limiter.check(LIMIT, "probe").allowed()).isTrue();
              return true;
            });
  }

  /** A change may be reported behind the answer that shows it. */
  private void awaitStates(State... expected) {
    await().untilAsserted(() -> assertThat(states).containsExactly(expected));
  }

  @Test
  void killed_withItsData_failsAndThenGoesOnWhereItWas() {
    assertThat(Spending.granted(limiter, "a", 60)).isEqualTo(60);
    redis.kill();
    for (int i = 0; i < 5; i++) {
      within(
          TIMEOUT,
          () ->
              assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
                  .isInstanceOf(StoreException.class));
    }
    assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
        .hasMessageContaining("is marked down and was not called")
        .hasMessageContaining("nothing was charged")
        .matches(failure -> ((StoreException) failure).chargedNothing());
    assertThatThrownBy(store::ping).isInstanceOf(StoreException.class);
    redis.startAgain();
    awaitDecisions();
    assertThat(Spending.granted(limiter, "a", 100)).isEqualTo(40);
    awaitStates(State.DOWN, State.UP);
  }

  @Test
  void killed_withoutItsData_givesOutTheLimitOnceMoreAndNoMore() {
    assertThat(Spending.granted(limiter, "a", 60)).isEqualTo(60);
    redis.kill();
    assertThatThrownBy(() -> limiter.spend(LIMIT, "a")).isInstanceOf(StoreException.class);
    redis.startAgain();
    redis.command("FLUSHALL");
    awaitDecisions();
    assertThat(Spending.granted(limiter, "a", 300)).isEqualTo(Spending.BURST);
  }

  @Test
  void frozen_callsEndAndNothingIsGivenOutTwice() {
    assertThat(Spending.granted(limiter, "a", 50)).isEqualTo(50);
    redis.freeze();
    int unknown = 0;
    for (int i = 0; i < 10; i++) {
      int[] told = {0};
      within(
          TIMEOUT,
          () ->
              assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
                  .isInstanceOf(StoreException.class)
                  .satisfies(e -> told[0] = e.getMessage().contains("unknown") ? 1 : 0));
      unknown += told[0];
    }
    redis.thaw();
    awaitDecisions();
    // What was on its way may have been charged; it was never handed out.
    assertThat(Spending.granted(limiter, "a", 200)).isBetween(50 - unknown, 50);
    awaitStates(State.DOWN, State.UP);
  }

  /** It takes the connection, and answers nothing. */
  @Test
  void frozenAtOpen_opensAllTheSame_andCallsFailUntilItAnswers() {
    store.close();
    redis.freeze();
    within(
        Duration.ofSeconds(5),
        () ->
            store =
                RedisStore.builder(redis.uri())
                    .timeout(TIMEOUT)
                    .connectTimeout(Duration.ofMillis(300))
                    .open());
    limiter =
        Limiter.builder(new CurrentLimits(Spending.LIMITS), store)
            .onFailure("Other", FailureRule.deny())
            .build();
    within(
        TIMEOUT,
        () ->
            assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("nothing was charged"));
    within(TIMEOUT, () -> assertThat(limiter.spend("Other", "a").degraded()).isTrue());
    redis.thaw();
    awaitDecisions();
    assertThat(Spending.granted(limiter, "a", 300)).isEqualTo(Spending.BURST);
    assertThat(limiter.spend("Other", "a").degraded()).isFalse();
  }

  @Test
  void frozen_chargesOfOneCall_endTogether() {
    redis.freeze();
    BucketStore call = store.forOneCall();
    List<Charge> spend = Charges.spend("a");
    assertThatThrownBy(() -> call.charge(spend)).hasMessageContaining("unknown");
    assertThatThrownBy(() -> call.charge(spend)).hasMessageContaining("nothing was charged");
    assertThatThrownBy(() -> call.chargeAsync(spend).toCompletableFuture().join())
        .hasMessageContaining("nothing was charged");
    redis.thaw();
  }

  @Test
  void paused_asynchronousCallersAllEnd() {
    redis.command("CLIENT", "PAUSE", "60000", "WRITE");
    List<CompletableFuture<Decision>> calls = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      calls.add(limiter.async().spend(LIMIT, "a").toCompletableFuture());
    }
    within(
        TIMEOUT,
        () ->
            assertThat(calls)
                .allSatisfy(
                    call ->
                        assertThatThrownBy(call::join).hasCauseInstanceOf(StoreException.class)));
    redis.command("CLIENT", "UNPAUSE");
    awaitDecisions();
    assertThat(Spending.granted(limiter, "a", 300)).isLessThanOrEqualTo(Spending.BURST);
  }

  @Test
  void paused_forLessThanTheTimeOut_isWaitedFor_evenIfConnectingMayTakeLess() {
    store.close();
    store =
        RedisStore.builder(redis.uri())
            .timeout(Duration.ofMinutes(1))
            .connectTimeout(Duration.ofMillis(800))
            .open();
    limiter = Limiter.of(Spending.LIMITS, store);
    awaitDecisions();
    redis.command("CLIENT", "PAUSE", "1500");
    assertThat(limiter.spend(LIMIT, "a").allowed()).isTrue();
  }

  @Test
  void connectionsKilledAgainAndAgain_giveOutTheLimitAndNeverSendTwice() {
    AtomicBoolean over = new AtomicBoolean();
    CompletableFuture<Void> killing =
        CompletableFuture.runAsync(
            () -> {
              while (!over.get()) {
                redis.command("CLIENT", "KILL", "TYPE", "normal");
              }
            });
    int granted = 0;
    int unknown = 0;
    for (int i = 0; i < 400; i++) {
      try {
        granted += limiter.spend(LIMIT, "a").allowed() ? 1 : 0;
      } catch (StoreException e) {
        unknown += e.getMessage().contains("unknown") ? 1 : 0;
      }
    }
    over.set(true);
    killing.join();
    awaitDecisions();
    int left = Spending.granted(limiter, "a", Spending.BURST);
    assertThat(granted + left).isLessThanOrEqualTo(Spending.BURST);
    assertThat(granted + unknown + left).isGreaterThanOrEqualTo(Spending.BURST);
  }

  @Test
  void busy_withSomeoneElsesScript_callsEnd() {
    redis.command("CONFIG", "SET", "lua-time-limit", "50");
    CompletableFuture<Void> script =
        CompletableFuture.runAsync(
            () ->
                assertThatThrownBy(
                        () -> redis.command("EVAL", "while true do redis.call('PING') end", "0"))
                    .hasMessageContaining("killed"));
    await().until(() -> isBusy());
    within(
        TIMEOUT,
        () ->
            assertThatThrownBy(() -> limiter.spend(LIMIT, "a")).isInstanceOf(StoreException.class));
    redis.command("SCRIPT", "KILL");
    script.join();
    awaitDecisions();
    assertThat(Spending.granted(limiter, "a", 300)).isBetween(Spending.BURST - 1, Spending.BURST);
  }

  private boolean isBusy() {
    try {
      redis.command("GET", "x");
      return false;
    } catch (IllegalStateException e) {
      return e.getMessage().startsWith("BUSY");
    }
  }

  @Test
  void scriptsFlushed_whileInUse_nobodyNotices() {
    store.close();
    store =
        RedisStore.builder(redis.uri())
            .timeout(Duration.ofMinutes(1))
            .connectTimeout(Duration.ofMinutes(1)) // no time-out is tried here
            .denials(Duration.ZERO)
            .open();
    limiter = Limiter.of(Spending.LIMITS, store);
    List<CompletableFuture<Decision>> calls = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      if (i % 100 == 0) {
        redis.command("SCRIPT", "FLUSH");
      }
      calls.add(limiter.async().spend(LIMIT, "a").toCompletableFuture());
    }
    long granted = calls.stream().map(CompletableFuture::join).filter(Decision::allowed).count();
    assertThat(granted).isEqualTo(Spending.BURST);
  }

  @Test
  void outOfMemory_isRefusedAndChecksGoOn() {
    assertThat(Spending.granted(limiter, "a", 10)).isEqualTo(10);
    redis.command("CONFIG", "SET", "maxmemory", "1");
    assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
        .hasMessageContaining("OOM")
        .hasMessageContaining("nothing was charged");
    assertThat(limiter.check(LIMIT, "a").remaining()).isEqualTo(Spending.BURST - 11);
    redis.command("CONFIG", "SET", "maxmemory", "0");
    assertThat(Spending.granted(limiter, "a", 300)).isEqualTo(Spending.BURST - 10);
  }

  @Test
  void readOnly_isRefusedAndTheServerLookedUpAnew() {
    redis.command("REPLICAOF", "127.0.0.1", "1");
    assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
        .hasMessageContaining("READONLY")
        .hasMessageContaining("nothing was charged");
    redis.command("REPLICAOF", "NO", "ONE");
    awaitDecisions();
    assertThat(Spending.granted(limiter, "a", 300)).isEqualTo(Spending.BURST);
  }

  @Test
  void noMoreClients_fails_andWorksWhenThereIsRoom() {
    store.close();
    await().until(() -> ("" + redis.command("CLIENT", "LIST")).lines().count() == 1); // who asks
    redis.command("CONFIG", "SET", "maxclients", "1");
    try (RedisStore other = open(redis.uri())) {
      await().ignoreExceptions().untilAsserted(other::ping); // the server still sees who asked last
      store = open(redis.uri());
      limiter = Limiter.of(Spending.LIMITS, store);
      states.clear();
      for (int i = 0; i < 3; i++) {
        within(
            TIMEOUT,
            () ->
                assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
                    .isInstanceOf(StoreException.class));
      }
      awaitStates(State.DOWN);
    }
    awaitDecisions();
    await().until(() -> states.contains(State.UP));
  }

  @Test
  void wrongPassword_fails_andSaysSo() {
    redis.command("CONFIG", "SET", "requirepass", "right");
    String wrong = "redis://:wrong@" + redis.address();
    try (RedisStore refused = open(wrong)) {
      // Now and then the client learns only that the connection was closed, not why.
      await()
          .untilAsserted(
              () ->
                  assertThatThrownBy(refused::ping)
                      .isInstanceOf(StoreException.class)
                      .hasMessageContaining("WRONGPASS")
                      .hasMessageNotContaining("wrong@"));
      assertThatThrownBy(() -> Limiter.of(Spending.LIMITS, refused).spend(LIMIT, "a"))
          .hasMessageContaining("nothing was charged");
    }
    try (RedisStore admitted =
        RedisStore.builder("redis://" + redis.address())
            .timeout(Duration.ofMinutes(1))
            .connectTimeout(Duration.ofMinutes(1))
            .credentials("default", "right")
            .open()) {
      assertThat(Limiter.of(Spending.LIMITS, admitted).spend(LIMIT, "a").allowed()).isTrue();
    }
  }

  @Test
  void forbiddenKey_hurtsNoNeighbour() {
    redis.command("ACL", "SETUSER", "app", "on", ">pw", "+@all", "~1:open*");
    try (RedisStore ours =
        RedisStore.builder("redis://app:pw@" + redis.address())
            .timeout(Duration.ofMinutes(1))
            .connectTimeout(Duration.ofMinutes(1)) // no time-out is tried here
            .denials(Duration.ZERO)
            .open()) {
      Limiter ourLimiter = Limiter.of(Spending.LIMITS, ours);
      List<CompletableFuture<Decision>> good = new ArrayList<>();
      List<CompletableFuture<Decision>> bad = new ArrayList<>();
      for (int i = 0; i < 90; i++) {
        good.add(ourLimiter.async().spend(LIMIT, "open").toCompletableFuture());
        bad.add(ourLimiter.async().spend(LIMIT, "secret").toCompletableFuture());
      }
      assertThat(good).allSatisfy(call -> assertThat(call.join().allowed()).isTrue());
      assertThat(bad)
          .allSatisfy(
              call -> assertThatThrownBy(call::join).hasMessageContaining("nothing was charged"));
    }
  }

  @Test
  void failureRules_decideWhileItIsGone() {
    Limiter ruled =
        Limiter.builder(new CurrentLimits(Spending.LIMITS), store)
            .onFailure(FailureRule.local(4))
            .onFailure("Other", FailureRule.deny())
            .build();
    assertThat(ruled.spend(LIMIT, "a").degraded()).isFalse();
    redis.kill();
    assertThat(Spending.granted(ruled, "a", 100)).isEqualTo(Spending.BURST / 4);
    Decision denied = ruled.spend("Other", "a");
    assertThat(denied.allowed()).isFalse();
    assertThat(denied.degraded()).isTrue();
    assertThat(denied.retryIn()).isEqualTo(Duration.ofSeconds(1));
    redis.startAgain();
    await().until(() -> !ruled.check(LIMIT, "a").degraded());
  }
}
