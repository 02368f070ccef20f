// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.internal.async.Stages;
import dev.sluice.remote.Breaker;
import dev.sluice.remote.Endpoint;
import dev.sluice.remote.RequestQueue;
import dev.sluice.remote.StoreContext;
import dev.sluice.store.BucketStore.Charge;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The server of a store with one server, or with the master that Sentinel currently reports.
 * Thread-safe; no method blocks.
 *
 * <p>A probe without a response drops the connection, since the connected server can be a master
 * that froze while another server took over.
 */
final class SingleServer implements Endpoint {

  private final String name;
  private final LazyConnection<Connection> link;
  private final Breaker breaker;
  private final RequestQueue queue;
  private final Scripts scripts;
  private final StoreContext context;

  SingleServer(
      String name, Supplier<CompletionStage<? extends Connection>> connect, StoreContext context) {
    this.name = name;
    this.context = context;
    this.link = new LazyConnection<>(connect, false, context.timing()::elsewhere);
    this.scripts = new Scripts(link, link::renew, context);
    this.breaker = context.breaker(name, this::probe);
    this.queue = context.queue(this, new AtomicInteger());
  }

  /**
   * Runs the script once on a bucket that no client uses, since a server can respond to PING but
   * not run calls.
   */
  CompletionStage<?> probe() {
    return scripts
        .probe(context.probeKey())
        .whenComplete(
            (answered, failure) -> {
              if (failure != null && ServerFault.of(Stages.cause(failure)).isSilence()) {
                link.renew();
              }
            });
  }

  CompletionStage<String> ping() {
    return context
        .timing()
        .within(link.connection().thenCompose(Connection::ping), context.timeoutNanos());
  }

  CompletionStage<List<String>> announce(byte[] key, String process, Duration time) {
    return context
        .timing()
        .within(
            link.connection().thenCompose(to -> to.announce(key, process, time)),
            context.timeoutNanos());
  }

  /**
   * Drops the connection. The next call to the server opens a new connection, to the current
   * master.
   */
  void renew() {
    link.renew();
  }

  RequestQueue queue() {
    return queue;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Breaker breaker() {
    return breaker;
  }

  @Override
  public ScriptCall call(List<byte[]> keys, List<List<Charge>> batches) {
    return scripts.call(keys, batches);
  }

  @Override
  public ServerFault fault(@Nullable Throwable failure) {
    return ServerFault.of(failure);
  }
}
