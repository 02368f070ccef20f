package dev.sluice.redis;

import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Charge.Act;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Buckets in Redis or Valkey, decided on inside the server, by the server's clock, in one round
 * trip: the store for more than one process.
 *
 * <pre>{@code
 * try (BucketStore store = RedisStore.open(URI.create("redis://localhost:6379/0"))) {
 *   Limiter limiter = Limiter.of(limits, store);
 *   …
 * }
 * }</pre>
 *
 * <p>A batch whose keys are on one server is decided on at one moment. One over several servers is
 * all or nothing as well, but while it is decided a concurrent observer may see tokens missing that
 * come back a moment later; it never sees a token too many. Callers who come together share calls.
 * A charge is sent at most once: one whose answer was lost fails, and may have been made.
 *
 * <p>Opening does not wait for a server; one that is not there makes charges fail. Every charge
 * ends by the time-out. Who no longer waits for the answer cancels the future of {@link
 * #chargeAsync}: what has not left yet is not charged then. Thread-safe; {@link #charge} and {@link
 * #ping} block for a round trip (and are refused on the store's own threads, where they would wait
 * for themselves), {@link #chargeAsync} never.
 */
public final class RedisStore implements BucketStore {

  private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final String name;
  private final Shards shards;
  private final Keys keys;
  private final Wiring wiring;
  private final DenialMemory denials;
  private final Runnable release;
  private final Map<Long, CompletableFuture<?>> mustArrive = new ConcurrentHashMap<>();
  private final AtomicLong arrivals = new AtomicLong();
  private volatile boolean closed;

  RedisStore(
      String name,
      Shards shards,
      Keys keys,
      Wiring wiring,
      DenialMemory denials,
      Runnable release) {
    this.name = name;
    this.shards = shards;
    this.keys = keys;
    this.wiring = wiring;
    this.denials = denials;
    this.release = release;
  }

  /**
   * Opens a store.
   *
   * @param uri {@code redis://host:port/db}, {@code rediss://} for TLS, {@code
   *     redis-sentinel://h:p,h:p/db#master}, {@code redis-cluster://h:p,h:p} or {@code
   *     redis-ring://h:p,h:p}; with {@code user:password@} and with options, see {@link
   *     RedisStoreBuilder}
   * @return the store
   * @throws IllegalArgumentException saying what is wrong with the address
   */
  public static RedisStore open(URI uri) {
    return builder(uri).open();
  }

  /**
   * Opens a store whose address comes from a configuration.
   *
   * @param address as for {@link #open(URI)}
   * @return the store
   * @throws IllegalArgumentException saying what is wrong with the address, without the password in
   *     it, which {@link URI#create} would show
   */
  public static RedisStore open(String address) {
    return builder(address).open();
  }

  /**
   * Starts a store with more to say about it.
   *
   * @param uri as for {@link #open(URI)}
   * @return a builder, with what the URI says
   * @throws IllegalArgumentException saying what is wrong with the address
   */
  public static RedisStoreBuilder builder(URI uri) {
    return new RedisStoreBuilder(StoreUri.parse(uri));
  }

  /**
   * Starts a store, whose address comes from a configuration, with more to say about it.
   *
   * @param address as for {@link #open(URI)}
   * @return a builder, with what the address says
   * @throws IllegalArgumentException as for {@link #open(String)}
   */
  public static RedisStoreBuilder builder(String address) {
    return new RedisStoreBuilder(StoreUri.parse(address));
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    requireThreadThatMayWait("charge()", "call chargeAsync() in what is chained to a stage");
    return await(chargeAsync(charges).toCompletableFuture(), "; " + Lane.UNKNOWN);
  }

  private static void requireThreadThatMayWait(String call, String instead) {
    if (Thread.currentThread() instanceof StoreThread) {
      throw new IllegalStateException(
          "%s was called on a thread of the store, which would wait for itself: %s"
              .formatted(call, instead));
    }
  }

  private <T> T await(CompletableFuture<T> answer, String afterwards) {
    try {
      return wiring.timing().await(answer, wiring.timeoutNanos() + GRACE_NANOS);
    } catch (ExecutionException e) {
      Throwable cause = Link.cause(e.getCause());
      throw failure(cause == null ? e : cause);
    } catch (TimeoutException e) {
      answer.cancel(false); // where it still waits for its turn, it need not come
      throw new StoreException("timed out on " + name + afterwards, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      answer.cancel(false);
      throw new StoreException("interrupted while waiting for " + name + afterwards, e);
    }
  }

  /** A new exception, so that the trace shows who asked as well as who failed. */
  private StoreException failure(Throwable cause) {
    return cause instanceof StoreException
        ? new StoreException(String.valueOf(cause.getMessage()), cause)
        : new StoreException(name + ": " + cause, cause);
  }

  @Override
  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    BucketStore.requireDifferentKeys(charges);
    if (closed) {
      return CompletableFuture.failedFuture(new StoreException("the store " + name + " is closed"));
    }
    long deadline = wiring.timing().nanoTime() + wiring.timeoutNanos();
    if (charges.size() == 1) {
      return one(charges, deadline);
    }
    List<Lane> lanes = new ArrayList<>(charges.size());
    boolean together = true;
    for (Charge charge : charges) {
      lanes.add(shards.laneOf(keys.bytes(charge.key())));
      together &= lanes.get(0) == lanes.get(lanes.size() - 1);
    }
    return together ? send(lanes.get(0), charges, deadline) : spread(lanes, charges, deadline);
  }

  private CompletableFuture<List<Reading>> spread(
      List<Lane> lanes, List<Charge> charges, long deadline) {
    Spread batch =
        new Spread(
            charges,
            (lane, part) -> send(lane, part, deadline),
            (lane, part) -> {
              var unused = send(lane, part, wiring.timing().nanoTime() + wiring.timeoutNanos());
            });
    CompletableFuture<List<Reading>> verdict = batch.charge(lanes);
    keepOpenFor(batch.over());
    return verdict;
  }

  private CompletableFuture<List<Reading>> one(List<Charge> charges, long deadline) {
    Charge charge = charges.get(0);
    Reading known = denials.denial(charge);
    if (known != null) {
      wiring.observer().deniedFromMemory();
      return CompletableFuture.completedFuture(List.of(known));
    }
    byte[] key = keys.bytes(charge.key());
    Lane lane = shards.laneOf(key);
    if (loosens(charge)) {
      return send(lane, charges, deadline);
    }
    Request request = new Remembered(charges, List.of(key), deadline);
    lane.submit(request);
    return request;
  }

  /** One charge, whose denial is remembered. */
  private final class Remembered extends Request {
    private final long sent = wiring.timing().nanoTime();
    private final int stamp;

    Remembered(List<Charge> charges, List<byte[]> keys, long deadline) {
      super(charges, keys, deadline);
      this.stamp = denials.stamp(charges.get(0).key());
    }

    @Override
    void answer(List<Reading> readings) {
      denials.learn(charges.get(0), readings.get(0), sent, stamp);
      super.answer(readings);
    }
  }

  /** Charges after which denials that were remembered may not hold: forgotten before it is told. */
  private final class Forgetting extends Request {

    Forgetting(List<Charge> charges, List<byte[]> keys, long deadline) {
      super(charges, keys, deadline);
    }

    @Override
    void answer(List<Reading> readings) {
      forgetDenials(charges);
      super.answer(readings);
    }

    @Override
    public boolean completeExceptionally(Throwable failure) {
      forgetDenials(charges);
      return super.completeExceptionally(failure);
    }
  }

  private static boolean loosens(Charge charge) {
    return charge.act() == Act.REFUND || charge.act() == Act.RESET;
  }

  private Request send(Lane lane, List<Charge> charges, long deadline) {
    List<byte[]> bytes = new ArrayList<>(charges.size());
    charges.forEach(charge -> bytes.add(keys.bytes(charge.key())));
    Request request = new Forgetting(charges, bytes, deadline);
    if (charges.stream().anyMatch(RedisStore::loosens)) {
      forgetDenials(charges);
      keepOpenFor(request);
    }
    lane.submit(request);
    return request;
  }

  /** What gives tokens back, or may have to: closing waits for it. */
  private void keepOpenFor(CompletableFuture<?> call) {
    long number = arrivals.incrementAndGet();
    mustArrive.put(number, call);
    var unused = call.whenComplete((readings, failure) -> mustArrive.remove(number));
  }

  private void forgetDenials(List<Charge> charges) {
    charges.forEach(charge -> denials.forget(charge.key()));
  }

  @Override
  public void ping() {
    requireThreadThatMayWait("ping()", "call it on another thread");
    var unused = await(shards.ping().toCompletableFuture(), "");
  }

  /**
   * Lets refunds that are under way arrive, and batches over several servers come to their end, up
   * to the time-out; then closes the connections. What is outstanding still fails. On one of the
   * store's own threads, which must not wait for itself, all this is left to another.
   */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (Thread.currentThread() instanceof StoreThread) {
      new Thread(this::shutDown, "sluice-redis-close").start();
    } else {
      shutDown();
    }
  }

  private void shutDown() {
    long deadline = wiring.timing().nanoTime() + wiring.timeoutNanos();
    boolean waits = true;
    while (waits && !mustArrive.isEmpty()) {
      waits = awaitAll(List.copyOf(mustArrive.values()), deadline - wiring.timing().nanoTime());
    }
    shards.close();
    release.run();
  }

  /** Whether to go on waiting; what could not be given back is lost, on the strict side. */
  private boolean awaitAll(List<CompletableFuture<?>> calls, long nanos) {
    try {
      CompletableFuture<Boolean> all =
          CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))
              .handle((done, failure) -> true); // whoever sent it was told
      return wiring.timing().await(all, nanos);
    } catch (ExecutionException | TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
