// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.WaitQueues.LastRefundTimes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A view into a limiter for the simulator, which requires that it is empty after a run. */
public final class Insides {

  private Insides() {}

  /**
   * Returns how many reservations a limiter follows.
   *
   * @param limiter the limiter
   * @return the reservations that were neither cancelled nor closed
   */
  public static int openStretches(Limiter limiter) {
    return limiter.openReservations().size();
  }

  /**
   * Returns the number of buckets whose reservations or refunds a limiter follows.
   *
   * @param limiter the limiter
   * @return the number of buckets with an entry
   */
  public static int buckets(Limiter limiter) {
    return limiter.openReservations().buckets();
  }

  /**
   * Returns how many spends, refunds and resets are in flight, as far as the limiter knows.
   *
   * @param limiter the limiter
   * @return the calls that have not completed for the limiter
   */
  public static int inFlight(Limiter limiter) {
    return limiter.openReservations().inFlight();
  }

  /**
   * Returns how many places in line callers of {@code acquire} hold, or have left.
   *
   * @param limiter the limiter
   * @return the places in the store plus those of a failure rule
   */
  public static int waiting(Limiter limiter) {
    return limiter.waiting();
  }

  /**
   * Returns whether settlements wait until the store is back.
   *
   * @param limiter the limiter
   * @return false if none waits
   */
  public static boolean settlesLater(Limiter limiter) {
    return limiter.settlesLater();
  }

  /**
   * Returns the entry in which a limiter records its last give-back to a bucket.
   *
   * @param bucketKey the bucket
   * @return the number of an entry, which several buckets may share
   */
  public static int entryOf(String bucketKey) {
    return LastRefundTimes.entry(bucketKey);
  }

  /**
   * A decision on one bucket.
   *
   * @param decision the decision
   * @param transaction the transaction on that bucket, null if there was none
   */
  public record Part(Decision decision, @Nullable Transaction transaction) {}

  /**
   * Returns the transactions on single buckets that a transaction stands for.
   *
   * @param asked a transaction, whose limit may have several quotas
   * @return one for each quota, the longest first; the transaction itself if there is only one
   */
  public static List<Transaction> parts(Transaction asked) {
    return asked.isSeveral() ? asked.parts() : List.of(asked);
  }

  /**
   * Returns the decisions on single buckets in a decision.
   *
   * @param decision a decision, perhaps on a batch
   * @return those on its parts, and in place of a part with several quotas those on each
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

  /** How the thread of a caller waits; see {@link Parking}. */
  public interface Waiting {

    /**
     * Lets a caller wait for a future.
     *
     * @param future the future to wait for
     * @throws InterruptedException if the caller is interrupted
     */
    void untilDone(CompletableFuture<?> future) throws InterruptedException;

    /**
     * Lets a caller wait until it is woken up or interrupted.
     *
     * @param isAwake whether the caller was woken up
     * @param nanos the longest wait
     */
    void untilAwake(BooleanSupplier isAwake, long nanos);
  }

  /**
   * Makes blocked callers wait as the simulator wants.
   *
   * @param builder the builder of a limiter whose callers are one thread
   * @param waiting how callers wait
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
   * @param id the id
   * @param tokens how many tokens the lease takes at a time
   * @param ticker the clock of the process
   * @return the lease
   */
  public static Lease lease(
      Limiter limiter, String limit, String id, int tokens, LongSupplier ticker) {
    return limiter.lease(limit, id, tokens, ticker, 1);
  }
}
