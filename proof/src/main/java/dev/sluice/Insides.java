// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.PendingAcquire.Parking;
import dev.sluice.WaitQueues.LastRefundTimes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Gives the simulator access to package-private parts of a limiter. */
public final class Insides {

  private Insides() {}

  /**
   * Returns the number of reservations that a limiter tracks.
   *
   * @return the number of reservations that were neither cancelled nor closed
   */
  public static int openStretches(Limiter limiter) {
    return limiter.openReservations().size();
  }

  /** Returns the number of buckets for which a limiter tracks reservations or refunds. */
  public static int buckets(Limiter limiter) {
    return limiter.openReservations().buckets();
  }

  /** Returns the number of spends, refunds and resets that a limiter counts as in flight. */
  public static int inFlight(Limiter limiter) {
    return limiter.openReservations().inFlight();
  }

  /**
   * Returns how many callers of {@code acquire} wait in the limiter's queues, including callers
   * that gave up but are still in a queue.
   */
  public static int waiting(Limiter limiter) {
    return limiter.waiting();
  }

  /** Returns whether a limiter has settlements that wait until the store is available again. */
  public static boolean settlesLater(Limiter limiter) {
    return limiter.settlesLater();
  }

  /**
   * Returns the index in the limiter's table at which the limiter records its last refund to a
   * bucket.
   *
   * @return the index of the entry; several buckets can share a table entry
   */
  public static int entryOf(String bucketKey) {
    return LastRefundTimes.entry(bucketKey);
  }

  /**
   * A decision on one bucket.
   *
   * @param transaction the transaction on the bucket, null if the decision has none
   */
  public record Part(Decision decision, @Nullable Transaction transaction) {}

  /**
   * Splits a transaction into one transaction per bucket. A limit with several quotas has one
   * bucket per quota.
   *
   * @return one transaction per quota, beginning with the quota of the longest period
   */
  public static List<Transaction> parts(Transaction asked) {
    return asked.isSeveral() ? asked.parts() : List.of(asked);
  }

  /**
   * Splits a decision into one decision per bucket. A limit with several quotas has one bucket per
   * quota.
   *
   * @param decision the decision on a single transaction or a batch
   * @return the decisions, in the order of the transactions and their quotas
   */
  public static List<Part> parts(Decision decision) {
    List<Part> parts = new ArrayList<>();
    for (Decision part : decision.parts()) {
      if (part.quotas().isEmpty()) {
        parts.add(new Part(part, part.transaction()));
      }
      for (int i = 0; i < part.quotas().size(); i++) {
        Decision one = part.quotas().get(i);
        Transaction whole = one.transaction();
        parts.add(new Part(one, whole == null ? null : whole.parts().get(i)));
      }
    }
    return parts;
  }

  /** Blocks the threads of callers, in place of the real {@link Parking}. */
  public interface Waiting {

    /**
     * Blocks the caller until a future is done.
     *
     * @throws InterruptedException if the caller is interrupted
     */
    void untilDone(CompletableFuture<?> future) throws InterruptedException;

    /**
     * Blocks the caller until another thread wakes or interrupts the caller.
     *
     * @param isAwake returns whether another thread woke the caller
     * @param nanos the longest wait
     */
    void untilAwake(BooleanSupplier isAwake, long nanos);
  }

  /**
   * Replaces the way in which a limiter blocks its callers.
   *
   * @param builder the builder of a limiter that only one thread calls
   * @param waiting blocks the callers
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
   * Returns a lease that keeps its tokens in one counter, because a simulated process has only one
   * thread.
   *
   * @param tokens the number of tokens that the lease spends at a time
   * @param ticker the clock of the process
   */
  public static Lease lease(
      Limiter limiter, String limit, String id, int tokens, LongSupplier ticker) {
    return limiter.lease(limit, id, tokens, ticker, 1);
  }
}
