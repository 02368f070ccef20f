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
 * Keeps track of the master's address by requesting it from the Sentinels four times a second.
 * Thread-safe; no method blocks.
 *
 * <p>After a planned failover the old master continues to grant tokens for ten seconds or more,
 * while the new master also grants tokens, and the connection to the old master stays open. When
 * the master changes, clients must therefore disconnect from the old master. Clients disconnect
 * within a second after the Sentinels report the new master, even if one request for the address is
 * lost because a Sentinel fails.
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

  /** Sets the action to run when the master is another server than the connected server. */
  void onChange(Runnable leave) {
    onChange = leave;
  }

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

  /** Checks the master again, since the master can have changed while the connection was opened. */
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
      // The store was closed before the first request.
    } catch (Throwable e) {
      // Out of memory: this attempt to connect fails, and the next attempt asks the Sentinels.
      started.set(false);
      throw e;
    }
  }

  /** Requests the master's address from the Sentinels, unless a request is in flight. */
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
    } catch (Throwable e) { // after an error, such as a missing class, the next request is allowed
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
