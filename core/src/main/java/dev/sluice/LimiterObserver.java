// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.GuardedObserver.ObserverList;
import dev.sluice.Reservation.Settlement;
import dev.sluice.limit.LimitName;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Receives the events of a limiter, for metrics.
 *
 * <p>Called after each decision, on the thread that received it: keep it short. The first exception
 * of an observer is logged; none reaches a caller. Implementations are thread-safe.
 */
public interface LimiterObserver {

  /**
   * Called for each transaction that was decided on, also within a batch.
   *
   * @param act the requested act, but {@link Act#CHECK} for a transaction that a denied batch would
   *     have spent, since nothing was taken for it
   * @param decision the transaction's own decision
   * @param elapsedNanos the duration of the whole call
   */
  default void decided(Act act, Decision decision, long elapsedNanos) {}

  /**
   * Called for many single spends on a path that allocates no decisions: a server protocol that
   * answers many requests at a time. By default calls {@link #decided} with each decision.
   *
   * @param limit the limit's name
   * @param spends the spends, during this call only
   * @param elapsedNanos the duration of the whole call
   */
  default void spent(LimitName limit, Spent spends, long elapsedNanos) {
    for (int i = 0; i < spends.count(); i++) {
      decided(Act.SPEND, spends.decision(i), elapsedNanos);
    }
  }

  /**
   * Called after each call of the store.
   *
   * @param act the requested act
   * @param charges how many buckets the call touched
   * @param failure the store's failure, null if it answered
   * @param elapsedNanos how long the call took
   */
  default void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {}

  /**
   * Called for each reservation that was settled as spent because too many are open, usually since
   * callers never close them.
   *
   * @param most the bound that was reached, such as that of one bucket
   */
  default void settledEarly(int most) {}

  /**
   * Called for each settlement of a reservation that the store did not apply in time, or whose
   * answer was lost, so that the reserved tokens may stay charged in place of the true cost.
   */
  default void settlementLost() {}

  /**
   * Called for each limit whose reserved cost a settlement has replaced by the true one. Of a limit
   * with several quotas, the part is that of the longest.
   *
   * @param part what the settlement has charged
   * @param estimate the reserved tokens
   * @param cost the true cost
   */
  default void settled(Settlement.Part part, long estimate, long cost) {}

  /**
   * Called when a caller begins to wait for tokens, once for each limit that it waits for. {@link
   * #waited} follows, on any thread.
   *
   * @param limit the limit whose tokens have not refilled yet
   */
  default void waits(LimitName limit) {}

  /**
   * Called when a caller stops waiting, or was not allowed to wait; once for each limit concerned.
   *
   * @param limit the limit
   * @param ending how the wait ended
   * @param waitedNanos how long the caller has waited; 0 where it was refused
   */
  default void waited(LimitName limit, Ending ending, long waitedNanos) {}

  /**
   * Called when the application should have supplied the quota of a request, in a rule for requests
   * or in an annotation, and failed to. The request is refused.
   *
   * @param limit the limit
   * @param failure the application's exception
   */
  default void quotaFailed(LimitName limit, Throwable failure) {}

  /**
   * Returns an observer that calls several observers in their order.
   *
   * @param observers copied
   * @return the observer; if one of its observers throws, those after it are not called
   */
  static LimiterObserver all(List<LimiterObserver> observers) {
    return observers.size() == 1 ? observers.get(0) : new ObserverList(observers);
  }

  /** Spends of one limit, in the order of their decisions. For one thread. */
  interface Spent {

    /**
     * Returns the number of spends.
     *
     * @return 1 or more
     */
    int count();

    /**
     * Returns whether a spend was allowed.
     *
     * @param index its place, from 0
     * @return true if the tokens were taken
     */
    boolean allowed(int index);

    /**
     * Returns whether a spend took tokens from a full bucket, so that the store had to store a new
     * bucket.
     *
     * @param index its place, from 0
     * @return false also if that is unknown, as by default
     */
    default boolean startedBucket(int index) {
      return false;
    }

    /**
     * Makes the decision on a spend.
     *
     * @param index its place, from 0
     * @return the decision
     */
    Decision decision(int index);
  }

  /** The endings of a wait. */
  enum Ending {
    /** The tokens have refilled. */
    PASSED,
    /** The caller was interrupted, cancelled, or timed out; its tokens are withdrawn. */
    GIVEN_UP,
    /** The wait would have been too long: denied at once. {@link #waits} was not called. */
    REFUSED
  }

  /** The acts of a limiter. */
  enum Act {
    /** Read the bucket, change nothing. */
    CHECK,
    /** Take tokens. */
    SPEND,
    /** Give tokens back. */
    REFUND,
    /** Set the bucket to full. */
    RESET
  }
}
