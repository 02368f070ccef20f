// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Stores the TAT of each bucket, and decides on charges at the place where the TATs are stored.
 *
 * <p>A store has one operation: it charges a batch. An implementation guarantees:
 *
 * <ul>
 *   <li><b>Atomic.</b> The charges of a batch take effect together, at one moment between the call
 *       and its return; no other call sees a part of the batch. If a charge does not fit and its
 *       operation {@linkplain Op#votes can deny}, no charge of the batch is made. With a store on
 *       several servers, concurrent callers may see a part of the batch, which the store's
 *       documentation must describe; even then, no more tokens are granted than the limit allows.
 *   <li><b>Own clock.</b> The store reads the clock of the machine that stores the buckets, once
 *       per batch, or once per server for a batch on several servers. Callers never supply the
 *       time.
 *   <li><b>Arithmetic.</b> Decisions follow {@link Effect#passes} and {@link Effect#tatAfterNanos}.
 *   <li><b>Order on one bucket.</b> A refund that was sent first is applied before a reset or the
 *       forgiving of a debt. A charge that reverts a spend, and was sent first, is applied before a
 *       refund, a reset or the forgiving of a debt. A charge that failed can still be applied
 *       later.
 *   <li><b>Bounded.</b> Every call ends within the store's time-out, with a {@link Reading} of each
 *       bucket or with a {@link StoreException}. All charges through one {@link #forOneCall} view
 *       share one time-out. A bucket that is not full is never evicted silently.
 * </ul>
 *
 * <p>Thread-safe. {@link #charge} can block for a round trip, at most for the store's time-out;
 * {@link #chargeAsync} never blocks.
 */
public interface BucketStore extends AutoCloseable {

  /**
   * Decides on a batch: makes either all of its charges or none.
   *
   * @param charges at least one charge, each with a different key
   * @return the reading of each bucket before its charge, in the order of the charges
   * @throws StoreException if the store could not decide
   * @throws IllegalArgumentException if two charges have the same key
   */
  List<Reading> charge(List<Charge> charges);

  /**
   * Decides on a batch without blocking the caller.
   *
   * @param charges at least one charge, each with a different key
   * @return the reading of each bucket before its charge, in the order of the charges. If the store
   *     could not decide, the stage fails with a {@link StoreException}, which can be wrapped in a
   *     {@link java.util.concurrent.CompletionException}
   * @throws IllegalArgumentException if two charges have the same key
   */
  default CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    try {
      return CompletableFuture.completedFuture(charge(charges));
    } catch (StoreException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Decides on a batch like {@link #charge(List)}. A store that takes tokens before the whole batch
   * is decided reports the tokens to the tracker {@code tentative}. If the batch is denied, the
   * tracker computes the refunds of the tokens that the store took.
   *
   * @param charges see {@link #charge(List)}
   * @param tentative the tracker of tokens that are taken before the decision is known
   * @return see {@link #charge(List)}
   * @throws StoreException if the store could not decide
   */
  default List<Reading> charge(List<Charge> charges, Tentative tentative) {
    return charge(charges);
  }

  /**
   * Decides on a batch like {@link #chargeAsync(List)}. A store that takes tokens before the whole
   * batch is decided reports the tokens to the tracker {@code tentative}. If the batch is denied,
   * the tracker computes the refunds of the tokens that the store took.
   *
   * @param charges see {@link #chargeAsync(List)}
   * @param tentative the tracker of tokens that are taken before the decision is known
   * @return see {@link #chargeAsync(List)}
   */
  default CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
    return chargeAsync(charges);
  }

  /**
   * Returns a view of this store for one operation of a limiter, which can need several charges.
   * All charges through the view share one time-out, which starts with the call of this method. A
   * charge after the time-out fails at once and changes no bucket. Never blocks.
   *
   * @return the view, which need not be closed; this store itself if the store has no time-out
   */
  default BucketStore forOneCall() {
    return this;
  }

  /**
   * Checks that all charges of a batch have different keys. Two charges on one bucket would have an
   * undefined result, so implementations of {@link #charge} call this method first.
   *
   * @param charges a batch
   * @throws IllegalArgumentException if two charges have the same key; the message contains the key
   */
  static void requireDifferentKeys(List<Charge> charges) {
    if (charges.size() < 2) {
      return;
    }
    Set<String> keys = new HashSet<>();
    for (Charge charge : charges) {
      if (!keys.add(charge.key())) {
        throw new IllegalArgumentException(
            "the batch charges the bucket %s twice; join the two charges, or charge them one after the other"
                .formatted(charge.key()));
      }
    }
  }

  /**
   * Checks that the store can be reached. Can block for a round trip.
   *
   * @throws StoreException if the store cannot be reached; the message contains the reason
   */
  default void ping() {}

  /**
   * Returns the largest difference between the clocks that decide on the buckets. A TAT that
   * exceeds now + τ by at most the clock difference is not a debt, since a server with a fast clock
   * may have set the TAT.
   *
   * @return the difference in nanoseconds; 0 if only one clock decides
   */
  default long clockSkewNanos() {
    return 0;
  }

  /**
   * Returns the current time of the clock that decides on the buckets. Never blocks, never throws.
   *
   * @return the time in nanoseconds since the Unix epoch; empty if the store is closed or its time
   *     is unknown
   */
  default OptionalLong nowNanos() {
    return OptionalLong.empty();
  }

  /**
   * Returns the number of live (not full) buckets in the store, for metrics. Never blocks.
   *
   * @return the number of live buckets, which can include some buckets that are full by now; empty
   *     if unknown
   */
  default OptionalLong liveBuckets() {
    return OptionalLong.empty();
  }

  /**
   * Returns the largest number of live buckets in the store, for metrics. Never blocks.
   *
   * @return the number of live buckets at which the store refuses new buckets; empty if the store
   *     has no bound, or does not know its bound
   */
  default OptionalLong maxLiveBuckets() {
    return OptionalLong.empty();
  }

  /**
   * Returns the keys of some buckets in the store, for programs that inspect many buckets. Searches
   * for keys in small steps, so that decisions do not wait for the whole search. Blocks until the
   * search ends.
   *
   * @param most the largest number of keys to return
   * @param longest how long to search for keys; after this time, the search ends with its current
   *     step
   * @return different keys in no particular order, possibly also keys of full buckets and of other
   *     programs; empty if the store cannot list keys
   * @throws StoreException if the keys could not be read
   */
  default Optional<List<String>> someKeys(int most, Duration longest) {
    return Optional.empty();
  }

  /**
   * Returns the list of the processes that use this store.
   *
   * @return the list; empty if the store keeps no list of processes
   */
  default Optional<Presence> presence() {
    return Optional.empty();
  }

  /** Releases the store's resources. Closing a closed store does nothing. */
  @Override
  default void close() {}

  /**
   * Returns a store in this process's memory that uses the system's time.
   *
   * @return a new, empty store
   */
  static BucketStore inMemory() {
    return MemoryStore.builder().build();
  }

  /**
   * Returns a store in this process's memory that uses a given clock, for replays and tests.
   *
   * @param time the clock
   * @return a new, empty store
   */
  static BucketStore inMemory(TimeSource time) {
    return MemoryStore.builder().time(time).build();
  }

  /**
   * Returns a store in this process's memory with a given clock and bound.
   *
   * @param time the clock
   * @param maxBuckets the largest number of live buckets (buckets that are not full), 1 to
   *     200,000,000; a charge that needs a further bucket fails with a {@link StoreException}
   * @return a new, empty store
   */
  static BucketStore inMemory(TimeSource time, long maxBuckets) {
    return MemoryStore.builder().time(time).maxBuckets(maxBuckets).build();
  }

  /** A list of the processes that use a store, kept in the store. Thread-safe. */
  @FunctionalInterface
  interface Presence {

    /**
     * Adds a process to the list of processes, and returns the list. Blocks for a round trip.
     *
     * @param process the unique name of the process, without line breaks
     * @param time how long the process stays on the list, at most a minute; zero removes the
     *     process
     * @return the names of all processes on the list, in no particular order
     * @throws StoreException if no server of the store answers
     */
    List<String> announce(String process, Duration time);
  }

  /**
   * Tracks tokens that a store takes before the whole batch is decided, and computes their refunds.
   *
   * <p>A store on several servers sends each server its part of the batch at the same time. If one
   * server denies its part of the batch, the tokens that other servers took for this batch must be
   * given back. The number of tokens to give back depends on the refunds and resets of the bucket,
   * which only the limiter knows. The limiter implements {@code Tentative}. Thread-safe; never
   * blocks.
   */
  @FunctionalInterface
  interface Tentative {

    /**
     * Called before the store sends a charge whose tokens must be given back if the batch is
     * denied.
     *
     * @param charge a spend in a batch that is split over several servers
     * @return the tracker of the charge; the store calls either {@link Part#kept}, or {@link
     *     Part#giveBack} and {@link Part#gaveBack}
     */
    Part begin(Charge charge);

    /** Tracks one charge. The store never calls two methods of a tracker at the same time. */
    interface Part {

      /**
       * Returns the refund of a charge whose batch was denied.
       *
       * @param found the store's time and the bucket's TAT before the charge
       * @return the refund to send; null if there is nothing to give back, so that the store calls
       *     no other method of this tracker
       */
      @Nullable Charge giveBack(Reading found);

      /**
       * Called when the store has applied the refund, or when the refund has failed.
       *
       * @param found the store's time and the bucket's TAT before the refund; null if it is unknown
       *     whether the refund was applied
       */
      void gaveBack(@Nullable Reading found);

      /** Called if the batch was allowed and the tokens stay spent, or if no tokens were taken. */
      void kept();
    }
  }

  /**
   * One operation on one bucket, as plain data: all that a store needs for a decision.
   *
   * <p>Immutable and thread-safe.
   *
   * @param key the bucket key, not empty; the store does not interpret it
   * @param effect the operation and its parameters
   */
  record Charge(String key, Effect effect) {

    /**
     * Makes a charge from the parameters of its effect.
     *
     * @param key the bucket key, not empty; the store does not interpret it
     * @param op see {@link Effect}
     * @param incrementNanos see {@link Effect}
     * @param offsetNanos see {@link Effect}
     * @param untilNanos see {@link Effect}
     */
    public Charge(String key, Op op, long incrementNanos, long offsetNanos, long untilNanos) {
      this(key, new Effect(op, incrementNanos, offsetNanos, untilNanos));
    }

    /**
     * Returns the operation.
     *
     * @return the effect's operation
     */
    public Op op() {
      return effect.op();
    }

    /**
     * Returns the time by which the operation moves the TAT.
     *
     * @return the effect's increment
     */
    public long incrementNanos() {
      return effect.incrementNanos();
    }

    /**
     * Returns the burst offset τ of the bucket's limit.
     *
     * @return the effect's offset
     */
    public long offsetNanos() {
      return effect.offsetNanos();
    }

    /**
     * Returns a number that depends on the operation; see {@link Effect#untilNanos}.
     *
     * @return the effect's {@link Effect#untilNanos}, unsigned
     */
    public long untilNanos() {
      return effect.untilNanos();
    }

    /**
     * Returns {@link Effect#passes} of this charge's effect.
     *
     * @param nowNanos the store's current time
     * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
     * @return false only if the operation can deny its batch and its increment does not fit into
     *     the bucket
     */
    public boolean passes(long nowNanos, long tatNanos) {
      return effect.passes(nowNanos, tatNanos);
    }

    /**
     * Returns {@link Effect#tatAfterNanos} of this charge's effect.
     *
     * @param nowNanos the store's current time
     * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
     * @param batchPasses whether every charge of the batch {@link #passes}
     * @return the TAT to store
     */
    public long tatAfterNanos(long nowNanos, long tatNanos, boolean batchPasses) {
      return effect.tatAfterNanos(nowNanos, tatNanos, batchPasses);
    }
  }

  /**
   * The state of a bucket at the moment of a store's decision on a charge; {@code Gcra} computes
   * all other numbers from this state.
   *
   * @param nowNanos the store's time of the decision, in nanoseconds since the Unix epoch
   * @param tatNanos the TAT <em>before</em> the charge, unsigned; 0 if there was no bucket
   */
  record Reading(long nowNanos, long tatNanos) {}

  /**
   * Receives events of a remote store for metrics, such as calls to servers and time-outs, which a
   * {@code LimiterObserver} does not receive.
   *
   * <p>Observer methods are called on threads of the store and of callers, so observers must be
   * fast and never block. While an observer blocks, results of other calls are delayed, up to their
   * time-outs. The store reports time-outs on another thread, so that the observer cannot delay a
   * time-out. While a time-out waits to be reported, later events are reported after the time-out,
   * on the same thread. While 16,384 events wait to be reported, the store drops further events,
   * and logs that it dropped them. The observer's first exception is logged; none of its exceptions
   * reaches a caller. Implementations are thread-safe.
   */
  interface Observer {

    /**
     * Called when a call to a server has ended.
     *
     * @param server host and port, or another name of the server
     * @param result how the call ended
     * @param batches how many batches the store sent in this call
     * @param charges how many charges all batches of the call had in total
     * @param elapsedNanos the duration of the call
     */
    default void called(
        String server, Result result, int batches, int charges, long elapsedNanos) {}

    /**
     * Called when a batch failed before it was sent; nothing was charged.
     *
     * @param server host and port, or another name of the server
     * @param why the reason
     */
    default void refused(String server, Refusal why) {}

    /** Called when the store denied a charge from memory, without a call to a server. */
    default void deniedFromMemory() {}

    /**
     * Called when the store has marked a server down, or up again.
     *
     * @param server host and port, or another name of the server
     * @param state the new state
     * @param reason why the server was marked down or up
     */
    default void changed(String server, State state, String reason) {}

    /** The result of a call to a server. */
    enum Result {
      /** The server decided. */
      ANSWERED,
      /** The server returned an error, or could not be reached. */
      FAILED,
      /** The server's answer did not come in time. */
      TIMED_OUT
    }

    /** The reason why a batch was not sent. */
    enum Refusal {
      /** The queue was full. */
      QUEUE_FULL,
      /** The batch waited in the queue for too long. */
      WAITED_TOO_LONG,
      /** The server is marked down. */
      DOWN,
      /** Another transaction of the database has locked a bucket of the batch. */
      LOCKED
    }

    /** The state of the circuit breaker of a server. */
    enum State {
      /** Charges are sent to the server. */
      UP,
      /**
       * Charges are not sent to the server but fail at once; probes check whether the server is
       * back.
       */
      DOWN
    }
  }
}
