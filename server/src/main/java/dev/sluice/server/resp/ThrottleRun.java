// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.direct.Spends;
import dev.sluice.gcra.Quota;

/** Commands whose quotas the caller sent. */
final class ThrottleRun extends SpendRun {

  private static final int KEY = 1;

  private final Dialect[] dialects = new Dialect[Spends.CAPACITY];
  private final boolean[] fits = new boolean[Spends.CAPACITY];

  ThrottleRun(Spends spends) {
    super(spends);
  }

  /**
   * Adds a command.
   *
   * @param cost tokens, at most the quota's burst
   * @param fitting false for a command whose quantity is over the limit: it reads the bucket only
   * @return false if the limiter itself has to decide; nothing was added then
   */
  boolean add(
      Replies replies, Request request, Dialect dialect, Quota quota, long cost, boolean fitting) {
    int place = add(replies, request, KEY, quota, cost);
    if (place < 0) {
      return false;
    }
    dialects[place] = dialect;
    fits[place] = fitting;
    return true;
  }

  @Override
  public void decided(
      int index,
      Quota quota,
      boolean allowed,
      long remaining,
      long retryInNanos,
      long resetInNanos) {
    dialects[index].write(
        allowed && fits[index],
        quota.burst(),
        remaining,
        fits[index] ? retryInNanos : Dialect.FOR_EVER,
        resetInNanos,
        writer());
  }
}
