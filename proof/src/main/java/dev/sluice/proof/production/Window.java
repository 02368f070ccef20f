// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.proof.BrokenPromise;
import java.util.Map;
import java.util.TreeMap;

/**
 * The time in which one limit is in force, with the tokens that each bucket granted in this time.
 * Only tokens that were requested and granted within the window count. Thread-safe.
 */
final class Window {

  private static final double NANOS_PER_SECOND = 1e9;

  private final long perSecond;
  private final long startNanos = System.nanoTime();
  private final Map<String, Integer> granted = new TreeMap<>();
  private int lostBuckets;
  private boolean closed;

  /**
   * Starts a window now.
   *
   * @param perSecond the rate of the limit, which is also its burst
   */
  Window(long perSecond) {
    this.perSecond = perSecond;
  }

  synchronized void add(String id, int tokens, long sentNanos) {
    if (!closed && sentNanos - startNanos >= 0) {
      granted.merge(id, tokens, Integer::sum);
    }
  }

  /** Records that the store lost its buckets, so that each bucket is full again. */
  synchronized void bucketsLost() {
    lostBuckets++;
  }

  /**
   * Ends the window.
   *
   * @return for each bucket, the granted share of the allowed tokens, from 0 to 1
   */
  synchronized Map<String, Double> close() throws BrokenPromise {
    closed = true;
    double seconds = (System.nanoTime() - startNanos) / NANOS_PER_SECOND;
    double most = perSecond * (1 + lostBuckets) + perSecond * seconds;
    Map<String, Double> parts = new TreeMap<>();
    for (Map.Entry<String, Integer> one : granted.entrySet()) {
      BrokenPromise.unless(
          one.getValue() <= most,
          "bucket %s granted %s tokens in %.3f s, at most %.1f are allowed",
          one.getKey(),
          one.getValue(),
          seconds,
          most);
      parts.put(one.getKey(), one.getValue() / most);
    }
    return parts;
  }
}
