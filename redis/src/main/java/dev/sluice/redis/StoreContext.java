// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.store.Charge;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The settings, the time and the observer that all parts of one store share. Thread-safe. */
final class StoreContext {

  private static final int MAX_CHARGES_PER_CALL = 128;

  /** Names a bucket that nobody has: no limit has the number 0. */
  private static final String NOBODYS = "0:probe";

  private final Keys keys;
  private final Lane.Options lanes;
  private final long timeoutNanos;
  private final int maxFailures;
  private final long probeEveryNanos;
  private final Timing timing;
  private final RedisObserver observer;

  StoreContext(RedisOptions options, Timing timing, RedisObserver observer) {
    String prefix = options.find(RedisOptions.PREFIX);
    this.keys = new Keys(prefix == null ? "" : prefix, options.get(RedisOptions.TAG));
    this.timeoutNanos = options.get(RedisOptions.TIMEOUT).toNanos();
    this.lanes =
        new Lane.Options(
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
    return lanes.clock();
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

  /** The key of a bucket that nobody has. */
  byte[][] probeKeys() {
    return new byte[][] {keys.bytes(NOBODYS)};
  }

  /** Another one, where the first is on the wrong server. */
  byte[][] probeKeys(int number) {
    return new byte[][] {keys.bytes(NOBODYS + number)};
  }

  /** A charge that looks at a bucket that nobody has, and changes nothing. */
  Charge nobodys() {
    return new Charge(NOBODYS, Effect.Op.CHECK, 1, 1, Effect.NO_END);
  }

  /** The argument of a call that looks at one bucket, and changes nothing. */
  byte[] look() {
    return ChargeScript.argument(lanes.clock(), List.of(List.of(nobodys())));
  }

  /** Fails where the server does not run the script; what it refuses for other reasons it ran. */
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

  /** The lane of a server; lanes with one count of what waits have one bound together. */
  Lane lane(Endpoint server, AtomicInteger waiting) {
    return new Lane(server, lanes, waiting, timing, observer);
  }

  /** A lane of its own to a server, of whose calls no observer is told. */
  Lane unseenLane(Endpoint server) {
    return new Lane(server, lanes, new AtomicInteger(), timing, observerOfNothing());
  }

  /** A lane on which every call times out, of which no observer is told. */
  Lane laneToNobody() {
    return unseenLane(new Nobody(timing, observerOfNothing()));
  }

  private RedisObserver observerOfNothing() {
    return new GuardedObserver(new RedisObserver() {}, timing); // as all have one
  }

  Breaker breaker(String server, Supplier<CompletionStage<?>> probe) {
    return new Breaker(server, maxFailures, probeEveryNanos, probe, timing, observer);
  }
}
