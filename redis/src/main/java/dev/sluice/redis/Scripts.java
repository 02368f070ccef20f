// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.StoreContext;
import dev.sluice.store.BucketStore.Charge;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Makes the calls of the script on one connection. Thread-safe; no method blocks. */
final class Scripts {

  private final LazyConnection<?> link;
  private final Runnable onReplica;
  private final StoreContext context;
  private final @Nullable ClientClock clock;

  /**
   * Creates an object that makes the calls of the script on a connection.
   *
   * @param onReplica an action that runs if the server reports that it is a replica
   */
  Scripts(LazyConnection<?> link, Runnable onReplica, StoreContext context) {
    this.link = link;
    this.onReplica = onReplica;
    this.context = context;
    this.clock = context.clock();
  }

  ScriptCall call(List<byte[]> keys, List<List<Charge>> batches) {
    byte[] argument = ChargeScript.argument(clock, batches);
    return new ScriptCall(link, onReplica, keys.toArray(new byte[0][]), argument);
  }

  /**
   * Probes the server: runs the script once, on a bucket that no client uses.
   *
   * @param key the bucket's key
   * @return a future that fails if the server is down; any other error counts as success
   */
  CompletableFuture<String> probe(byte[] key) {
    ScriptCall call = call(List.of(key), List.of(List.of(context.nobodys())));
    call.send();
    CompletableFuture<String> ran =
        call.handle(
            (answer, failure) -> {
              if (failure != null && ServerFault.of(Stages.cause(failure)).isOutage()) {
                throw new CompletionException(Stages.cause(failure));
              }
              return "ran";
            });
    return context.timing().within(ran, context.timeoutNanos());
  }
}
