package dev.sluice.redis;

import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The way to one server (or one Cluster): a connection that is made when it is first needed, and
 * made anew when it broke.
 *
 * <p>A command is sent at most once: what was on its way when a connection broke is not repeated,
 * since it may have been done. Thread-safe; no method blocks.
 *
 * @param <C> the kind of connection
 */
final class Link<C extends StatefulConnection<byte[], byte[]>> {

  private final Supplier<? extends CompletionStage<C>> connect;
  private final Function<C, RedisClusterAsyncCommands<byte[], byte[]>> commands;
  private @Nullable CompletableFuture<C> connection; // guarded by this

  Link(
      Supplier<? extends CompletionStage<C>> connect,
      Function<C, RedisClusterAsyncCommands<byte[], byte[]>> commands) {
    this.connect = connect;
    this.commands = commands;
  }

  /** Runs the script; the whole text is sent only where the server does not know it yet. */
  CompletionStage<List<Object>> call(byte[][] keys, byte[] argument) {
    return connection()
        .thenCompose(
            open -> {
              RedisClusterAsyncCommands<byte[], byte[]> on = commands.apply(open);
              CompletionStage<List<Object>> known =
                  on.evalsha(ChargeScript.DIGEST, ScriptOutputType.MULTI, keys, argument);
              return known
                  .handle(
                      (answer, failure) ->
                          cause(failure) instanceof RedisNoScriptException
                              ? on.<List<Object>>eval(
                                  ChargeScript.SOURCE, ScriptOutputType.MULTI, keys, argument)
                              : known)
                  .thenCompose(Function.identity());
            });
  }

  CompletionStage<String> ping() {
    return connection().thenCompose(open -> commands.apply(open).ping());
  }

  synchronized CompletableFuture<C> connection() {
    CompletableFuture<C> current = connection;
    boolean broken =
        current != null
            && current.isDone()
            && (current.isCompletedExceptionally() || !current.join().isOpen());
    if (current == null || broken) {
      closeWhenOpen(current);
      current = connect.get().toCompletableFuture();
      connection = current;
    }
    return current;
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
   * On a thread of its own: closing makes commands fail, and who is told of that may come here
   * again and close once more, which waits for the first time to be over.
   */
  private static void closeWhenOpen(
      @Nullable CompletableFuture<? extends StatefulConnection<?, ?>> old) {
    if (old != null) {
      var unused = old.thenComposeAsync(StatefulConnection::closeAsync);
    }
  }

  static @Nullable Throwable cause(@Nullable Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }
}
