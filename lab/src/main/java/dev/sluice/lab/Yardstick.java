// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import java.util.HashMap;
import java.util.Map;

/**
 * The behaviour that a leaky bucket should have: buckets that leak all the time, by the product's
 * arithmetic, into which goes what was admitted. A request that was denied while such a bucket had
 * room for it was denied wrongly.
 */
final class Yardstick {

  private final Quota quota;
  private final Map<Integer, Long> tatsNanos = new HashMap<>();
  private long wronglyDenied;

  Yardstick(Quota quota) {
    this.quota = quota;
  }

  void measure(int bucket, long cost, long nowNanos, boolean admitted) {
    long tat = tatsNanos.getOrDefault(bucket, Gcra.NO_TAT);
    long ahead = Gcra.aheadNanos(nowNanos, tat);
    long increment = quota.incrementNanos(cost);
    if (admitted) {
      tatsNanos.put(bucket, nowNanos + ahead + increment);
    } else if (Gcra.roomNanos(ahead, increment, quota.offsetNanos()) >= 0) {
      wronglyDenied++;
    }
  }

  long wronglyDenied() {
    return wronglyDenied;
  }
}
