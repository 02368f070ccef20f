// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import java.util.ArrayList;
import java.util.List;

/**
 * The level of one bucket over time, thinned out so that a chart of it looks the same. Of each bin
 * it has the first, the lowest, the highest and the last point.
 */
final class LevelTrace {

  private final SimulatedLimiter limiter;
  private final int bucket;
  private final long binNanos;
  private final List<LevelPoint> points = new ArrayList<>();
  private final List<LevelPoint> ofBin = new ArrayList<>();
  private long nextBinNanos;

  LevelTrace(SimulatedLimiter limiter, int bucket, long binNanos) {
    this.limiter = limiter;
    this.bucket = bucket;
    this.binNanos = binNanos;
  }

  /** Before a decision on any bucket: time may have passed the ends of bins. */
  void before(int decided, long nowNanos) {
    passTo(nowNanos);
    if (decided == bucket) {
      read(nowNanos);
    }
  }

  void after(int decided, long nowNanos, Verdict verdict) {
    if (decided == bucket) {
      ofBin.add(new LevelPoint(nowNanos, verdict.level()));
    }
  }

  void endAt(long endNanos) {
    passTo(endNanos - 1);
    read(endNanos - 1);
    closeBin();
  }

  private void passTo(long nowNanos) {
    while (nextBinNanos <= nowNanos) {
      closeBin();
      read(nextBinNanos);
      nextBinNanos += binNanos;
    }
  }

  private void read(long nowNanos) {
    ofBin.add(new LevelPoint(nowNanos, limiter.decide(bucket, 0, nowNanos).level()));
  }

  private void closeBin() {
    if (ofBin.isEmpty()) {
      return;
    }
    int last = ofBin.size() - 1;
    int lowest = 0;
    int highest = 0;
    for (int i = 1; i <= last; i++) {
      if (ofBin.get(i).level() < ofBin.get(lowest).level()) {
        lowest = i;
      }
      if (ofBin.get(i).level() > ofBin.get(highest).level()) {
        highest = i;
      }
    }
    for (int i = 0; i <= last; i++) {
      if (i == 0 || i == lowest || i == highest || i == last) {
        points.add(ofBin.get(i));
      }
    }
    ofBin.clear();
  }

  List<LevelPoint> points() {
    return List.copyOf(points);
  }
}
