// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.redis.RedisStoreBuilder.Protocol;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who logs in, and what it must be allowed: the list that the documentation gives. */
@Tag("slow")
final class LoginTest {

  /** As in docs/stores.md. */
  private static final List<String> NEEDED =
      List.of("+evalsha", "+eval", "+get", "+set", "+del", "+time", "+ping");

  private static final List<String> NEEDED_IN_A_CLUSTER =
      List.of("+cluster|slots", "+cluster|nodes");

  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());

  @AfterEach
  void stop() {
    redis.close();
  }

  private static void allow(LocalRedis server, List<String> rules) {
    List<String> words =
        new ArrayList<>(List.of("ACL", "SETUSER", "app", "reset", "on", ">p@ss", "~rl:*"));
    words.addAll(rules);
    server.command(words.toArray(new String[0]));
  }

  private RedisStoreBuilder builder(String database) {
    return RedisStore.builder("redis://app:p%40ss@" + redis.address() + database)
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1))
        .denials(Duration.ZERO)
        .prefix("rl:");
  }

  private static void doEverything(RedisStore store) {
    store.ping();
    Limiter limiter = Limiter.of(Spending.LIMITS, store);
    assertThat(Spending.granted(limiter, "a", 3)).isEqualTo(3);
    assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST - 3);
    limiter.refund(LIMIT, "a");
    assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST - 2);
    limiter.reset(LIMIT, "a");
    assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST);
  }

  @ParameterizedTest
  @EnumSource(Protocol.class)
  void userWithTheListAndNothingElse_canDoEverything(Protocol protocol) {
    allow(redis, NEEDED);
    try (RedisStore store = builder("/0").protocol(protocol).open()) {
      doEverything(store);
      redis.command("SCRIPT", "FLUSH");
      doEverything(store);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"+evalsha", "+eval", "+get", "+set", "+del", "+time", "+ping"})
  void userWithoutOneOfTheList_isRefusedSomething(String missing) {
    allow(redis, NEEDED.stream().filter(rule -> !rule.equals(missing)).toList());
    try (RedisStore store = builder("/0").open()) {
      assertThatThrownBy(() -> doEverything(store))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining(" run "); // "can't run", "no permissions to run"
    }
  }

  /** Without DEL a reset is refused; what stands before it in its batch was charged by then. */
  @Test
  void partOfABatchRefused_saysThatNothingWasCharged_onlyWhereThatIsCertain() {
    allow(redis, NEEDED.stream().filter(rule -> !rule.equals("+del")).toList());
    try (RedisStore store = builder("/0").open()) {
      Charge reset = Charges.reset("1:b").get(0);
      var unused = store.charge(Charges.spend("1:b"));
      assertThatThrownBy(() -> store.charge(List.of(reset)))
          .hasMessageContaining("nothing was charged");
      assertThatThrownBy(() -> store.charge(List.of(Charges.spend("1:a").get(0), reset)))
          .hasMessageContaining("rejected a part of the batch after it had charged another")
          .hasMessageNotContaining("nothing was charged");
      assertThat(redis.command("EXISTS", "rl:1:a")).isEqualTo(1L);
    }
  }

  @Test
  void otherDatabase_andClientName_needTheirCommands() {
    allow(redis, Stream.concat(NEEDED.stream(), Stream.of("+select", "+client|setname")).toList());
    try (RedisStore store = builder("/3").clientName("front-17").open()) {
      doEverything(store);
      assertThat(Limiter.of(Spending.LIMITS, store).spend(LIMIT, "a").allowed()).isTrue();
      assertThat(redis.command("INFO", "keyspace")).asString().contains("db3:keys=1");
      assertThat(redis.command("CLIENT", "LIST"))
          .asString()
          .contains("name=front-17")
          .contains("user=app");
    }
  }

  @Test
  void cluster_userWithTheListAndNothingElse_canDoEverything() {
    try (LocalCluster cluster = TestServers.newCluster(false)) {
      List<String> rules = Stream.concat(NEEDED.stream(), NEEDED_IN_A_CLUSTER.stream()).toList();
      cluster.servers().forEach(server -> allow(server, rules));
      String hosts = String.join(",", cluster.servers().stream().map(LocalRedis::address).toList());
      try (RedisStore store =
          RedisStore.builder("redis-cluster://app:p%40ss@" + hosts)
              .timeout(Duration.ofMinutes(1))
              .connectTimeout(Duration.ofMinutes(1))
              .prefix("rl:")
              .open()) {
        doEverything(store);
      }
    }
  }

  private static RedisStoreBuilder behind(LocalSentinel group, String login, String options) {
    return RedisStore.builder(
            "redis-sentinel://%s@%s/0?%s#mymaster"
                .formatted(login, group.sentinel().address(), options))
        .timeout(Duration.ofSeconds(20))
        .connectTimeout(Duration.ofSeconds(20))
        .prefix("rl:")
        .denials(Duration.ZERO);
  }

  @Test
  void sentinelWithAPasswordOfItsOwn_getsItsOwn_andTheMasterAnother() {
    try (LocalSentinel group =
        TestServers.withoutFailover(
            LocalSentinel.start(RedisBinary.bundled(), "of-the-master", "of-the-sentinel"))) {
      try (RedisStore store =
          behind(group, ":of-the-master", "sentinelPassword=of-the-sentinel").open()) {
        doEverything(store);
        group.first().kill();
        TestServers.takeForDeadAfter(Duration.ofMillis(500), group);
        group.awaitFailover();
        await()
            .ignoreExceptions()
            .untilAsserted(
                () -> {
                  Limiter.of(Spending.LIMITS, store).reset(LIMIT, "a"); // of an attempt that failed
                  doEverything(store);
                });
      }
      // The same in Java, and as users of an ACL.
      allow(group.second(), NEEDED);
      group
          .sentinel()
          .command(
              "ACL", "SETUSER", "watcher", "on", ">w@tch", "+sentinel|get-master-addr-by-name");
      try (RedisStore store =
          behind(group, "app:p%40ss", "timeout=20s")
              .sentinelUser("watcher")
              .sentinelPassword("w@tch")
              .open()) {
        doEverything(store);
      }
      try (RedisStore store =
          behind(group, "app:p%40ss", "sentinelUser=watcher&sentinelPassword=w%40tch").open()) {
        doEverything(store);
      }
      isRefused(behind(group, ":of-the-master", "sentinelPassword=of-the-master"), "WRONGPASS");
      isRefused(behind(group, ":of-the-master", "timeout=20s"), "NOAUTH");
      isRefused(behind(group, ":of-the-sentinel", "sentinelPassword=of-the-sentinel"), "WRONGPASS");
    }
  }

  private static void isRefused(RedisStoreBuilder builder, String words) {
    try (RedisStore store = builder.open()) {
      // Now and then the client learns only that the connection was closed, not why.
      await()
          .untilAsserted(
              () ->
                  assertThatThrownBy(store::ping)
                      .isInstanceOf(StoreException.class)
                      .hasMessageContaining(words)
                      .hasMessageNotContaining("of-the"));
    }
  }

  @Test
  void userWhoIsUnknown_isRefused() {
    try (RedisStore store = builder("/0").open()) {
      // Now and then the client learns only that the connection was closed, not why.
      await()
          .untilAsserted(
              () ->
                  assertThatThrownBy(store::ping)
                      .isInstanceOf(StoreException.class)
                      .hasMessageContaining("WRONGPASS")
                      .hasMessageNotContaining("p@ss"));
    }
  }
}
