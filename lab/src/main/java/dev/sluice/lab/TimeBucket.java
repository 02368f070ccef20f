// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import java.util.HashMap;
import java.util.Map;

/**
 * A counter with a time to live: set to the burst when the first request comes, counted down, and
 * forgotten when its time is over. Whatever is spent comes back at once, at the reset.
 */
final class TimeBucket implements Algorithm {

  private final long burst;
  private final long windowNanos;
  private final Map<Integer, Counter> counters = new HashMap<>();

  TimeBucket(Quota quota) {
    this.burst = quota.burst();
    this.windowNanos = quota.offsetNanos();
  }

  /** The value of a key with an expiry. */
  private static final class Counter {
    private final long expiresNanos;
    private long left;

    Counter(long left, long expiresNanos) {
      this.left = left;
      this.expiresNanos = expiresNanos;
    }
  }

  @Override
  public Verdict decide(int bucket, long cost, long nowNanos) {
    Counter counter = counters.get(bucket);
    if (counter == null || counter.expiresNanos <= nowNanos) {
      if (cost == 0) {
        return Verdict.admitted(0);
      }
      counter = new Counter(burst, nowNanos + windowNanos);
      counters.put(bucket, counter);
    }
    if (counter.left < cost) {
      return Verdict.denied(counter.expiresNanos - nowNanos, (double) (burst - counter.left));
    }
    counter.left -= cost;
    return Verdict.admitted((double) (burst - counter.left));
  }
}
