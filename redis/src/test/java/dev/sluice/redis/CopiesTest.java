// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What else a server makes of a bucket: a replica, the file of its commands, and that file written
 * anew. Each has the same TAT and the same end, however late it was made.
 */
@Tag("slow")
final class CopiesTest {

  private static final String LIMIT = "Orders";
  private static final Limits LIMITS =
      Limits.builder(Catalogue.of(LimitName.builder(3, LIMIT).id(IdFormat.string()).build()))
          .limit(LIMIT, Quota.per(20, Duration.ofMinutes(10)))
          .build();
  private static final List<String> KEYS = List.of("3:once", "3:twice", "3:back", "3:batch");

  private LocalRedis master;
  private LocalRedis replica;

  @BeforeEach
  void start() {
    master =
        LocalRedis.start(RedisBinary.bundled(), "--appendonly", "yes", "--appendfsync", "always");
    replica =
        LocalRedis.start(RedisBinary.bundled(), "--replicaof", "127.0.0.1", "" + master.port());
    await().until(() -> info(replica, "replication").contains("master_link_status:up"));
  }

  @AfterEach
  void stop() {
    replica.close();
    master.close();
  }

  private static String info(LocalRedis server, String section) {
    return String.valueOf(server.command("INFO", section));
  }

  /** The TAT of a bucket, and when its key ends. */
  private record Bucket(String tat, TestServers.End end) {}

  private static Map<String, Bucket> buckets(LocalRedis server) {
    Map<String, Bucket> buckets = new LinkedHashMap<>();
    for (String key : KEYS) {
      String tat = String.valueOf(server.command("GET", key));
      buckets.put(key, new Bucket(tat, TestServers.End.of(server, key)));
    }
    return buckets;
  }

  private static void assertSame(
      Map<String, Bucket> copy, Map<String, Bucket> original, long lagMillis) {
    for (String key : KEYS) {
      assertThat(copy.get(key).tat()).as(key).isEqualTo(original.get(key).tat());
      TestServers.End first = original.get(key).end();
      TestServers.End later = new TestServers.End(first.fromMillis(), first.toMillis() + lagMillis);
      TestServers.End end = copy.get(key).end();
      assertThat(end.meets(later)).as("%s: %s, expected %s", key, end, later).isTrue();
    }
  }

  private static void spend(RedisStore store) {
    Limiter limiter = Limiter.of(LIMITS, store);
    assertThat(limiter.spend(LIMIT, "once", 3).allowed()).isTrue();
    assertThat(limiter.spend(LIMIT, "twice", 19).allowed()).isTrue();
    assertThat(limiter.spend(LIMIT, "twice").allowed()).isTrue();
    assertThat(limiter.spend(LIMIT, "twice").allowed()).isFalse();
    assertThat(limiter.spend(LIMIT, "back", 9).allowed()).isTrue();
    assertThat(limiter.refund(LIMIT, "back", 2).allowed()).isTrue();
    assertThat(
            limiter
                .spend(
                    List.of(
                        limiter.transaction(LIMIT, "batch"),
                        limiter.transaction(LIMIT, "back").withCost(4)))
                .allowed())
        .isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"server", "client"})
  void replica_reload_andRewrite_haveTheSameTatAndEnd(String clock) throws Exception {
    RedisStoreBuilder builder = TestServers.fresh(master.uri()).prefix("");
    if (clock.equals("client")) {
      builder.clock(TimeSource.system());
    }
    Map<String, Bucket> original;
    long lagMillis;
    try (RedisStore store = builder.open()) {
      long start = System.nanoTime();
      spend(store);
      original = buckets(master);
      assertThat(original.get("3:twice").end().fromMillis())
          .isGreaterThan(System.currentTimeMillis() + 500_000);
      assertThat(master.command("WAIT", "1", "60000")).isEqualTo(1L);
      // By a client's clock, Redis 6 sends its replica and its file the time that is left.
      long wait = Duration.ofNanos(System.nanoTime() - start).toMillis() + 1;
      lagMillis = clock.equals("client") ? wait : 0;
      TimeUnit.SECONDS.sleep(2); // by which a copy that counts anew from its own present is late
    }
    assertSame(buckets(replica), original, lagMillis);

    assertThat(master.command("DEBUG", "LOADAOF")).isEqualTo("OK");
    assertSame(buckets(master), original, lagMillis);

    var unused = master.command("BGREWRITEAOF");
    await().until(() -> info(master, "persistence").contains("aof_rewrite_in_progress:0"));
    assertThat(master.command("DEBUG", "LOADAOF")).isEqualTo("OK");
    assertSame(buckets(master), original, lagMillis);

    assertThat(master.command("DEBUG", "RELOAD")).isEqualTo("OK");
    assertSame(buckets(master), original, lagMillis);
  }
}
