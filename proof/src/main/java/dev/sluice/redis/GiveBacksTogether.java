// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.HashMap;
import java.util.Map;

/**
 * Judges give-backs of one process that overlap on a bucket. The bucket may then be fuller than if
 * the cancelled reservations had not been made: by at most its refill from the first sending to the
 * last applying, and, beside a plain refund or a reset, by the tokens of the reservations in
 * flight. If the give-backs do not overlap, the bucket must not be fuller. For one thread.
 */
final class GiveBacksTogether {

  private final World world;
  private final Map<String, Together> all = new HashMap<>(); // by process and bucket

  GiveBacksTogether(World world) {
    this.world = world;
  }

  /** The overlapping calls of a process that give back to a bucket. */
  private static final class Together {
    private int underWay;
    private int plain;
    private long since;
    private boolean overlap;
    private boolean besidePlain;
    private long takenNanos;
    private long allowedNanos;
  }

  private static String place(int process, String key) {
    return process + " " + key;
  }

  /**
   * Records the begin of a call that may give back to a bucket.
   *
   * @param isPlain whether it may give back tokens of others: a refund, a receipt, or a reset
   */
  void began(int process, String key, boolean isPlain) {
    Together together = all.computeIfAbsent(place(process, key), one -> new Together());
    if (together.underWay++ == 0) {
      together.since = world.now();
      together.overlap = false;
      together.besidePlain = false;
      together.takenNanos = 0;
      together.allowedNanos = 0;
    } else {
      together.overlap = true;
    }
    together.plain += isPlain ? 1 : 0;
    together.besidePlain |= isPlain;
  }

  void ended(int process, String key, boolean isPlain) {
    Together together = all.computeIfAbsent(place(process, key), one -> new Together());
    together.underWay--;
    together.plain -= isPlain ? 1 : 0;
  }

  /**
   * Records that a server applies a give-back. Returns how much fuller the bucket may be from now
   * on.
   *
   * @param takenNanos the least that its reservation took; 0 for a plain refund
   */
  long allowedNanos(int process, String key, long takenNanos) {
    Together together = all.get(place(process, key));
    if (together == null || together.underWay == 0) {
      return 0;
    }
    together.takenNanos += takenNanos;
    boolean overlap = together.overlap || (takenNanos > 0 && together.plain > 0);
    if (!overlap) {
      return 0;
    }
    long mostNanos =
        world.now() - together.since + (together.besidePlain ? together.takenNanos : 0);
    long moreNanos = mostNanos - together.allowedNanos;
    together.allowedNanos = mostNanos;
    return moreNanos;
  }
}
