// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The list of the processes that use a store, on every arrangement of servers. */
@Tag("slow")
final class RollTest {

  private static final Duration LONG = Duration.ofMinutes(1);

  private static BucketStore open(String uri, String prefix) {
    return RedisStore.builder(uri)
        .prefix(prefix)
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1))
        .open();
  }

  @ParameterizedTest
  @EnumSource(TopologyContractTest.Servers.class)
  void processes_seeEachOther_untilTheyLeave_andNoneWithAnotherPrefix(
      TopologyContractTest.Servers servers) {
    String prefix = "roll-" + servers.name().toLowerCase(Locale.ROOT) + ":";
    try (BucketStore one = open(servers.uri(), prefix);
        BucketStore two = open(servers.uri(), prefix);
        BucketStore other = open(servers.uri(), "x" + prefix)) {
      Presence roll = two.presence().orElseThrow();
      assertThat(one.presence().orElseThrow().announce("a:1 é", LONG)).containsExactly("a:1 é");
      assertThat(roll.announce("b:2 x", LONG)).containsExactlyInAnyOrder("a:1 é", "b:2 x");
      assertThat(roll.announce("b:2 x", LONG)).containsExactlyInAnyOrder("a:1 é", "b:2 x");
      assertThat(other.presence().orElseThrow().announce("c", LONG)).containsExactly("c");
      assertThat(roll.announce("b:2 x", Duration.ZERO)).containsExactly("a:1 é");
      assertThat(one.presence().orElseThrow().announce("a:1 é", Duration.ZERO)).isEmpty();
    }
  }

  @Test
  void processThatIsSilent_leavesTheListByTime_andTheKeyExpires() {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        BucketStore store = open(redis.uri(), "p:")) {
      Presence roll = store.presence().orElseThrow();
      assertThat(roll.announce("brief", Duration.ofMillis(200))).hasSize(1);
      await()
          .untilAsserted(
              () -> assertThat(roll.announce("lasting", LONG)).containsExactly("lasting"));
      assertThat((Long) redis.command("PTTL", "p:0:servers")).isBetween(1L, LONG.toMillis());
      assertThat(store.someKeys(10, LONG).orElseThrow()).containsExactly("0:servers");
    }
  }

  @Test
  void linesThatEndTooLate_orAreGarbage_areDropped() {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        BucketStore store = open(redis.uri(), "p:")) {
      Presence roll = store.presence().orElseThrow();
      long now = System.currentTimeMillis();
      String late = (now + Duration.ofHours(1).toMillis()) + " late";
      redis.command("SET", "p:0:servers", late + "\n" + "9".repeat(400) + " never\nwhat\n-1 no");
      assertThat(roll.announce("a", LONG)).containsExactly("a");
      assertThat(redis.command("GET", "p:0:servers").toString()).doesNotContain("late", "never");
      assertThatThrownBy(() -> roll.announce("a", LONG.plusMillis(1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("found the time PT1M0.001S, expected at most PT1M");
    }
  }

  @Test
  void aclOfTheBuckets_suffices() {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      redis.command(
          "ACL",
          "SETUSER",
          "sluice",
          "on",
          ">pw",
          "~*",
          "+evalsha",
          "+eval",
          "+get",
          "+set",
          "+del",
          "+time",
          "+ping");
      String uri = "redis://sluice:pw@" + redis.address() + "/0";
      try (BucketStore store = open(uri, "")) {
        assertThat(store.presence().orElseThrow().announce("a", LONG)).containsExactly("a");
      }
    }
  }

  @Test
  void serverThatIsGone_orHasAnotherValueThere_isAStoreException() {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled());
        BucketStore store = open(redis.uri(), "")) {
      Presence roll = store.presence().orElseThrow();
      redis.command("LPUSH", "0:servers", "x");
      assertThatThrownBy(() -> roll.announce("a", LONG))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("the list of processes cannot be read")
          .hasMessageContaining("WRONGTYPE");
      redis.kill();
      assertThatThrownBy(() -> roll.announce("a", LONG)).isInstanceOf(StoreException.class);
    }
  }

  @Test
  void failure_isExplainedByItsCause() {
    try (BucketStore store = open("redis://127.0.0.1:1", "")) {
      Presence roll = store.presence().orElseThrow();
      assertThatThrownBy(() -> roll.announce("a", LONG))
          .hasMessageContaining("the list of processes cannot be read: connection refused");
      assertThatThrownBy(() -> store.someKeys(1, LONG))
          .hasMessageContaining("the keys cannot be listed: connection refused");
    }
  }

  @Test
  void ringThatLostAServer_keepsTheListOfTheOthers() {
    try (LocalRedis lost = LocalRedis.start(RedisBinary.bundled());
        LocalRedis left = LocalRedis.start(RedisBinary.bundled())) {
      String ring = "redis-ring://" + lost.address() + "," + left.address();
      try (BucketStore one = open(ring, "");
          BucketStore two = open(ring, "")) {
        assertThat(one.presence().orElseThrow().announce("a", LONG)).hasSize(1);
        lost.kill();
        assertThat(two.presence().orElseThrow().announce("b", LONG))
            .containsExactlyInAnyOrder("a", "b");
      }
    }
  }

  @Test
  void clientsClocks_andMemory_haveNoList() {
    try (BucketStore byClients =
            RedisStore.builder(TestServers.single()).clock(TimeSource.system()).open();
        BucketStore memory = BucketStore.inMemory()) {
      assertThat(byClients.presence()).isEmpty();
      assertThat(memory.presence()).isEmpty();
    }
  }
}
