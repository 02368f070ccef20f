// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the TATs of buckets, and decides on charges where they are kept.
 *
 * <p>One verb: charge a batch. An implementation guarantees:
 *
 * <ul>
 *   <li><b>Atomic.</b> The charges of a batch take effect as one, at one moment between the call
 *       and its return; no other call sees a part of it. If one that votes does not fit, none is
 *       made. (A store over several servers may loosen what a concurrent observer can see; it never
 *       gives out more than the limit allows, and its documentation says what can be seen.)
 *   <li><b>Its own time.</b> The present is read once for a batch, where the buckets are kept (over
 *       several servers: once for each), never handed in by a caller.
 *   <li><b>The law</b> is {@link Effect#passes} and {@link Effect#tatAfterNanos}.
 *   <li><b>In order, where tokens come back.</b> On one bucket, a reset or a forgiven debt is not
 *       decided on before a refund that was asked for earlier. None of the three is decided on
 *       before an earlier withdrawal. One that failed may still be decided on later.
 *   <li><b>Bounded.</b> Every call ends: with readings, or with a {@link StoreException} by the
 *       store's time-out. So do all those of one {@link #forOneCall}, together. A live bucket is
 *       never forgotten silently.
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
   * @return what was found for each, in the order of the charges
   * @throws StoreException if the store could not decide
   * @throws IllegalArgumentException for two charges with the same key
   */
  List<Reading> charge(List<Charge> charges);

  /**
   * Decides on a batch without blocking the caller.
   *
   * @param charges at least one, no two with the same key
   * @return what was found for each, in the order of the charges. If the store could not decide,
   *     the stage fails with a {@link StoreException}, or with a {@link
   *     java.util.concurrent.CompletionException} around one, as stages pass it on.
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
   * Decides on a batch as {@link #charge(List)} does. A store that may take parts of a batch before
   * the verdict reports them to {@code tentative}, and refunds them as that says.
   *
   * @param charges as above
   * @param tentative follows what is taken before the verdict is known
   * @return as above
   * @throws StoreException as above
   */
  default List<Reading> charge(List<Charge> charges, Tentative tentative) {
    return charge(charges);
  }

  /**
   * Decides on a batch as {@link #chargeAsync(List)} does. A store that may take parts of a batch
   * before the verdict reports them to {@code tentative}, and refunds them as that says.
   *
   * @param charges as above
   * @param tentative follows what is taken before the verdict is known
   * @return as above
   */
  default CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
    return chargeAsync(charges);
  }

  /**
   * Returns a view of this store for one caller's call, which may need more than one charge. They
   * share one time-out, counted from now. A charge after it fails at once, and takes nothing. Never
   * blocks.
   *
   * @return the view, which need not be closed; this store where it has no time-out
   */
  default BucketStore forOneCall() {
    return this;
  }

  /**
   * Refuses a batch with two charges on one bucket: what the second one should find is not defined.
   * For stores to call first.
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
   * @throws StoreException if it is not, saying why
   */
  default void ping() {}

  /**
   * Returns the most by which the clocks may differ that decide for the users of these buckets. A
   * TAT that lies beyond now + τ by no more than this comes from a clock that is ahead.
   *
   * @return nanoseconds; 0 where one clock decides
   */
  default long clockSkewNanos() {
    return 0;
  }

  /**
   * The present by which the buckets are decided on. Never blocks.
   *
   * @return nanoseconds since the Unix epoch; empty where it is not known without asking a server
   */
  default OptionalLong nowNanos() {
    return OptionalLong.empty();
  }

  /**
   * Returns the number of live buckets (those that are not full) that the store keeps, for metrics.
   * Never blocks.
   *
   * @return the number, which may still count some that have filled up; empty where the store does
   *     not know
   */
  default OptionalLong liveBuckets() {
    return OptionalLong.empty();
  }

  /**
   * Returns the number of live buckets that the store may keep, for metrics. Never blocks.
   *
   * @return the bound from which on new buckets are refused; empty where there is none, or the
   *     store does not know
   */
  default OptionalLong maxLiveBuckets() {
    return OptionalLong.empty();
  }

  /** Releases what the store holds. A second call does nothing. */
  @Override
  default void close() {}

  /**
   * A store in this process's memory, on the system's time.
   *
   * @return a new, empty store
   */
  static BucketStore inMemory() {
    return MemoryStore.builder().build();
  }

  /**
   * A store in this process's memory on a given clock, for replays and tests.
   *
   * @param time the clock
   * @return a new, empty store
   */
  static BucketStore inMemory(TimeSource time) {
    return MemoryStore.builder().time(time).build();
  }

  /**
   * A store in this process's memory on a given clock with a given bound.
   *
   * @param time the clock
   * @param maxBuckets the most live buckets (those that are not full) that it keeps, 1 to
   *     200,000,000; a charge that would need another bucket is refused with a {@link
   *     StoreException}
   * @return a new, empty store
   */
  static BucketStore inMemory(TimeSource time, long maxBuckets) {
    return MemoryStore.builder().time(time).maxBuckets(maxBuckets).build();
  }

  /**
   * Follows what a store takes before it knows the verdict on a batch, and says how to give it
   * back.
   *
   * <p>A store over several servers charges each server its part at once. Where one denies, the
   * others have taken tokens in vain. The amount that may be given back depends on all other
   * refunds and resets of that bucket, which the caller of the store knows and the store does not.
   * Thread-safe; never blocks.
   */
  @FunctionalInterface
  interface Tentative {

    /**
     * Called before a charge leaves that may have to be given back.
     *
     * @param charge a spend of a batch over several servers
     * @return its follower, which is told how it ends: by {@link Part#kept}, or by {@link
     *     Part#giveBack} and {@link Part#gaveBack}
     */
    Part begin(Charge charge);

    /** Follows one charge. Used by one thread after the other. */
    interface Part {

      /**
       * Returns the refund of a charge that was made in vain.
       *
       * @param found what the charge found
       * @return what to charge in its stead, null where nothing may be given back; then no other
       *     method is called
       */
      @Nullable Charge giveBack(Reading found);

      /**
       * Called when the refund was answered, or failed.
       *
       * @param found what it found, null where it is unknown whether the store has made it
       */
      void gaveBack(@Nullable Reading found);

      /** Called where the charge stays as it is, or was not made. */
      void kept();
    }
  }
}
