// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import java.util.HashMap;
import java.util.Map;

/**
 * Two counters of fixed windows: the current one counts whole, the one before it by the share of it
 * that a sliding window would still cover. An estimate, which takes for granted that the requests
 * of the window before came evenly.
 */
final class SlidingCounter implements Algorithm {

  private final long burst;
  private final long windowNanos;
  private final Map<Integer, Counters> all = new HashMap<>();

  SlidingCounter(Quota quota) {
    this.burst = quota.burst();
    this.windowNanos = quota.offsetNanos();
  }

  /** The current window and the one before. */
  private static final class Counters {
    private long window;
    private long current;
    private long before;

    void moveTo(long now) {
      if (now != window) {
        before = now == window + 1 ? current : 0;
        current = 0;
        window = now;
      }
    }
  }

  @Override
  public Verdict decide(int bucket, long cost, long nowNanos) {
    Counters counters = all.computeIfAbsent(bucket, n -> new Counters());
    counters.moveTo(nowNanos / windowNanos);
    long elapsedNanos = nowNanos % windowNanos;
    double taken = counters.before * (1 - share(elapsedNanos)) + counters.current;
    if (taken + cost > burst) {
      return Verdict.denied(waitNanos(counters, cost, elapsedNanos), taken);
    }
    counters.current += cost;
    return Verdict.admitted(taken + cost);
  }

  private double share(long elapsedNanos) {
    return (double) elapsedNanos / windowNanos;
  }

  /** Until the older window has faded enough; if the current one is too much, that is the older. */
  private long waitNanos(Counters counters, long cost, long elapsedNanos) {
    long fits = burst - cost;
    double share =
        counters.current <= fits
            ? 1 - (double) (fits - counters.current) / counters.before
            : 2 - (double) fits / counters.current;
    // One nanosecond more than what rounding can take away.
    return (long) Math.ceil(share * windowNanos) + 1 - elapsedNanos;
  }
}
