// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import io.lettuce.core.RedisNoScriptException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one server or one Cluster. The connection is opened when it is first needed, and
 * replaced when it breaks.
 *
 * <p>A call reaches the server at most once. A call that was in flight when a connection broke is
 * not repeated, since the server may have run the call. A call that was certainly not sent is tried
 * once more on a new connection, since a connection can be broken before the client notices. If a
 * call is abandoned while its connection is being opened, the call is not sent, and ends when the
 * connection is open or has failed. Thread-safe; no method blocks.
 *
 * @param <C> the type of the connection
 */
final class LazyConnection<C extends Connection> {

  private static final int ATTEMPTS = 2;

  private final Supplier<? extends CompletionStage<? extends C>> connect;
  private final boolean heals;
  private final Executor elsewhere;
  private @Nullable CompletableFuture<C> connection; // guarded by this

  /**
   * Creates a connection that is not yet open.
   *
   * @param heals whether a broken connection reconnects itself; otherwise this class opens a new
   *     connection
   * @param elsewhere closes old connections; must not run on a thread that reads responses
   */
  LazyConnection(
      Supplier<? extends CompletionStage<? extends C>> connect, boolean heals, Executor elsewhere) {
    this.connect = connect;
    this.heals = heals;
    this.elsewhere = elsewhere;
  }

  /**
   * Sends a call and completes it with the result. Sends the text of the script only if the server
   * does not know the script's digest.
   */
  void send(ScriptCall call) {
    attempt(call, heals ? 1 : ATTEMPTS);
  }

  private void attempt(ScriptCall call, int attempts) {
    Stages.onEnd(
        connection(),
        (open, failure) -> {
          if (failure == null) {
            follow(call, attempts, open, false);
          } else {
            call.notSent(failure);
          }
        });
  }

  private void follow(ScriptCall call, int attempts, C on, boolean whole) {
    Exchange exchange = call.ask(on, whole);
    Stages.onEnd(
        exchange.answer(),
        (answer, failure) -> {
          if (failure == null) {
            call.complete(answer);
          } else if (call.isAbandoned()) {
            call.stayedHere();
          } else if (failure instanceof RedisNoScriptException && !whole) {
            follow(call, attempts, on, true);
          } else if (exchange.wasSent()) {
            call.completeExceptionally(failure);
          } else if (attempts > 1) {
            call.hasNotLeft();
            leave(on);
            attempt(call, attempts - 1);
          } else {
            call.notSent(failure);
          }
        });
  }

  private synchronized void leave(C broken) {
    if (made() == broken) {
      renew();
    }
  }

  /**
   * Returns the current connection if it is open, otherwise null. This method never opens a
   * connection.
   */
  synchronized @Nullable C open() {
    C made = made();
    return made != null && made.isOpen() ? made : null;
  }

  private synchronized @Nullable C made() {
    CompletableFuture<C> current = connection;
    return current != null && current.isDone() && !current.isCompletedExceptionally()
        ? current.join()
        : null;
  }

  synchronized CompletableFuture<C> connection() {
    CompletableFuture<C> current = connection;
    if (current == null || (current.isDone() && open() == null)) {
      closeWhenOpen(current);
      current = connectNow();
      connection = current;
    }
    return current;
  }

  private CompletableFuture<C> connectNow() {
    try {
      return connect.get().<C>thenApply(made -> made).toCompletableFuture();
    } catch (Throwable e) { // the client is closed, or one of its classes is missing
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Closes the current connection, whose server is the wrong server or does not respond. */
  synchronized void renew() {
    CompletableFuture<C> current = connection;
    if (current != null && current.isDone()) {
      connection = null;
      closeWhenOpen(current);
    }
  }

  /**
   * Closes an old connection on another thread. When a connection is closed, its commands in flight
   * fail. A handler of a failed command can close the connection again, and this close would block
   * until the first close has ended.
   */
  private void closeWhenOpen(@Nullable CompletableFuture<C> old) {
    if (old != null) {
      var unused = old.thenComposeAsync(Connection::closeAsync, elsewhere);
    }
  }
}
