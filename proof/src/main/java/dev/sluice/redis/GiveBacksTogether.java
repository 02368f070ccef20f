// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.HashMap;
import java.util.Map;

/**
 * Computes how many tokens in excess a bucket may have after overlapping refunds by one process.
 * Overlapping refunds can return more tokens than the reservations spent: at most the tokens that
 * refill between the start of the first refund and the end of the last refund. If a refund that is
 * not a cancellation, or a reset, overlaps with cancellations, the tokens of the cancelled
 * reservations can be returned twice. Refunds that do not overlap must never return too many
 * tokens. Not thread-safe.
 */
final class GiveBacksTogether {

  private final World world;
  private final Map<String, Together> all = new HashMap<>(); // by process and bucket key

  GiveBacksTogether(World world) {
    this.world = world;
  }

  /** The overlapping calls of one process that return tokens to one bucket. */
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
   * Records the start of a call that can return tokens to a bucket.
   *
   * @param isPlain whether the call can return tokens that another call spent: a refund, a reset,
   *     or a cancellation by receipt
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
   * Records that a server has applied a refund. Returns by how many nanoseconds more than at the
   * previous refund the bucket's TAT may be too low, because of overlapping refunds.
   *
   * @param takenNanos the smallest TAT increment that the refunded spend can have had; 0 for a
   *     refund that is not a cancellation
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
