// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.async.Stages;
import dev.sluice.redis.StoreUri.Host;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The master that the Sentinels name: its address, asked again four times a second. Thread-safe; no
 * method blocks.
 *
 * <p>After a planned failover the old master goes on for ten seconds or more, and grants as if
 * nothing had happened, while the new one grants as well. So its clients have to leave it, and
 * nothing on the connection tells them to. They leave it within a second of its successor being
 * named. That is four questions, one of which may be lost with the Sentinel that it was asked of.
 */
final class Master {

  static final long ASK_EVERY_NANOS = 250_000_000;

  private final Connector connector;
  private final StoreContext context;
  private final AtomicBoolean started = new AtomicBoolean();
  private final AtomicBoolean asking = new AtomicBoolean();
  private volatile @Nullable Host named; // by the Sentinels, last
  private volatile @Nullable Host connectedTo; // or connecting
  private volatile Runnable onChange = () -> {};
  private volatile boolean closed;

  Master(Connector connector, StoreContext context) {
    this.connector = connector;
    this.context = context;
  }

  /** Sets what is to be done where another server is the master than the one connected to. */
  void onChange(Runnable leave) {
    onChange = leave;
  }

  /** Connects to the master of this moment. */
  CompletionStage<? extends Connection> connect() {
    if (started.compareAndSet(false, true)) {
      start();
    }
    return connector
        .askForMaster()
        .thenCompose(
            host -> {
              named = host;
              connectedTo = host;
              return connector.connect(host).thenCompose(made -> stillMaster(host, made));
            });
  }

  /** A connection may take long to make, and its server be replaced in between. */
  private CompletionStage<? extends Connection> stillMaster(Host host, Connection made) {
    if (host.equals(named)) {
      return CompletableFuture.completedFuture(made);
    }
    made.closeAsync();
    return connect();
  }

  private void start() {
    try {
      context.timing().every(ASK_EVERY_NANOS, this::ask);
    } catch (RejectedExecutionException e) {
      // The store was closed.
    } catch (Throwable e) { // no memory: this connection fails, and the next one starts it
      started.set(false);
      throw e;
    }
  }

  /** One question at a time. */
  private void ask() {
    if (closed || !asking.compareAndSet(false, true)) {
      return;
    }
    try {
      Stages.onEnd(
          connector.askForMaster(),
          (host, failure) -> {
            asking.set(false);
            told(host);
          });
    } catch (Throwable e) { // a class that is missing: ask again all the same
      asking.set(false);
    }
  }

  private void told(@Nullable Host host) {
    if (host != null) {
      named = host;
      Host present = connectedTo;
      if (present != null && !host.equals(present)) {
        onChange.run();
      }
    }
  }

  void close() {
    closed = true;
  }
}
