package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.store.Charge;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * What the servers of one store share. Immutable, thread-safe.
 *
 * @param keys how buckets are named
 * @param lanes how they queue
 * @param timeoutNanos how long a call may take
 * @param maxFailures how many calls in a row may fail before a server is given up
 * @param probeEveryNanos how often a server is probed that was given up
 */
record Wiring(
    Keys keys,
    Lane.Options lanes,
    long timeoutNanos,
    int maxFailures,
    long probeEveryNanos,
    Timing timing,
    RedisObserver observer) {

  /** Names a bucket that nobody has: no limit has the number 0. */
  private static final String NOBODYS = "0:probe";

  /** The key of a bucket that nobody has. */
  byte[][] probeKeys() {
    return new byte[][] {keys.bytes(NOBODYS)};
  }

  /** Another one, where the first is on the wrong server. */
  byte[][] probeKeys(int number) {
    return new byte[][] {keys.bytes(NOBODYS + number)};
  }

  /** The argument of a call that looks at one bucket, and changes nothing. */
  byte[] look() {
    Charge look = new Charge(NOBODYS, Effect.Op.CHECK, 1, 1, Effect.NO_END);
    return ChargeScript.argument(lanes.clock(), List.of(List.of(look)));
  }

  /** Fails where the server does not run the script; what it refuses for other reasons it ran. */
  CompletableFuture<String> probe(ScriptCall call) {
    CompletableFuture<String> ran =
        call.handle(
            (answer, failure) -> {
              if (failure != null && ServerFault.of(Link.cause(failure)).isOutage()) {
                throw new CompletionException(Link.cause(failure));
              }
              return "ran";
            });
    return timing.within(ran, timeoutNanos);
  }

  /** The lane of a server; lanes with one count of what waits have one bound together. */
  Lane lane(Server server, AtomicInteger waiting) {
    return new Lane(server, lanes, waiting, timing, observer);
  }

  Breaker breaker(String server, Supplier<CompletionStage<?>> probe) {
    return new Breaker(server, maxFailures, probeEveryNanos, probe, timing, observer);
  }
}
