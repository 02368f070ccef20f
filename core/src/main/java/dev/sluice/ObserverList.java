// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.Reservation.Settlement;
import dev.sluice.limit.LimitName;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Calls several observers of one limiter, in order. */
final class ObserverList implements LimiterObserver {

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
