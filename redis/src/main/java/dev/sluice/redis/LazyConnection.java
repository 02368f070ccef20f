// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.async.Stages;
import io.lettuce.core.RedisNoScriptException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one server (or one Cluster) that is made when it is first needed, and replaced
 * when it broke.
 *
 * <p>A call reaches the server at most once. What was on its way when a connection broke is not
 * repeated, since it may have been done. What had certainly not left yet is sent once more, on a
 * new connection: a connection may be broken for a moment before it says so. A call that was
 * abandoned while its connection was being made ends when that is made or has failed, and is not
 * sent. Thread-safe; no method blocks.
 *
 * @param <C> the kind of connection
 */
final class LazyConnection<C extends Connection> {

  private static final int ATTEMPTS = 2;

  private final Supplier<? extends CompletionStage<? extends C>> connect;
  private final boolean heals;
  private final Executor elsewhere;
  private @Nullable CompletableFuture<C> connection; // guarded by this

  /**
   * A connection that is not made yet.
   *
   * @param heals whether a connection reconnects on its own; otherwise it is thrown away when it
   *     broke
   * @param elsewhere where old connections are closed: not on a thread that carries answers
   */
  LazyConnection(
      Supplier<? extends CompletionStage<? extends C>> connect, boolean heals, Executor elsewhere) {
    this.connect = connect;
    this.heals = heals;
    this.elsewhere = elsewhere;
  }

  /** Runs the script; the whole text is sent only where the server does not know it yet. */
  ScriptCall call(byte[][] keys, byte[] argument) {
    ScriptCall call = new ScriptCall(keys, argument);
    send(call);
    return call;
  }

  /** Sends a call; what became of it arrives there. */
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

  /** The present connection, null where there is none that is open; never begins to connect. */
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

  /** Leaves the present server, which is not the right one any more, or does not answer. */
  synchronized void renew() {
    CompletableFuture<C> current = connection;
    if (current != null && current.isDone()) {
      connection = null;
      closeWhenOpen(current);
    }
  }

  /**
   * On a thread of its own: closing makes commands fail. A caller that is told of that may come
   * here again and close once more, which waits for the first time to be over.
   */
  private void closeWhenOpen(@Nullable CompletableFuture<C> old) {
    if (old != null) {
      var unused = old.thenComposeAsync(Connection::closeAsync, elsewhere);
    }
  }
}
