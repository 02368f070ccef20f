// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.store.TimeSource;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import dev.sluice.testkit.servers.RedisBinary;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** Servers that all tests share, since none of them breaks them; each started when first needed. */
final class TestServers {

  private static final AtomicLong PREFIXES = new AtomicLong();

  private TestServers() {}

  static URI single() {
    return Single.SERVER.uri();
  }

  static LocalRedis singleServer() {
    return Single.SERVER;
  }

  static URI newestSingle() {
    return NewestSingle.SERVER.uri();
  }

  static URI sentinel() {
    return Sentinel.GROUP.uri();
  }

  static URI cluster() {
    return Cluster.CLUSTER.uri();
  }

  static URI ring() {
    return URI.create(
        "redis-ring://"
            + String.join(",", Ring.SERVERS.stream().map(LocalRedis::address).toList()));
  }

  static List<LocalRedis> ringServers() {
    return Ring.SERVERS;
  }

  /** A store without buckets: its keys have a prefix that no other has. */
  static RedisStoreBuilder fresh(URI uri) {
    return RedisStore.builder(uri)
        .timeout(Duration.ofMinutes(1)) // the machine may be busy; no test waits for it
        .connectTimeout(Duration.ofMinutes(1))
        .prefix("t" + PREFIXES.incrementAndGet() + "-");
  }

  static RedisStoreBuilder fresh(URI uri, TimeSource time) {
    return fresh(uri).clock(time).skew(Duration.ZERO);
  }

  private static final class Single {
    static final LocalRedis SERVER = LocalRedis.start(RedisBinary.bundled());
  }

  private static final class NewestSingle {
    static final LocalRedis SERVER = LocalRedis.start(RedisBinary.newest());
  }

  private static final class Sentinel {
    static final LocalSentinel GROUP = LocalSentinel.start(RedisBinary.bundled());
  }

  private static final class Cluster {
    static final LocalCluster CLUSTER = LocalCluster.start(RedisBinary.bundled(), false);
  }

  private static final class Ring {
    static final List<LocalRedis> SERVERS =
        Stream.generate(() -> LocalRedis.start(RedisBinary.bundled())).limit(3).toList();
  }

  /** By a server's own clock, when a key ends; milliseconds since the epoch. */
  static long endMillis(LocalRedis server, String key) {
    String script =
        "local t = redis.call('TIME') return redis.call('PTTL', KEYS[1])"
            + " + t[1] * 1000 + math.floor(t[2] / 1000)";
    return Long.parseLong(String.valueOf(server.command("EVAL", script, "1", key)));
  }
}
