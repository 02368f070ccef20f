// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.store.BucketStore.Charge;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The settings, the clock and the observer that all parts of one store share. Thread-safe. */
final class StoreContext {

  private static final int MAX_CHARGES_PER_CALL = 128;

  /** Key of a bucket that nobody uses, since no limit has the number 0. */
  private static final String NOBODYS = "0:probe";

  private final Keys keys;
  private final RequestQueue.Options queues;
  private final long timeoutNanos;
  private final int maxFailures;
  private final long probeEveryNanos;
  private final Timing timing;
  private final RedisObserver observer;

  StoreContext(RedisOptions options, Timing timing, RedisObserver observer) {
    String prefix = options.find(RedisOptions.PREFIX);
    this.keys = new Keys(prefix == null ? "" : prefix, options.get(RedisOptions.TAG));
    this.timeoutNanos = options.get(RedisOptions.TIMEOUT).toNanos();
    this.queues =
        new RequestQueue.Options(
            options.get(RedisOptions.QUEUE),
            MAX_CHARGES_PER_CALL,
            timeoutNanos,
            options.clientClock());
    this.maxFailures = options.get(RedisOptions.FAILURES);
    this.probeEveryNanos = options.get(RedisOptions.PROBE).toNanos();
    this.timing = timing;
    this.observer = observer;
  }

  Keys keys() {
    return keys;
  }

  /** Returns the clock of this process by which the script decides, null for the server's. */
  @Nullable ClientClock clock() {
    return queues.clock();
  }

  long timeoutNanos() {
    return timeoutNanos;
  }

  Timing timing() {
    return timing;
  }

  RedisObserver observer() {
    return observer;
  }

  /** Returns the key of a bucket that nobody uses. */
  byte[][] probeKeys() {
    return new byte[][] {keys.bytes(NOBODYS)};
  }

  /** Returns another such key, if the first belongs to another server. */
  byte[][] probeKeys(int number) {
    return new byte[][] {keys.bytes(NOBODYS + number)};
  }

  /** Returns a check of a bucket that nobody uses. */
  Charge nobodys() {
    return new Charge(NOBODYS, Effect.Op.CHECK, 1, 1, Effect.NO_END);
  }

  /** Returns the script argument of a check of one bucket. */
  byte[] look() {
    return ChargeScript.argument(queues.clock(), List.of(List.of(nobodys())));
  }

  /** Returns a future that fails if the server is down; other errors count as success. */
  CompletableFuture<String> probe(ScriptCall call) {
    CompletableFuture<String> ran =
        call.handle(
            (answer, failure) -> {
              if (failure != null && ServerFault.of(Failures.cause(failure)).isOutage()) {
                throw new CompletionException(Failures.cause(failure));
              }
              return "ran";
            });
    return timing.within(ran, timeoutNanos);
  }

  /**
   * Returns a queue for a server; queues that share a count of waiting requests share one bound.
   */
  RequestQueue queue(Endpoint server, AtomicInteger waiting) {
    return new RequestQueue(server, queues, waiting, timing, observer);
  }

  /** Returns a separate queue to a server, whose calls are hidden from the observer. */
  RequestQueue unseenQueue(Endpoint server) {
    return new RequestQueue(server, queues, new AtomicInteger(), timing, observerOfNothing());
  }

  /** Returns a queue on which every call times out, hidden from the observer. */
  RequestQueue queueToUnreachable() {
    return unseenQueue(new UnreachableServer(timing, observerOfNothing()));
  }

  private RedisObserver observerOfNothing() {
    return new GuardedObserver(new RedisObserver() {}, timing); // guarded like real observers
  }

  Breaker breaker(String server, Supplier<CompletionStage<?>> probe) {
    return new Breaker(server, maxFailures, probeEveryNanos, probe, timing, observer);
  }
}
