// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static dev.sluice.redis.Spending.within;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import dev.sluice.testkit.servers.RedisBinary;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several servers of which one breaks, or hands over. */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT) // each test has servers of its own
final class TopologyFaultsTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(4);
  private static final ExecutorService SPENDERS = Executors.newCachedThreadPool();

  @AfterAll
  static void stop() {
    SPENDERS.shutdownNow();
  }

  private static RedisStoreBuilder builder(String uri) {
    return RedisStore.builder(uri)
        .timeout(TIMEOUT)
        .failures(3)
        .probe(Duration.ofMillis(100))
        .denials(Duration.ZERO);
  }

  private static boolean decides(Limiter limiter, String id) {
    try {
      return limiter.check(LIMIT, id).remaining() >= 0;
    } catch (StoreException e) {
      return false;
    }
  }

  /** A limiter whose connections are made: on a busy machine that may take the whole time-out. */
  private static Limiter ready(RedisStore store, String... ids) {
    Limiter limiter = Limiter.of(Spending.LIMITS, store);
    awaitTrue(() -> Stream.of(ids).allMatch(id -> decides(limiter, id)));
    return limiter;
  }

  private static void awaitTrue(BooleanSupplier condition) {
    await().until(condition::getAsBoolean);
  }

  @Test
  void sentinel_masterFrozen_itsSuccessorTakesOverAndTheOldOneGivesOutNothing() {
    try (LocalSentinel group = TestServers.newSentinel();
        RedisStore store = builder(group.uri()).open()) {
      Limiter limiter = ready(store, "a");
      assertThat(Spending.granted(limiter, "a", 30)).isEqualTo(30);
      assertThat(group.first().command("WAIT", "1", "60000")).isEqualTo(1L);
      group.first().freeze();
      within(TIMEOUT, () -> assertThat(decides(limiter, "a")).isFalse());
      TestServers.takeForDeadAfter(Duration.ofMillis(500), group);
      group.awaitFailover();
      awaitTrue(() -> decides(limiter, "a"));
      assertThat(Spending.granted(limiter, "a", 200))
          .isBetween(Spending.BURST - 31, Spending.BURST - 30);
      group.first().thaw();
      assertThat(Spending.granted(limiter, "a", 50)).isZero();
    }
  }

  @Test
  void cluster_masterLost_itsReplicaGoesOnWhereItWas() {
    try (LocalCluster cluster = TestServers.newCluster(true);
        RedisStore store = builder(cluster.uri()).open()) {
      Limiter limiter = ready(store, idOn(0), idOn(1), idOn(2));
      assertTakenOver(cluster, limiter, LocalRedis::kill);
      assertThat(Spending.granted(limiter, idOn(1), 10)).isEqualTo(10);
    }
  }

  /** The first master is lost: callers see it by the time-out, its replica goes on where it was. */
  private static void assertTakenOver(
      LocalCluster cluster, Limiter limiter, Consumer<LocalRedis> loss) {
    String id = idOn(0);
    assertThat(Spending.granted(limiter, id, 30)).isEqualTo(30);
    await().until(() -> cluster.servers().get(3).command("DBSIZE").equals(1L));
    // The lost one too: a master that was frozen refuses its clients until it knows the others.
    TestServers.takeForDeadAfter(Duration.ofSeconds(1), cluster.servers().subList(0, 1));
    loss.accept(cluster.servers().get(0));
    within(TIMEOUT, () -> assertThat(decides(limiter, id)).isFalse());
    TestServers.takeForDeadAfter(
        Duration.ofSeconds(1), cluster.servers().subList(1, cluster.servers().size()));
    cluster.awaitFailover(0);
    awaitTrue(() -> decides(limiter, id));
    assertThat(Spending.granted(limiter, id, 200))
        .isBetween(Spending.BURST - 31, Spending.BURST - 30);
  }

  @Test
  void cluster_masterFrozen_itsReplicaTakesOverAndTheOldOneGivesOutNothing() {
    try (LocalCluster cluster = TestServers.newCluster(true);
        RedisStore store = builder(cluster.uri()).open()) {
      Limiter limiter = ready(store, idOn(0), idOn(1), idOn(2));
      assertTakenOver(cluster, limiter, LocalRedis::freeze);
      cluster.servers().get(0).thaw();
      assertThat(Spending.granted(limiter, idOn(0), 50)).isZero();
    }
  }

  /** Asks again and again until it was given what it wants. */
  private static void spendUntil(Limiter limiter, String id, int wanted, Tally tally) {
    for (int got = 0; got < wanted; ) {
      try {
        assertThat(limiter.spend(LIMIT, id).allowed()).isTrue();
        tally.granted.incrementAndGet();
        got++;
      } catch (StoreException e) {
        tally.failed(String.valueOf(e.getMessage()));
        LockSupport.parkNanos(1_000_000); // a server that is marked down refuses at once
      }
    }
  }

  /** What callers were told. */
  private static final class Tally {
    private final AtomicInteger granted = new AtomicInteger();
    private final AtomicInteger unknown = new AtomicInteger();

    void failed(String message) {
      if (message.contains("unknown")) {
        unknown.incrementAndGet();
      } else {
        assertThat(message).contains("nothing was charged");
      }
    }

    /** Each token that is missing is one that somebody was given, or may have been. */
    void explains(Limiter limiter, String id) {
      long missing = Spending.BURST - limiter.check(LIMIT, id, 0).remaining();
      assertThat(missing).isBetween((long) granted.get(), (long) granted.get() + unknown.get());
    }
  }

  private static CompletableFuture<Void> spenders(Limiter limiter, String id, Tally tally) {
    return CompletableFuture.allOf(
        IntStream.range(0, 4)
            .mapToObj(
                i -> CompletableFuture.runAsync(() -> spendUntil(limiter, id, 10, tally), SPENDERS))
            .toArray(CompletableFuture[]::new));
  }

  /**
   * The old master lives, is a replica by now, and clients still talk to it: a Sentinel that has
   * not noticed leaves their connections alone.
   */
  @Test
  void sentinel_masterDemotedUnderItsClients_refusesAndItsSuccessorGoesOnWhereItWas() {
    try (LocalSentinel group = TestServers.newSentinel();
        RedisStore store = builder(group.uri()).timeout(Duration.ofSeconds(5)).open()) {
      Limiter limiter = ready(store, "a");
      Tally tally = new Tally();
      spendUntil(limiter, "a", 20, tally);
      group.sentinel().freeze(); // it would notice within a second, and close the connections
      group.first().command("FAILOVER"); // waits for its replica, and changes places with it
      group.awaitFailover();
      assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
          .hasMessageContaining("READONLY")
          .hasMessageContaining("nothing was charged");
      group.sentinel().thaw();
      CompletableFuture<Void> spending = spenders(limiter, "a", tally);
      group.failOver(); // it notices
      spending.orTimeout(2, TimeUnit.MINUTES).join(); // late by two seconds, it rests for thirty
      assertThat(tally.granted).hasValue(60);
      tally.explains(limiter, "a");
    }
  }

  /**
   * The first Sentinel freezes before the failover: its connection stays open, and says nothing.
   */
  @Test
  void sentinel_firstOneSilent_theSuccessorIsFoundByTheSecond() throws Exception {
    try (LocalSentinel group = TestServers.newSentinel();
        Relay first = new Relay()) {
      first.to(group.sentinel().port());
      String hosts = "127.0.0.1:" + first.port() + "," + group.sentinel().address();
      try (RedisStore store = builder("redis-sentinel://" + hosts + "/0#mymaster").open()) {
        Limiter limiter = ready(store, "a");
        first.freeze();
        group.failOver();
        awaitTrue(() -> decides(limiter, "a") && runsTheScript(group.second()));
      }
    }
  }

  /** It accepts the connection, and does not answer the greeting. */
  @Test
  void sentinel_firstOneSilentFromTheStart_theSecondIsAsked() throws Exception {
    try (LocalSentinel group = TestServers.newSentinel();
        Relay first = new Relay()) {
      first.to(group.sentinel().port());
      first.freeze();
      String hosts = "127.0.0.1:" + first.port() + "," + group.sentinel().address();
      try (RedisStore store = builder("redis-sentinel://" + hosts + "/0#mymaster").open()) {
        assertThat(decides(ready(store, "a"), "a")).isTrue();
      }
    }
  }

  /** The Sentinel ends, and its machine says nothing to those who connect again. */
  @Test
  void sentinel_askedOneEndedAndSilentSince_theSuccessorIsFoundByAnotherInTime() throws Exception {
    try (LocalSentinel group = TestServers.newSentinel();
        Relay first = new Relay();
        Relay second = new Relay()) {
      first.to(group.sentinel().port());
      second.to(group.sentinel().port());
      String address =
          "redis-sentinel://127.0.0.1:%s,127.0.0.1:%s/0?connectTimeout=30s#mymaster"
              .formatted(first.port(), second.port());
      try (RedisStore store = builder(address).open()) {
        Limiter limiter = ready(store, "a");
        Relay asked = second.isUsed() ? second : first; // the first is left if it begins slowly
        asked.freeze();
        asked.cut();
        group.failOver();
        group.awaitFailover();
        await()
            .atMost(Duration.ofSeconds(15)) // half of what connecting to one may take
            .until(() -> decides(limiter, "a") && runsTheScript(group.second()));
      }
    }
  }

  private static boolean runsTheScript(LocalRedis server) {
    try {
      return String.valueOf(server.command("INFO", "commandstats")).contains("cmdstat_evalsha:");
    } catch (IllegalStateException e) {
      return false; // the Sentinel cuts the connections to a server that it promotes
    }
  }

  @Test
  void cluster_masterDemotedUnderItsClients_itsSuccessorGoesOnWhereItWas() {
    try (LocalCluster cluster = TestServers.newCluster(true);
        RedisStore store = builder(cluster.uri()).timeout(Duration.ofSeconds(5)).open()) {
      String id = idOn(0);
      Limiter limiter = ready(store, id);
      Tally tally = new Tally();
      CompletableFuture<Void> spending = spenders(limiter, id, tally);
      cluster.servers().get(3).command("CLUSTER", "FAILOVER");
      spending.orTimeout(60, TimeUnit.SECONDS).join();
      cluster.awaitFailover(0);
      spendUntil(limiter, id, 20, tally);
      assertThat(tally.granted).hasValue(60);
      tally.explains(limiter, id);
    }
  }

  /** The firewall between forgets the connections: nobody says so, and new ones would work. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void connections_thatLeadNowhere_areGivenUpForNewOnes(boolean cluster) throws Exception {
    try (Relay relay = new Relay();
        LocalRedis redis =
            LocalRedis.start(
                RedisBinary.bundled(),
                cluster
                    ? new String[] {
                      "--cluster-enabled", "yes", "--cluster-announce-port", "" + relay.port()
                    }
                    : new String[0])) {
      relay.to(redis.port());
      if (cluster) {
        List<String> words = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
        IntStream.range(0, SlotHash.SLOT_COUNT).forEach(slot -> words.add("" + slot));
        redis.command(words.toArray(String[]::new));
        awaitTrue(
            () -> String.valueOf(redis.command("CLUSTER", "INFO")).contains("cluster_state:ok"));
      }
      String uri = (cluster ? "redis-cluster" : "redis") + "://127.0.0.1:" + relay.port();
      // One lost call is enough: how many calls are lost does not change how a connection is given
      // up, and each takes the whole time-out.
      try (RedisStore store = builder(uri).failures(1).open()) {
        Limiter limiter = ready(store, "a", "b");
        for (int i = 1; i <= 3; i++) {
          assertThat(Spending.granted(limiter, "a", 10)).isEqualTo(10);
          relay.forget();
          within(TIMEOUT, () -> assertThat(decides(limiter, "a")).isFalse());
          awaitTrue(() -> decides(limiter, "a"));
          assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST - 10 * i);
        }
      }
    }
  }

  /** An id whose bucket is on a master, by its number. */
  private static String idOn(int master) {
    return IntStream.range(0, 10_000)
        .mapToObj(i -> "id" + i)
        .filter(id -> SlotHash.getSlot("1:" + id) * 3 / SlotHash.SLOT_COUNT == master)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void cluster_slotMovedWhileInUse_givesOutTheLimit() {
    try (LocalCluster cluster = TestServers.newCluster(false);
        RedisStore store =
            builder(cluster.uri())
                .timeout(Duration.ofMinutes(1))
                .connectTimeout(Duration.ofMinutes(1))
                .tag(HashTag.ID)
                .open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      String id = "moved";
      int slot = SlotHash.getSlot("1:{" + id + "}");
      LocalRedis from = cluster.servers().get(slot * 3 / SlotHash.SLOT_COUNT);
      LocalRedis to = cluster.servers().get((slot * 3 / SlotHash.SLOT_COUNT + 1) % 3);
      assertThat(spendBoth(limiter, id).allowed()).isTrue();
      to.command("CLUSTER", "SETSLOT", "" + slot, "IMPORTING", cluster.id(from));
      from.command("CLUSTER", "SETSLOT", "" + slot, "MIGRATING", cluster.id(to));
      assertThat(spendBoth(limiter, id).allowed()).isTrue(); // both keys are still here
      migrate(from, to, "1:{" + id + "}");
      assertThat(limiter.spend(LIMIT, id).allowed()).isTrue(); // ASK: it is over there
      // One key here, one there: TRYAGAIN until the other one is moved as well.
      CompletableFuture<Decision> split =
          limiter
              .async()
              .spend(List.of(limiter.transaction(LIMIT, id), limiter.transaction("Other", id)))
              .toCompletableFuture();
      migrate(from, to, "2:{" + id + "}");
      assertThat(split.join().allowed()).isTrue();
      for (LocalRedis server : cluster.servers()) {
        server.command("CLUSTER", "SETSLOT", "" + slot, "NODE", cluster.id(to));
      }
      // MOVED from here on. Four were spent.
      assertThat(Spending.granted(limiter, id, 200)).isEqualTo(Spending.BURST - 4);
    }
  }

  private static Decision spendBoth(Limiter limiter, String id) {
    return limiter.spend(List.of(limiter.transaction(LIMIT, id), limiter.transaction("Other", id)));
  }

  private static void migrate(LocalRedis from, LocalRedis to, String key) {
    from.command("MIGRATE", "127.0.0.1", "" + to.port(), key, "0", "60000");
  }

  @Test
  void ring_serverLostAndBack_itsKeysFailAndTheOthersDont() {
    List<LocalRedis> servers =
        Stream.generate(
                () ->
                    LocalRedis.start(
                        RedisBinary.bundled(), "--appendonly", "yes", "--appendfsync", "always"))
            .limit(3)
            .toList();
    String uri =
        "redis-ring://" + String.join(",", servers.stream().map(LocalRedis::address).toList());
    try (RedisStore store = builder(uri).open()) {
      Limiter limiter =
          ready(store, IntStream.range(0, 60).mapToObj(i -> "id" + i).toArray(String[]::new));
      List<String> ids = IntStream.range(0, 60).mapToObj(i -> "id" + i).toList();
      ids.forEach(id -> assertThat(Spending.granted(limiter, id, 1)).isEqualTo(1));
      servers.get(0).kill();
      List<String> lost = new ArrayList<>();
      for (String id : ids) {
        within(
            TIMEOUT,
            () -> {
              if (!decides(limiter, id)) {
                lost.add(id);
              }
            });
      }
      assertThat(lost).hasSizeBetween(5, 40);
      assertThatThrownBy(store::ping).hasMessageContaining(servers.get(0).address());
      // A batch over a lost and a sound server takes nothing that it does not give back.
      String sound = ids.stream().filter(id -> !lost.contains(id)).findFirst().orElseThrow();
      assertThatThrownBy(
              () ->
                  limiter.spend(
                      List.of(
                          limiter.transaction(LIMIT, sound).withCost(50),
                          limiter.transaction(LIMIT, lost.get(0)))))
          .isInstanceOf(StoreException.class);
      assertThat(limiter.check(LIMIT, sound, 0).remaining()).isEqualTo(Spending.BURST - 1);
      servers.get(0).startAgain();
      awaitTrue(() -> lost.stream().allMatch(id -> decides(limiter, id)));
      ids.forEach(
          id -> assertThat(limiter.check(LIMIT, id, 0).remaining()).isEqualTo(Spending.BURST - 1));
    } finally {
      servers.forEach(LocalRedis::close);
    }
  }
}
