// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.remote.RequestQueue;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Independent servers, each with a share of the keys. A single server is a ring of one server.
 *
 * <p>A server that is down keeps its share of the keys; charges to these keys fail until the server
 * is up. Keys do not move to another server, because every moved bucket would be full on the new
 * server, and full again when the key moves back. Thread-safe.
 */
final class ServerRing implements Roll.Servers {

  private final Connector connector;
  private final List<SingleServer> servers;
  private final Rendezvous placement;
  private final Runnable onClose;

  /**
   * Creates a ring.
   *
   * @param placementNames the servers' names, whose hashes determine each key's server
   * @param onClose an action that runs when the ring is closed
   */
  ServerRing(
      Connector connector,
      List<SingleServer> servers,
      List<String> placementNames,
      Runnable onClose) {
    this.connector = connector;
    this.onClose = onClose;
    this.servers = List.copyOf(servers);
    this.placement = new Rendezvous(placementNames);
  }

  @Override
  public RequestQueue queueOf(byte[] key) {
    return servers.size() == 1
        ? servers.get(0).queue()
        : servers.get(placement.serverOf(key)).queue();
  }

  @Override
  public CompletionStage<Void> ping() {
    return CompletableFuture.allOf(
        servers.stream()
            .map(server -> ServerFault.named(server.name(), server.ping()))
            .toArray(CompletableFuture[]::new));
  }

  @Override
  public CompletionStage<?> probe() {
    return CompletableFuture.allOf(
        servers.stream()
            .map(server -> server.probe().toCompletableFuture())
            .toArray(CompletableFuture[]::new));
  }

  /** Announces the process to every server, since any server can be down. */
  @Override
  public CompletionStage<List<String>> announce(byte[] key, String process, Duration time) {
    Set<String> names = ConcurrentHashMap.newKeySet();
    List<CompletableFuture<List<String>>> asked =
        servers.stream()
            .map(server -> server.announce(key, process, time).toCompletableFuture())
            .toList();
    return CompletableFuture.allOf(
            asked.stream()
                .map(one -> one.thenAccept(names::addAll))
                .toArray(CompletableFuture[]::new))
        .handle(
            (all, failure) -> {
              if (failure != null
                  && asked.stream().allMatch(CompletableFuture::isCompletedExceptionally)) {
                throw new CompletionException(Stages.cause(failure));
              }
              return List.copyOf(names);
            });
  }

  @Override
  public void close() {
    onClose.run();
    for (SingleServer server : servers) {
      server.breaker().close();
      server.queue().close();
    }
    connector.close();
  }
}
