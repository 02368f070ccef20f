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
 * <p>The limiter calls an observer on the thread that received the decision, so the observer's
 * methods must return quickly. The first exception of an observer is logged; none of its exceptions
 * reaches a caller. Implementations are thread-safe.
 */
public interface LimiterObserver {

  /**
   * Called after the decision on each transaction, whether the transaction is alone or in a batch.
   *
   * @param act the requested operation. A spend that would have been allowed, but whose batch
   *     another transaction denied, counts as {@link Act#CHECK}, since it took no tokens
   * @param decision the transaction's own decision
   * @param elapsedNanos the duration of the whole call
   */
  default void decided(Act act, Decision decision, long elapsedNanos) {}

  /**
   * Called once for a series of independent spends, for which the limiter created no {@link
   * Decision} objects. For example, a server decides all spends of one read from the network as a
   * series. The default implementation calls {@link #decided} for each spend.
   *
   * @param limit the limit's name
   * @param spends the spends; the object is valid only during the call of this method
   * @param elapsedNanos the duration of the whole call
   */
  default void spent(LimitName limit, Spent spends, long elapsedNanos) {
    for (int i = 0; i < spends.count(); i++) {
      decided(Act.SPEND, spends.decision(i), elapsedNanos);
    }
  }

  /**
   * Called after each call to the store.
   *
   * @param act the requested operation
   * @param charges how many buckets the call charged
   * @param failure the store's failure, null if the store answered
   * @param elapsedNanos the duration of the call
   */
  default void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {}

  /**
   * Called for each open reservation that the limiter closes because too many reservations are
   * open, usually because the application never closes its reservations. The tokens of a
   * reservation that the limiter closes stay spent.
   *
   * @param most the exceeded bound on open reservations, in total or per bucket
   */
  default void settledEarly(int most) {}

  /**
   * Called for each settlement that the store did not apply in time, or to which the store's answer
   * was lost. The reserved tokens of a lost settlement may stay charged, instead of the true cost.
   */
  default void settlementLost() {}

  /**
   * Called for each limit whose reserved cost a settlement has replaced by the true cost. For a
   * limit with several quotas, {@code part} describes the bucket that cut the most tokens, or else
   * the bucket with the largest debt, or else the bucket of the longest period.
   *
   * @param part the result of the settlement
   * @param estimate the reserved tokens
   * @param cost the true cost
   */
  default void settled(Settlement.Part part, long estimate, long cost) {}

  /**
   * Called when a caller begins to wait for tokens, once for each limit that has too few tokens.
   * {@link #waited} is called when the wait ends, on any thread.
   *
   * @param limit the limit whose tokens have not refilled yet
   */
  default void waits(LimitName limit) {}

  /**
   * Called when a caller's wait ends, or is refused; once for each limit with too few tokens.
   *
   * @param limit the limit
   * @param ending how the wait ended
   * @param waitedNanos the duration of the wait; 0 if the wait was refused
   */
  default void waited(LimitName limit, Ending ending, long waitedNanos) {}

  /**
   * Called when the application's function for the quota of a request threw an exception, so that
   * the request is refused.
   *
   * @param limit the limit
   * @param failure the application's exception
   */
  default void quotaFailed(LimitName limit, Throwable failure) {}

  /**
   * Returns an observer that calls several observers, in the order of a list.
   *
   * @param observers the observers; the list is copied
   * @return the observer; if one of its observers throws, the observers after it are not called
   */
  static LimiterObserver all(List<LimiterObserver> observers) {
    return observers.size() == 1 ? observers.get(0) : new ObserverList(observers);
  }

  /** A series of spends from one limit, in the order of their decisions. Not thread-safe. */
  interface Spent {

    /**
     * Returns the number of spends.
     *
     * @return the number of spends, at least 1
     */
    int count();

    /**
     * Returns whether a spend was allowed.
     *
     * @param index the index of the spend in the series, from 0
     * @return true if the tokens were taken
     */
    boolean allowed(int index);

    /**
     * Returns whether a spend took tokens from a full bucket, so that the store had to create an
     * entry for the bucket.
     *
     * @param index the index of the spend in the series, from 0
     * @return true if the bucket is known to have been full; the default implementation always
     *     returns false
     */
    default boolean startedBucket(int index) {
      return false;
    }

    /**
     * Creates the decision on a spend.
     *
     * @param index the index of the spend in the series, from 0
     * @return the decision
     */
    Decision decision(int index);
  }

  /** The possible ends of a wait. */
  enum Ending {
    /** The wait ended because the tokens have refilled. */
    PASSED,
    /**
     * The caller was interrupted or cancelled, or timed out; its tokens are given back if possible.
     */
    GIVEN_UP,
    /** The wait would have been too long; {@link #waits} was not called. */
    REFUSED
  }

  /** The operations of a limiter. */
  enum Act {
    /** Reads the bucket without changing it. */
    CHECK,
    /** Takes tokens from the bucket. */
    SPEND,
    /** Gives tokens back to the bucket. */
    REFUND,
    /** Sets the bucket to full. */
    RESET
  }
}
