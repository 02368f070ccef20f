// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** A view into a limiter for the simulator: at the end of a run it must be empty. */
public final class Insides {

  private Insides() {}

  /**
   * Returns how many reservations a limiter follows.
   *
   * @param limiter the limiter
   * @return those that were neither cancelled nor closed
   */
  public static int openStretches(Limiter limiter) {
    return limiter.openReservations().size();
  }

  /**
   * Returns of how many buckets a limiter follows reservations or refunds.
   *
   * @param limiter the limiter
   * @return those that have an entry
   */
  public static int buckets(Limiter limiter) {
    return limiter.openReservations().buckets();
  }

  /**
   * Returns how many spends, refunds and resets are in flight, as far as the limiter knows.
   *
   * @param limiter the limiter
   * @return those that have not completed for it
   */
  public static int inFlight(Limiter limiter) {
    return limiter.openReservations().inFlight();
  }

  /**
   * Returns how many places callers of {@code acquire} wait for, or left.
   *
   * @param limiter the limiter
   * @return those in the store, and those by a rule in its place
   */
  public static int waiting(Limiter limiter) {
    return limiter.waiting();
  }

  /**
   * Returns where a limiter keeps when it last gave tokens back to a bucket.
   *
   * @param bucketKey the bucket
   * @return an entry that it may share with others
   */
  public static int entryOf(String bucketKey) {
    return LastLowered.entry(bucketKey);
  }

  /** How the thread of a caller waits; see {@link Parking}. */
  public interface Waiting {

    /**
     * Lets a caller wait for a future.
     *
     * @param future what it waits for
     * @throws InterruptedException if the caller is interrupted
     */
    void untilDone(CompletableFuture<?> future) throws InterruptedException;

    /**
     * Lets a caller wait until it is woken up or interrupted.
     *
     * @param isAwake whether it was woken up
     * @param nanos the longest wait
     */
    void untilAwake(BooleanSupplier isAwake, long nanos);
  }

  /**
   * Lets callers that block wait in a way of the simulator.
   *
   * @param builder of a limiter whose callers are one thread
   * @param waiting how they wait
   * @return the builder
   */
  public static Limiter.Builder waiting(Limiter.Builder builder, Waiting waiting) {
    boolean[] awake = new boolean[1];
    return builder.parking(
        new Parking() {
          @Override
          public <T> T await(CompletableFuture<T> future)
              throws InterruptedException, ExecutionException {
            waiting.untilDone(future);
            return future.get();
          }

          @Override
          public Runnable wakeUp() {
            return () -> awake[0] = true;
          }

          @Override
          public void park(Object why, long nanos) {
            waiting.untilAwake(() -> awake[0], nanos);
            awake[0] = false;
          }
        });
  }

  /**
   * Returns a lease of one share: all callers of a simulated process are one thread.
   *
   * @param limiter the limiter
   * @param limit the limit's name
   * @param id what is limited
   * @param tokens how many are taken at a time
   * @param ticker the time of the process
   * @return the lease
   */
  public static Lease lease(
      Limiter limiter, String limit, String id, int tokens, LongSupplier ticker) {
    return limiter.lease(limit, id, tokens, ticker, 1);
  }
}
