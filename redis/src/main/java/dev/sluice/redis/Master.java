// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.redis.StoreUri.Host;
import dev.sluice.remote.StoreContext;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Follows the master's address by asking the Sentinels four times a second. Thread-safe; no method
 * blocks.
 *
 * <p>After a planned failover the old master continues to grant for ten seconds or more, while the
 * new one grants as well, and the connection shows no sign of it. So clients must leave the old
 * master, which they do within a second after the Sentinels name its successor: four questions, one
 * of which may be lost with a Sentinel.
 */
final class Master {

  static final long ASK_EVERY_NANOS = 250_000_000;

  private final Connector connector;
  private final StoreContext context;
  private final AtomicBoolean started = new AtomicBoolean();
  private final AtomicBoolean asking = new AtomicBoolean();
  private volatile @Nullable Host named; // the host that the Sentinels named last
  private volatile @Nullable Host connectedTo; // the host whose connection is open or being opened
  private volatile Runnable onChange = () -> {};
  private volatile boolean closed;

  Master(Connector connector, StoreContext context) {
    this.connector = connector;
    this.context = context;
  }

  /** Sets the action to run when the master is not the server connected to. */
  void onChange(Runnable leave) {
    onChange = leave;
  }

  /** Connects to the current master. */
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

  /** Checks the master again: it may have been replaced while the connection was opened. */
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
    } catch (Throwable e) { // no memory: this connection fails; the next one tries again
      started.set(false);
      throw e;
    }
  }

  /** Asks the Sentinels, unless a question is in flight. */
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
    } catch (Throwable e) { // such as a missing class: allow the next question
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
