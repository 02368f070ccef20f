// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts the marks of used tokens that this server has put into the store. A mark counts until the
 * end of the minute in which the store forgets it. Thread-safe.
 */
final class Marks {

  private static final long MINUTE_MILLIS = TimeUnit.MINUTES.toMillis(1);

  private final int most;

  @GuardedBy("this")
  private final TreeMap<Long, Integer> byMinute = new TreeMap<>();

  @GuardedBy("this")
  private int count;

  /** Makes the counts, of at most this number of marks at a time. */
  Marks(int most) {
    this.most = most;
  }

  /**
   * Counts a mark if there is room for it; returns 0, or how many seconds pass until there is room
   * again.
   */
  synchronized long add(long nowMillis, long endMillis) {
    Map<Long, Integer> over = byMinute.headMap(nowMillis / MINUTE_MILLIS);
    count -= over.values().stream().mapToInt(Integer::intValue).sum();
    over.clear();
    if (count >= most) {
      long fullMillis = (byMinute.firstKey() + 1) * MINUTE_MILLIS - nowMillis;
      return TimeUnit.MILLISECONDS.toSeconds(fullMillis + TimeUnit.SECONDS.toMillis(1) - 1);
    }
    byMinute.merge(endMillis / MINUTE_MILLIS, 1, Integer::sum);
    count++;
    return 0;
  }

  /** Undoes {@link #add} for a mark that was not made. */
  synchronized void remove(long endMillis) {
    byMinute.computeIfPresent(
        endMillis / MINUTE_MILLIS,
        (minute, marks) -> {
          count--;
          return marks == 1 ? null : marks - 1;
        });
  }
}
