// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.gcra.Effect;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The settings, the clock and the observer that all parts of a store share. Thread-safe. */
public final class StoreContext {

  /** A lock wait takes at most a third of the time-out, since a call can wait twice. */
  public static final int WAITS = 3;

  /** How many denials a store can remember. */
  private static final int DENIALS = 16_384;

  private static final int MAX_CHARGES_PER_CALL = 128;

  /** The key of a bucket that no client uses, since no limit has the number 0. */
  private static final String NOBODYS = "0:probe";

  private final Settings settings;
  private final RequestQueue.Options queues;
  private final long timeoutNanos;
  private final Timing timing;
  private final StoreLog log;
  private final BucketStore.Observer observer;

  /**
   * The settings of a store.
   *
   * @param kind the name of the store's package in {@code dev.sluice}, for its log and its threads
   * @param keys makes the bytes of a bucket's key
   * @param timeout the time-out of a call, from the caller's request to the response
   * @param maxWaiting the largest number of requests that wait for a server
   * @param maxCalls the largest number of calls in flight to a server; always 1 with a client's
   *     clock
   * @param maxFailures the number of failed calls in a row after which a server is marked down
   * @param probeEvery the interval of probes to a server that is marked down
   * @param denials the longest time for which a denial is repeated from memory; zero for never
   * @param clock the clock of this process with which the store decides; null for the server's
   *     clock
   */
  public record Settings(
      String kind,
      Function<String, byte[]> keys,
      Duration timeout,
      int maxWaiting,
      int maxCalls,
      int maxFailures,
      Duration probeEvery,
      Duration denials,
      @Nullable ClientClock clock) {}

  public StoreContext(Settings settings, Timing timing, BucketStore.Observer observer) {
    this.settings = settings;
    this.timeoutNanos = settings.timeout.toNanos();
    this.queues =
        new RequestQueue.Options(
            settings.maxWaiting,
            settings.clock == null ? settings.maxCalls : 1,
            MAX_CHARGES_PER_CALL,
            timeoutNanos);
    this.timing = timing;
    this.log = new StoreLog(settings.kind);
    this.observer = new GuardedObserver(observer, timing, log);
  }

  String kind() {
    return settings.kind;
  }

  /** Returns the bytes of a bucket's key. */
  public byte[] key(String bucket) {
    return settings.keys.apply(bucket);
  }

  /**
   * Returns the clock of this process with which the store decides; null for the server's clock.
   */
  public @Nullable ClientClock clock() {
    return settings.clock;
  }

  public long timeoutNanos() {
    return timeoutNanos;
  }

  public Timing timing() {
    return timing;
  }

  public StoreLog log() {
    return log;
  }

  public BucketStore.Observer observer() {
    return observer;
  }

  DenialMemory denials() {
    return new DenialMemory(
        settings.denials.isZero() ? 0 : DENIALS,
        settings.denials.toNanos(),
        settings.clock == null ? null : settings.clock.time(),
        timing);
  }

  /** Returns the key of a bucket that no client uses. */
  public byte[] probeKey() {
    return key(NOBODYS);
  }

  /**
   * Returns the key of a bucket that no client uses. Keys made from different numbers can be on
   * different servers.
   */
  public byte[] probeKey(int number) {
    return key(NOBODYS + number);
  }

  /** Returns a charge that only reads a bucket that no client uses. */
  public Charge nobodys() {
    return new Charge(NOBODYS, Effect.Op.CHECK, 1, 1, Effect.NO_END);
  }

  /**
   * Returns a queue for a server. Queues with the same counter of waiting requests share one bound.
   */
  public RequestQueue queue(Endpoint server, AtomicInteger waiting) {
    return new RequestQueue(server, queues, waiting, timing, observer);
  }

  /** Returns a separate queue for a server; no observer is notified of the queue's calls. */
  RequestQueue unseenQueue(Endpoint server) {
    return new RequestQueue(server, queues, new AtomicInteger(), timing, observerOfNothing());
  }

  /** Returns a queue on which every call times out; no observer is notified of the calls. */
  RequestQueue queueToUnreachable() {
    BucketStore.Observer unseen = observerOfNothing();
    return unseenQueue(
        new UnreachableServer(
            new Breaker(
                UnreachableServer.NAME,
                Integer.MAX_VALUE,
                Long.MAX_VALUE,
                CompletableFuture::new,
                timing,
                unseen,
                log)));
  }

  private BucketStore.Observer observerOfNothing() {
    return new GuardedObserver(
        new BucketStore.Observer() {},
        timing,
        log); // guarded in the same way as a caller's observer
  }

  public Breaker breaker(String server, Supplier<CompletionStage<?>> probe) {
    return new Breaker(
        server, settings.maxFailures, settings.probeEvery.toNanos(), probe, timing, observer, log);
  }
}
