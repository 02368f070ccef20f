// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;

/** When one client asks. For one thread. */
interface Behaviour {

  /** Never again; later than any run ends. */
  long NEVER = Long.MAX_VALUE;

  /**
   * The first request.
   *
   * @return nanoseconds since the start
   */
  long firstNanos();

  /**
   * The request after the one that was just decided.
   *
   * @param nowNanos when it was decided
   * @param verdict what was decided
   * @return nanoseconds since the start, later than now
   */
  long nextNanos(long nowNanos, Verdict verdict);
}
