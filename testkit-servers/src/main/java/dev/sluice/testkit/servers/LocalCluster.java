// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A Redis Cluster of three masters for tests, optionally with a replica of each master. Not
 * thread-safe. Methods block like the methods of {@link LocalRedis}.
 */
public final class LocalCluster implements AutoCloseable {

  private static final int MASTERS = 3;
  private static final int SLOTS = 16_384;

  private final List<LocalRedis> servers;

  private LocalCluster(List<LocalRedis> servers) {
    this.servers = servers;
  }

  /**
   * Starts a cluster.
   *
   * @param binary the path of the server program, see {@link RedisBinary}
   * @param replicas whether each master has a replica
   * @return the cluster, after every server has reported that the cluster is healthy
   */
  public static LocalCluster start(Path binary, boolean replicas) {
    List<LocalRedis> servers = new ArrayList<>();
    for (int i = 0; i < (replicas ? 2 * MASTERS : MASTERS); i++) {
      servers.add(
          LocalRedis.start(binary, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000"));
    }
    LocalRedis first = servers.get(0);
    for (int i = 0; i < servers.size(); i++) {
      LocalRedis server = servers.get(i);
      server.command("CLUSTER", "SET-CONFIG-EPOCH", "" + (i + 1));
      if (i < MASTERS) {
        server.command(slots(i * SLOTS / MASTERS, (i + 1) * SLOTS / MASTERS - 1));
      }
      if (i > 0) {
        server.command("CLUSTER", "MEET", "127.0.0.1", "" + first.port());
      }
    }
    LocalCluster cluster = new LocalCluster(List.copyOf(servers));
    cluster.awaitWell();
    if (replicas) {
      cluster.addReplicas();
    }
    return cluster;
  }

  private static String[] slots(int from, int to) {
    List<String> words = new ArrayList<>(List.of("CLUSTER", "ADDSLOTS"));
    for (int slot = from; slot <= to; slot++) {
      words.add("" + slot);
    }
    return words.toArray(String[]::new);
  }

  private void addReplicas() {
    for (int i = 0; i < MASTERS; i++) {
      LocalRedis replica = servers.get(MASTERS + i);
      String masterId = id(servers.get(i));
      replica.await("has its master in its list of nodes", () -> nodes(replica).contains(masterId));
      replica.command("CLUSTER", "REPLICATE", masterId);
      replica.await(
          "is a synchronized replica",
          () ->
              String.valueOf(replica.command("INFO", "replication"))
                  .contains("master_link_status:up"));
    }
    for (LocalRedis server : servers) {
      server.await(
          "has all replicas in its list of nodes",
          () -> nodes(server).lines().filter(line -> line.contains("slave")).count() == MASTERS);
    }
  }

  private void awaitWell() {
    for (LocalRedis server : servers) {
      server.await(
          "reports a complete cluster",
          () ->
              String.valueOf(server.command("CLUSTER", "INFO")).contains("cluster_state:ok")
                  && nodes(server).lines().count() == servers.size());
    }
  }

  private static String nodes(LocalRedis server) {
    return String.valueOf(server.command("CLUSTER", "NODES"));
  }

  /**
   * Returns the node id of a server.
   *
   * @param server one of {@link #servers}
   * @return the id, 40 hexadecimal digits
   */
  public String id(LocalRedis server) {
    return String.valueOf(server.command("CLUSTER", "MYID"));
  }

  /**
   * Returns the servers.
   *
   * @return the three masters, followed by their replicas in the same order
   */
  public List<LocalRedis> servers() {
    return servers;
  }

  /**
   * Waits until the replica of a master has become the new master.
   *
   * @param master the index of the master, from 0
   */
  public void awaitFailover(int master) {
    LocalRedis replica = servers.get(MASTERS + master);
    replica.await(
        "is a master",
        () -> nodes(replica).lines().anyMatch(line -> line.contains("myself,master")));
    replica.await(
        "reports a complete cluster",
        () -> String.valueOf(replica.command("CLUSTER", "INFO")).contains("cluster_state:ok"));
  }

  /**
   * Returns the URI of the cluster.
   *
   * @return the URI {@code redis-cluster://…} with the addresses of the masters
   */
  public String uri() {
    return "redis-cluster://"
        + String.join(",", servers.stream().limit(MASTERS).map(LocalRedis::address).toList());
  }

  @Override
  public void close() {
    servers.forEach(LocalRedis::close);
  }
}
