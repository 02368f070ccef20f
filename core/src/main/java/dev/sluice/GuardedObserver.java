// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.Reservation.Settlement;
import dev.sluice.limit.LimitName;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Catches every exception and error that another observer throws, so that a charged caller still
 * gets its decision. Logs only the observer's first failure.
 */
final class GuardedObserver implements LimiterObserver {

  private static final Logger LOG = System.getLogger("dev.sluice");

  private final LimiterObserver guarded;
  private final AtomicBoolean told = new AtomicBoolean();

  GuardedObserver(LimiterObserver guarded) {
    this.guarded = guarded;
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    try {
      guarded.decided(act, decision, elapsedNanos);
    } catch (Throwable e) { // includes Errors: the caller must get its decision
      tell(e);
    }
  }

  @Override
  public void spent(LimitName limit, Spent spends, long elapsedNanos) {
    try {
      guarded.spent(limit, spends, elapsedNanos);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
    try {
      guarded.stored(act, charges, failure, elapsedNanos);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void settledEarly(int most) {
    try {
      guarded.settledEarly(most);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void settlementLost() {
    try {
      guarded.settlementLost();
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void settled(Settlement.Part part, long estimate, long cost) {
    try {
      guarded.settled(part, estimate, cost);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void waits(LimitName limit) {
    try {
      guarded.waits(limit);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void waited(LimitName limit, Ending ending, long waitedNanos) {
    try {
      guarded.waited(limit, ending, waitedNanos);
    } catch (Throwable e) {
      tell(e);
    }
  }

  @Override
  public void quotaFailed(LimitName limit, Throwable failure) {
    try {
      guarded.quotaFailed(limit, failure);
    } catch (Throwable e) {
      tell(e);
    }
  }

  private void tell(Throwable failure) {
    try {
      if (!told.getAndSet(true)) {
        LOG.log(
            Level.WARNING,
            "an observer of the limiter threw an exception; further exceptions of observers are not logged",
            failure);
      }
    } catch (Throwable e) {
      // The log failed as well, so the failure cannot be reported.
    }
  }

  /** Calls several observers of one limiter, in their order. */
  static final class ObserverList implements LimiterObserver {

    private final List<LimiterObserver> all;

    ObserverList(List<LimiterObserver> all) {
      this.all = List.copyOf(all);
    }

    @Override
    public void decided(Act act, Decision decision, long elapsedNanos) {
      all.forEach(one -> one.decided(act, decision, elapsedNanos));
    }

    @Override
    public void spent(LimitName limit, Spent spends, long elapsedNanos) {
      all.forEach(one -> one.spent(limit, spends, elapsedNanos));
    }

    @Override
    public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
      all.forEach(one -> one.stored(act, charges, failure, elapsedNanos));
    }

    @Override
    public void settledEarly(int most) {
      all.forEach(one -> one.settledEarly(most));
    }

    @Override
    public void settlementLost() {
      all.forEach(LimiterObserver::settlementLost);
    }

    @Override
    public void settled(Settlement.Part part, long estimate, long cost) {
      all.forEach(one -> one.settled(part, estimate, cost));
    }

    @Override
    public void waits(LimitName limit) {
      all.forEach(one -> one.waits(limit));
    }

    @Override
    public void waited(LimitName limit, Ending ending, long waitedNanos) {
      all.forEach(one -> one.waited(limit, ending, waitedNanos));
    }

    @Override
    public void quotaFailed(LimitName limit, Throwable failure) {
      all.forEach(one -> one.quotaFailed(limit, failure));
    }
  }
}
