// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Redis master, its replica, and a Sentinel that watches both servers, for tests. Not
 * thread-safe. Methods block like the methods of {@link LocalRedis}.
 */
public final class LocalSentinel implements AutoCloseable {

  private final LocalRedis first;
  private final LocalRedis second;
  private final LocalRedis sentinel;

  private LocalSentinel(LocalRedis first, LocalRedis second, LocalRedis sentinel) {
    this.first = first;
    this.second = second;
    this.sentinel = sentinel;
  }

  /**
   * Starts the three servers.
   *
   * @param binary the path of the server program, see {@link RedisBinary}
   * @return the group, after the replica and the Sentinel have connected
   */
  public static LocalSentinel start(Path binary) {
    return start(binary, List.of(), null, List.of());
  }

  /**
   * Starts the three servers with passwords.
   *
   * @param binary the path of the server program, see {@link RedisBinary}
   * @param password the password of the master and its replica
   * @param sentinelPassword the password of the Sentinel
   * @return the group, after the replica and the Sentinel have connected
   */
  public static LocalSentinel start(Path binary, String password, String sentinelPassword) {
    return start(
        binary,
        List.of("--requirepass", password, "--masterauth", password),
        sentinelPassword,
        List.of("sentinel auth-pass mymaster " + password));
  }

  private static LocalSentinel start(
      Path binary,
      List<String> arguments,
      @Nullable String sentinelPassword,
      List<String> sentinelSettings) {
    LocalRedis first = LocalRedis.start(binary, arguments.toArray(String[]::new));
    List<String> ofReplica =
        Stream.concat(arguments.stream(), Stream.of("--replicaof", "127.0.0.1", "" + first.port()))
            .toList();
    LocalRedis second = LocalRedis.start(binary, ofReplica.toArray(String[]::new));
    second.await(
        "is a synchronized replica",
        () -> info(second, "replication").contains("master_link_status:up"));
    List<String> settings =
        new ArrayList<>(
            List.of(
                "sentinel monitor mymaster 127.0.0.1 " + first.port() + " 1",
                "sentinel down-after-milliseconds mymaster 500",
                "sentinel failover-timeout mymaster 3000"));
    settings.addAll(sentinelSettings);
    LocalRedis sentinel = LocalRedis.startSentinel(binary, sentinelPassword, settings);
    sentinel.await(
        "has found the replica",
        () ->
            info(sentinel, "sentinel")
                .contains("status=ok,address=127.0.0.1:%s,slaves=1".formatted(first.port())));
    return new LocalSentinel(first, second, sentinel);
  }

  private static String info(LocalRedis redis, String section) {
    return String.valueOf(redis.command("INFO", section));
  }

  /**
   * Returns the initial master.
   *
   * @return the server
   */
  public LocalRedis first() {
    return first;
  }

  /**
   * Returns the initial replica.
   *
   * @return the server
   */
  public LocalRedis second() {
    return second;
  }

  /**
   * Returns the Sentinel.
   *
   * @return the server
   */
  public LocalRedis sentinel() {
    return sentinel;
  }

  /**
   * Makes the Sentinel promote the replica to master, as soon as the Sentinel has detected that the
   * replica is healthy.
   */
  public void failOver() {
    sentinel.await("has a replica to promote", this::failoverBegins);
  }

  private boolean failoverBegins() {
    try {
      return "OK".equals(sentinel.command("SENTINEL", "FAILOVER", "mymaster"));
    } catch (IllegalStateException e) {
      if (String.valueOf(e.getMessage()).startsWith("NOGOODSLAVE")) {
        return false;
      }
      throw e;
    }
  }

  /** Waits until the second server is the master. */
  public void awaitFailover() {
    second.await("is the master", this::secondIsMaster);
  }

  private boolean secondIsMaster() {
    try {
      return info(second, "replication").contains("role:master");
    } catch (IllegalStateException e) {
      return false; // Redis closes this connection when Sentinel promotes the server
    }
  }

  /**
   * Returns the URI of the group.
   *
   * @return {@code redis-sentinel://127.0.0.1:port/0#mymaster}
   */
  public String uri() {
    return "redis-sentinel://" + sentinel.address() + "/0#mymaster";
  }

  @Override
  public void close() {
    Stream.of(sentinel, second, first).forEach(LocalRedis::close);
  }
}
