// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.HashMap;
import java.util.Map;

/**
 * The judge of give-backs of one process that overlap on a bucket. The bucket may then be fuller
 * than if the cancelled reservations had not been made: by at most what it refills from the sending
 * of the first to the applying of the last, and beside a plain refund or a reset by what the
 * reservations in flight took. Give-backs that do not overlap may leave it no fuller at all. For
 * one thread.
 */
final class GiveBacksTogether {

  private final World world;
  private final Map<String, Together> all = new HashMap<>(); // by process and bucket

  GiveBacksTogether(World world) {
    this.world = world;
  }

  /** Calls of a process that give back to a bucket, each under way beside another. */
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
   * A process begins a call that may give back to a bucket.
   *
   * @param isPlain whether it takes tokens of others: a refund, a receipt, or a reset
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
   * A server applies a give-back. Returns how much fuller its bucket may be from now on.
   *
   * @param takenNanos what its reservation took at least; 0 for a plain refund
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
