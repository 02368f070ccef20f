package dev.sluice.redis;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * What the servers of one store share. Immutable, thread-safe.
 *
 * @param lanes how they queue
 * @param timeoutNanos how long a call may take
 * @param maxFailures how many calls in a row may fail before a server is given up
 * @param probeEveryNanos how often a server is probed that was given up
 */
record Wiring(
    Lane.Options lanes,
    long timeoutNanos,
    int maxFailures,
    long probeEveryNanos,
    Timing timing,
    RedisObserver observer) {

  /** The lane of a server; lanes with one count of what waits have one bound together. */
  Lane lane(Server server, AtomicInteger waiting) {
    return new Lane(server, lanes, waiting, timing, observer);
  }

  Breaker breaker(String server, Supplier<CompletionStage<?>> probe) {
    return new Breaker(server, maxFailures, probeEveryNanos, probe, timing, observer);
  }
}
