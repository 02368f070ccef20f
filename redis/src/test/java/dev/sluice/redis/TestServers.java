// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.store.TimeSource;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** Servers that all tests share, since none of them breaks them; each started when first needed. */
final class TestServers {

  private static final AtomicLong PREFIXES = new AtomicLong();

  private TestServers() {}

  static String single() {
    return Single.SERVER.uri();
  }

  static LocalRedis singleServer() {
    return Single.SERVER;
  }

  static String newestSingle() {
    return NewestSingle.SERVER.uri();
  }

  static String sentinel() {
    return Sentinel.GROUP.uri();
  }

  static String cluster() {
    return Cluster.CLUSTER.uri();
  }

  static String ring() {
    return "redis-ring://"
        + String.join(",", Ring.SERVERS.stream().map(LocalRedis::address).toList());
  }

  static List<LocalRedis> ringServers() {
    return Ring.SERVERS;
  }

  /** A store without buckets: its keys have a prefix that no other has. */
  static RedisStoreBuilder fresh(String uri) {
    return RedisStore.builder(uri)
        .timeout(Duration.ofMinutes(1)) // the machine may be busy; no test waits for it
        .connectTimeout(Duration.ofMinutes(1))
        .prefix("t" + PREFIXES.incrementAndGet() + "-");
  }

  static RedisStoreBuilder fresh(String uri, TimeSource time) {
    return fresh(uri).clock(time).skew(Duration.ZERO);
  }

  /** A Redis Cluster none of whose servers takes another for dead, however busy the machine is. */
  static LocalCluster newCluster(boolean replicas) {
    LocalCluster cluster = LocalCluster.start(RedisBinary.bundled(), replicas);
    takeForDeadAfter(Duration.ofMinutes(5), cluster.servers());
    return cluster;
  }

  /** How long another server of a Cluster must be silent until these servers take it for dead. */
  static void takeForDeadAfter(Duration silence, List<LocalRedis> servers) {
    servers.forEach(
        server -> server.command("CONFIG", "SET", "cluster-node-timeout", "" + silence.toMillis()));
  }

  /** A group whose Sentinel takes no server for dead, however busy the machine is. */
  static LocalSentinel newSentinel() {
    return withoutFailover(LocalSentinel.start(RedisBinary.bundled()));
  }

  static LocalSentinel withoutFailover(LocalSentinel group) {
    takeForDeadAfter(Duration.ofMinutes(5), group);
    return group;
  }

  /** How long a server must be silent until the Sentinel takes it for dead. */
  static void takeForDeadAfter(Duration silence, LocalSentinel group) {
    group
        .sentinel()
        .command("SENTINEL", "SET", "mymaster", "down-after-milliseconds", "" + silence.toMillis());
  }

  private static final class Single {
    static final LocalRedis SERVER = LocalRedis.start(RedisBinary.bundled());
  }

  private static final class NewestSingle {
    static final LocalRedis SERVER = LocalRedis.start(RedisBinary.newest());
  }

  private static final class Sentinel {
    static final LocalSentinel GROUP = newSentinel();
  }

  private static final class Cluster {
    static final LocalCluster CLUSTER = newCluster(false);
  }

  private static final class Ring {
    static final List<LocalRedis> SERVERS =
        Stream.generate(() -> LocalRedis.start(RedisBinary.bundled())).limit(3).toList();
  }

  /**
   * When a key ends, by a server's own clock.
   *
   * @param fromMillis the earliest moment that is possible, in milliseconds since the epoch
   * @param toMillis the latest: the server may stand still between two commands of this class
   */
  record End(long fromMillis, long toMillis) {

    static End of(LocalRedis server, String key) {
      long before = timeMillis(server);
      long left = Long.parseLong(String.valueOf(server.command("PTTL", key)));
      return new End(before + left, timeMillis(server) + left);
    }

    private static long timeMillis(LocalRedis server) {
      List<?> time = (List<?>) Objects.requireNonNull(server.command("TIME"));
      long micros = Long.parseLong(String.valueOf(time.get(1)));
      return Long.parseLong(String.valueOf(time.get(0))) * 1_000 + micros / 1_000;
    }

    /** Whether both may be the same moment. */
    boolean meets(End other) {
      return fromMillis <= other.toMillis && other.fromMillis <= toMillis;
    }
  }
}
