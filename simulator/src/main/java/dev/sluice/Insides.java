// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

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
    return limiter.outstanding().size();
  }

  /**
   * Returns how many spends, refunds and resets are in flight, as far as the limiter knows.
   *
   * @param limiter the limiter
   * @return those that have not completed for it
   */
  public static int inFlight(Limiter limiter) {
    return limiter.outstanding().inFlight();
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
