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
 * Stores the TATs of buckets, and decides on charges where the TATs are stored.
 *
 * <p>Its one operation is to charge a batch. An implementation guarantees:
 *
 * <ul>
 *   <li><b>Atomic.</b> The charges of a batch take effect together, at one moment between the call
 *       and its return; no other call sees a part of it. If a charge that votes does not fit, no
 *       charge is made. (A store over several servers may let concurrent callers see intermediate
 *       states, which its documentation describes; it never grants more than the limit allows.)
 *   <li><b>Own clock.</b> The store reads the time once for a batch, where the buckets are stored
 *       (once per server, if there are several); callers never supply it.
 *   <li><b>Arithmetic.</b> Decisions follow {@link Effect#passes} and {@link Effect#tatAfterNanos}.
 *   <li><b>Order of give-backs.</b> On one bucket, a reset or a forgiven debt is not applied before
 *       a refund that was sent earlier. None of the three is applied before an earlier withdrawal.
 *       A charge that failed may still be applied later.
 *   <li><b>Bounded.</b> Every call ends by the store's time-out, with readings or with a {@link
 *       StoreException}; all calls of one {@link #forOneCall} share one time-out. A live bucket is
 *       never dropped silently.
 * </ul>
 *
 * <p>Thread-safe. {@link #charge} may block for a round trip, up to the store's time-out; {@link
 * #chargeAsync} never blocks.
 */
public interface BucketStore extends AutoCloseable {

  /**
   * Decides on a batch: all of its charges or none.
   *
   * @param charges at least one, no two with the same key
   * @return the reading of each bucket before its charge, in the order of the charges
   * @throws StoreException if the store could not decide
   * @throws IllegalArgumentException for two charges with the same key
   */
  List<Reading> charge(List<Charge> charges);

  /**
   * Decides on a batch without blocking the caller.
   *
   * @param charges at least one, no two with the same key
   * @return the reading of each bucket before its charge, in the order of the charges. If the store
   *     could not decide, the stage fails with a {@link StoreException}, which may be wrapped in a
   *     {@link java.util.concurrent.CompletionException}
   * @throws IllegalArgumentException for two charges with the same key
   */
  default CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
    try {
      return CompletableFuture.completedFuture(charge(charges));
    } catch (StoreException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Decides on a batch as {@link #charge(List)} does. A store that may take tokens before the
   * verdict on the batch reports them to {@code tentative}, which decides on their refunds.
   *
   * @param charges as above
   * @param tentative follows tokens that are taken before the verdict is known
   * @return as above
   * @throws StoreException as above
   */
  default List<Reading> charge(List<Charge> charges, Tentative tentative) {
    return charge(charges);
  }

  /**
   * Decides on a batch as {@link #chargeAsync(List)} does. A store that may take tokens before the
   * verdict on the batch reports them to {@code tentative}, which decides on their refunds.
   *
   * @param charges as above
   * @param tentative follows tokens that are taken before the verdict is known
   * @return as above
   */
  default CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
    return chargeAsync(charges);
  }

  /**
   * Returns a view of this store for one caller's call, which may need several charges. They share
   * one time-out, counted from now. A charge after the time-out fails at once, and takes nothing.
   * Never blocks.
   *
   * @return the view, which need not be closed; this store itself if it has no time-out
   */
  default BucketStore forOneCall() {
    return this;
  }

  /**
   * Throws for a batch with two charges on one bucket, whose result is not defined. Stores call
   * this first.
   *
   * @param charges a batch
   * @throws IllegalArgumentException for two charges with the same key, which it names
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
   * Checks that the store is reachable. May block for a round trip.
   *
   * @throws StoreException if it is unreachable, saying why
   */
  default void ping() {}

  /**
   * Returns the largest difference between the clocks that decide on these buckets. If a TAT
   * exceeds now + τ by at most this difference, another clock is ahead.
   *
   * @return nanoseconds; 0 if one clock decides
   */
  default long clockSkewNanos() {
    return 0;
  }

  /**
   * Returns the current time of the clock that decides on the buckets. Never blocks, never throws.
   *
   * @return nanoseconds since the Unix epoch; empty if the store is closed, or if only a server
   *     knows the time
   */
  default OptionalLong nowNanos() {
    return OptionalLong.empty();
  }

  /**
   * Returns the number of live buckets (those that are not full) that the store keeps, for metrics.
   * Never blocks.
   *
   * @return the number, which may include some buckets that are full by now; empty if unknown
   */
  default OptionalLong liveBuckets() {
    return OptionalLong.empty();
  }

  /**
   * Returns the number of live buckets that the store may keep, for metrics. Never blocks.
   *
   * @return the bound at which new buckets are refused; empty if there is none, or it is unknown
   */
  default OptionalLong maxLiveBuckets() {
    return OptionalLong.empty();
  }

  /**
   * Returns keys of buckets that the store keeps, for a look at many buckets. Reads them in small
   * steps, so that decisions do not wait. Blocks for all steps.
   *
   * @param most the most keys to return
   * @param longest how long to look for keys; a step that has begun may last longer
   * @return different keys in no order, perhaps also some of full buckets and of other programs;
   *     empty if the store cannot list its keys
   * @throws StoreException if the keys could not be read
   */
  default Optional<List<String>> someKeys(int most, Duration longest) {
    return Optional.empty();
  }

  /**
   * Returns the list of processes that use this store.
   *
   * @return the list; empty if the store cannot keep one
   */
  default Optional<Presence> presence() {
    return Optional.empty();
  }

  /** Releases the store's resources. A second call does nothing. */
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
   * @param maxBuckets the most live buckets (those that are not full) that it keeps, 1 to
   *     200,000,000; a charge that needs one more fails with a {@link StoreException}
   * @return a new, empty store
   */
  static BucketStore inMemory(TimeSource time, long maxBuckets) {
    return MemoryStore.builder().time(time).maxBuckets(maxBuckets).build();
  }

  /** The list, inside a store, of the processes that use it. Thread-safe. */
  @FunctionalInterface
  interface Presence {

    /**
     * Adds a process to the list, and returns the list. Blocks for a round trip.
     *
     * @param process the unique name of the process, without line breaks
     * @param time how long the process stays on the list, at most a minute; zero removes it
     * @return the names of all processes on the list, in no order
     * @throws StoreException if no server of the store answers
     */
    List<String> announce(String process, Duration time);
  }

  /**
   * Follows tokens that a store takes before it knows the verdict on a batch, and decides how many
   * to give back.
   *
   * <p>A store over several servers sends each server its part at once. If one server denies, the
   * others have taken tokens in vain. How many may be given back depends on all other refunds and
   * resets of the bucket, which the caller of the store knows and the store does not. Thread-safe;
   * never blocks.
   */
  @FunctionalInterface
  interface Tentative {

    /**
     * Called before a charge is sent that may have to be given back.
     *
     * @param charge a spend of a batch over several servers
     * @return the charge's follower; the store calls either {@link Part#kept}, or {@link
     *     Part#giveBack} and {@link Part#gaveBack}
     */
    Part begin(Charge charge);

    /** Follows one charge. Its threads take turns. */
    interface Part {

      /**
       * Returns the refund of a charge that was made in vain.
       *
       * @param found the reading before the charge
       * @return the refund to send, null if nothing may be given back; then no other method is
       *     called
       */
      @Nullable Charge giveBack(Reading found);

      /**
       * Called when the refund was answered, or failed.
       *
       * @param found the reading before the refund, null if it is unknown whether it was made
       */
      void gaveBack(@Nullable Reading found);

      /** Called if the charge stays spent, or was not made. */
      void kept();
    }
  }

  /**
   * One operation on one bucket, as plain data: all that a store needs to know.
   *
   * <p>Immutable and thread-safe.
   *
   * @param key the bucket key, not empty; opaque to the store
   * @param effect what is to be done
   */
  record Charge(String key, Effect effect) {

    /**
     * Makes a charge of the parts of its effect.
     *
     * @param key the bucket key, not empty; opaque to the store
     * @param op as in {@link Effect}
     * @param incrementNanos as in {@link Effect}
     * @param offsetNanos as in {@link Effect}
     * @param untilNanos as in {@link Effect}
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
     * The time that the operation adds to the TAT or gives back.
     *
     * @return the effect's increment
     */
    public long incrementNanos() {
      return effect.incrementNanos();
    }

    /**
     * The burst offset τ of the bucket's limit.
     *
     * @return the effect's offset
     */
    public long offsetNanos() {
      return effect.offsetNanos();
    }

    /**
     * The instant from which a refund gives nothing back, the TAT that a withdrawal expects, or the
     * emission interval of a spend of up to some tokens.
     *
     * @return the effect's end, unsigned
     */
    public long untilNanos() {
      return effect.untilNanos();
    }

    /**
     * Same as {@link Effect#passes}.
     *
     * @param nowNanos the store's current time
     * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
     * @return false only where the operation votes and does not fit
     */
    public boolean passes(long nowNanos, long tatNanos) {
      return effect.passes(nowNanos, tatNanos);
    }

    /**
     * Same as {@link Effect#tatAfterNanos}.
     *
     * @param nowNanos the store's current time
     * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
     * @param batchPasses whether every charge of the batch {@link #passes}
     * @return the TAT to keep
     */
    public long tatAfterNanos(long nowNanos, long tatNanos, boolean batchPasses) {
      return effect.tatAfterNanos(nowNanos, tatNanos, batchPasses);
    }
  }

  /**
   * The state of a bucket when a store decided on a charge; {@code Gcra} computes all other numbers
   * from it.
   *
   * @param nowNanos the store's time at that moment, nanoseconds since the Unix epoch
   * @param tatNanos the TAT <em>before</em> the charge, unsigned; 0 if there was no bucket
   */
  record Reading(long nowNanos, long tatNanos) {}

  /**
   * Receives, for metrics, events of a store on servers that a {@code LimiterObserver} cannot see.
   *
   * <p>Called on the store's threads and on those of callers: keep it short, never block. While it
   * blocks, the answers to other callers wait, up to their time-outs. Time-outs, and later events
   * while those wait, are reported in order on another thread, so that the observer cannot delay
   * time-outs; while 16,384 events wait, more are dropped and logged. The observer's first
   * exception is logged; none reaches a caller. Implementations are thread-safe.
   */
  interface Observer {

    /**
     * Called when a call of a server ended.
     *
     * @param server host and port, or another name of the server
     * @param result how the call ended
     * @param batches how many callers shared the call
     * @param charges how many charges they had together
     * @param elapsedNanos how long the call took
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

    /** Called when a remembered denial answered a charge, without a call. */
    default void deniedFromMemory() {}

    /**
     * Called when a server was marked down, or up again.
     *
     * @param server host and port, or another name of the server
     * @param state the new state
     * @param reason why the state changed
     */
    default void changed(String server, State state, String reason) {}

    /** The end of a call. */
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
      /** The batch's turn did not come in time. */
      WAITED_TOO_LONG,
      /** The server is marked down. */
      DOWN
    }

    /** The state of a server in its circuit breaker. */
    enum State {
      /** The server is called. */
      UP,
      /** The server is not called: charges fail at once, and probes check for its return. */
      DOWN
    }
  }
}
