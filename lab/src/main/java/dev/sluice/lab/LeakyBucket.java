// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;

/*
 * Water is kept as the time in which it leaks, in whole nanoseconds. A cost of c pours in T·c, and
 * the bucket holds τ. The process runs every d, and a run takes d out of each bucket. Nothing leaks
 * between two runs, and nothing while the process stalls. It does not make up for the runs that it
 * missed, since all it knows is "one drip from everyone". A process that gets only so many buckets
 * done in a run takes the next ones in the next run, so each of them leaks too slowly.
 */

/**
 * A bucket that fills with requests and is drained by a process, which may stall or fall behind.
 */
final class LeakyBucket implements SimulatedLimiter {

  private final long intervalNanos;
  private final long capacityNanos;
  private final long everyNanos;
  private final int bucketsPerRun;
  private final List<Drip.Stall> stalls;
  private final Map<Integer, Bucket> buckets = new HashMap<>();
  private final Queue<Bucket> active = new ArrayDeque<>();
  private long nextRunNanos;

  LeakyBucket(Quota quota, Drip drip) {
    this.intervalNanos = quota.intervalNanos();
    this.capacityNanos = quota.offsetNanos();
    this.everyNanos = drip.everyNanos(quota);
    this.bucketsPerRun = drip.bucketsPerRun() == 0 ? Integer.MAX_VALUE : drip.bucketsPerRun();
    this.stalls = drip.stalls().stream().sorted(Comparator.comparing(Drip.Stall::from)).toList();
    this.nextRunNanos = everyNanos;
  }

  /** Water, as the time in which it leaks. */
  private static final class Bucket {
    private long waterNanos;
  }

  @Override
  public Verdict decide(int number, long cost, long nowNanos) {
    dripUntil(nowNanos);
    Bucket bucket = buckets.computeIfAbsent(number, n -> new Bucket());
    long excessNanos = bucket.waterNanos + intervalNanos * cost - capacityNanos;
    if (excessNanos > 0) {
      return Verdict.denied(waitNanos(excessNanos, nowNanos), level(bucket));
    }
    if (cost > 0) {
      if (bucket.waterNanos == 0) {
        active.add(bucket);
      }
      bucket.waterNanos += intervalNanos * cost;
    }
    return Verdict.admitted(level(bucket));
  }

  private double level(Bucket bucket) {
    return (double) bucket.waterNanos / intervalNanos;
  }

  /** Returns the time until the run that makes room, if the process keeps its hours. */
  private long waitNanos(long excessNanos, long nowNanos) {
    long runs = (excessNanos - 1) / everyNanos + 1;
    return everyNanos - nowNanos % everyNanos + (runs - 1) * everyNanos;
  }

  private void dripUntil(long nowNanos) {
    while (nextRunNanos <= nowNanos) {
      if (active.isEmpty()) {
        nextRunNanos = firstRunFrom(nowNanos + 1);
        return;
      }
      long resumesNanos = endOfStall(nextRunNanos);
      if (resumesNanos > nextRunNanos) {
        nextRunNanos = firstRunFrom(resumesNanos);
      } else {
        run();
        nextRunNanos += everyNanos;
      }
    }
  }

  private void run() {
    for (int left = Math.min(bucketsPerRun, active.size()); left > 0; left--) {
      Bucket bucket = active.remove();
      bucket.waterNanos = Math.max(bucket.waterNanos - everyNanos, 0);
      if (bucket.waterNanos > 0) {
        active.add(bucket);
      }
    }
  }

  private long firstRunFrom(long nanos) {
    return ((nanos - 1) / everyNanos + 1) * everyNanos;
  }

  /** When the process goes on that should run now; now if it does not stall. */
  private long endOfStall(long nowNanos) {
    long end = nowNanos;
    for (Drip.Stall stall : stalls) {
      if (stall.from().toNanos() <= end && end < stall.end().toNanos()) {
        end = stall.end().toNanos();
      }
    }
    return end;
  }
}
