// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts the marks of cancelled reservations that this server has put into the store, for each
 * limit. A mark counts until the end of the minute in which the store forgets it. Thread-safe.
 */
final class Marks {

  private static final long MINUTE_MILLIS = TimeUnit.MINUTES.toMillis(1);

  private final int most;

  @GuardedBy("this")
  private final Map<String, TreeMap<Long, Integer>> byLimit = new HashMap<>();

  /**
   * Makes the counts.
   *
   * @param most how many marks a limit may have at a time
   */
  Marks(int most) {
    this.most = most;
  }

  /**
   * Returns how many seconds pass until all of these limits have room for a further mark; 0 if all
   * have room now.
   */
  synchronized long fullForSeconds(Collection<String> limits, long nowMillis) {
    long longestMillis = 0;
    for (String limit : limits) {
      TreeMap<Long, Integer> counts = byLimit.get(limit);
      if (counts == null) {
        continue;
      }
      SortedMap<Long, Integer> over = counts.headMap(nowMillis / MINUTE_MILLIS);
      over.clear();
      if (counts.isEmpty()) {
        byLimit.remove(limit);
      } else if (counts.values().stream().mapToInt(Integer::intValue).sum() >= most) {
        longestMillis =
            Math.max(longestMillis, (counts.firstKey() + 1) * MINUTE_MILLIS - nowMillis);
      }
    }
    return TimeUnit.MILLISECONDS.toSeconds(longestMillis + TimeUnit.SECONDS.toMillis(1) - 1);
  }

  /**
   * Counts a mark for each limit, unless one of the limits has no room. Returns the same as {@link
   * #fullForSeconds} before the call.
   */
  synchronized long add(Collection<String> limits, long nowMillis, long endMillis) {
    long fullForSeconds = fullForSeconds(limits, nowMillis);
    if (fullForSeconds == 0) {
      for (String limit : limits) {
        byLimit
            .computeIfAbsent(limit, name -> new TreeMap<>())
            .merge(endMillis / MINUTE_MILLIS, 1, Integer::sum);
      }
    }
    return fullForSeconds;
  }

  /** Undoes {@link #add} for a mark that was not made. */
  synchronized void remove(Collection<String> limits, long endMillis) {
    for (String limit : limits) {
      TreeMap<Long, Integer> counts = byLimit.get(limit);
      if (counts != null) {
        counts.computeIfPresent(
            endMillis / MINUTE_MILLIS, (minute, count) -> count == 1 ? null : count - 1);
      }
    }
  }
}
