// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * Keeps the time of every admitted request for one window. No window, wherever it begins, sees more
 * than the burst; the price is one entry a request.
 */
final class SlidingLog implements Algorithm {

  private final long burst;
  private final long windowNanos;
  private final Map<Integer, Log> logs = new HashMap<>();

  SlidingLog(Quota quota) {
    this.burst = quota.burst();
    this.windowNanos = quota.offsetNanos();
  }

  /** An admitted request. */
  private record Entry(long atNanos, long cost) {}

  /** The admitted requests of the last window, and their sum. */
  private static final class Log {
    private final Deque<Entry> entries = new ArrayDeque<>();
    private long taken;
  }

  @Override
  public Verdict decide(int bucket, long cost, long nowNanos) {
    Log log = logs.computeIfAbsent(bucket, n -> new Log());
    for (Entry oldest = log.entries.peekFirst();
        oldest != null && oldest.atNanos <= nowNanos - windowNanos;
        oldest = log.entries.peekFirst()) {
      log.taken -= oldest.cost;
      log.entries.removeFirst();
    }
    if (log.taken + cost > burst) {
      return Verdict.denied(waitNanos(log, cost, nowNanos), (double) log.taken);
    }
    if (cost > 0) {
      log.taken += cost;
      log.entries.addLast(new Entry(nowNanos, cost));
    }
    return Verdict.admitted((double) log.taken);
  }

  private long waitNanos(Log log, long cost, long nowNanos) {
    long taken = log.taken;
    for (Entry entry : log.entries) {
      taken -= entry.cost;
      if (taken + cost <= burst) {
        return entry.atNanos + windowNanos - nowNanos;
      }
    }
    throw new IllegalArgumentException(
        "cost: found " + cost + ", expected at most the burst, " + burst);
  }
}
