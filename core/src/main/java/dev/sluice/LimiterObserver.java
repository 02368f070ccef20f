// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.limit.LimitName;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Watches a limiter, to count and to time.
 *
 * <p>Called on the thread that got the answer, after it is certain: keep it short. An exception is
 * logged once, and reaches no caller. Implementations are thread-safe.
 */
public interface LimiterObserver {

  /**
   * A transaction was decided on; called for each transaction of a batch.
   *
   * @param act what was done: what was asked, but {@link Act#CHECK} for a transaction that a denied
   *     batch would have spent, since nothing was taken for it
   * @param decision the transaction's own decision
   * @param elapsedNanos how long the call took, for a batch the whole of it
   */
  default void decided(Act act, Decision decision, long elapsedNanos) {}

  /**
   * Single spends were decided on, on a path that makes no object of a decision: a door of a server
   * that answers many requests at a time. Asks for each decision and calls {@link #decided} unless
   * overridden.
   *
   * @param limit the limit's name
   * @param spends the spends, during this call only
   * @param elapsedNanos how long the call took, the whole of it
   */
  default void spent(LimitName limit, Spent spends, long elapsedNanos) {
    for (int i = 0; i < spends.count(); i++) {
      decided(Act.SPEND, spends.decision(i), elapsedNanos);
    }
  }

  /**
   * The store was called.
   *
   * @param act what was asked
   * @param charges how many buckets the call touched
   * @param failure what went wrong, null if it answered
   * @param elapsedNanos how long the call took
   */
  default void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {}

  /**
   * A reservation was settled as spent before its holder did, because too many are open. Called for
   * each; reservations that are never closed are the usual reason.
   *
   * @param most how many may be open: of one bucket, or in all
   */
  default void settledEarly(int most) {}

  /**
   * A caller waits from now on for tokens of a limit, which it took ahead of their time. Called
   * once for each limit that it waits for. {@link #waited} follows, on whatever thread.
   *
   * @param limit the limit whose tokens are not there yet
   */
  default void waits(LimitName limit) {}

  /**
   * A caller waits no longer, or may not wait. Called once for each limit concerned.
   *
   * @param limit the limit
   * @param ending how the wait ended
   * @param waitedNanos how long the caller has waited; 0 where it was refused
   */
  default void waited(LimitName limit, Ending ending, long waitedNanos) {}

  /**
   * Makes one observer of several, which are called in their order.
   *
   * @param observers copied
   * @return an observer that is as thread-safe as they are; where one throws, those after it are
   *     not called
   */
  static LimiterObserver all(List<LimiterObserver> observers) {
    return observers.size() == 1 ? observers.get(0) : new ObserverList(observers);
  }

  /** Spends of one limit that were decided on one after the other. For one thread. */
  interface Spent {

    /**
     * Returns how many there are.
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
     * Returns whether a spend took tokens from a full bucket, so that the store had to make room
     * for it.
     *
     * @param index its place, from 0
     * @return false also where that is not known, as in an implementation that does not override
     *     this
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
    /** The tokens are there. */
    PASSED,
    /** The caller was interrupted, cancelled, or timed out; what it took is withdrawn. */
    GIVEN_UP,
    /** The wait would have been too long: denied at once. {@link #waits} was not called. */
    REFUSED
  }

  /** The acts of a limiter. */
  enum Act {
    /** Look, change nothing. */
    CHECK,
    /** Take tokens. */
    SPEND,
    /** Give tokens back. */
    REFUND,
    /** Forget the bucket. */
    RESET
  }
}
