// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import java.time.Instant;

/**
 * A penalty on one id of one limit: its bucket counts as empty until an instant. A ban has no other
 * effect. A debt says how many tokens beyond an empty bucket the id owed when it was set. The code
 * that sets a debt also moves the bucket's TAT, so that the bucket is empty when the penalty ends.
 *
 * <p>The store's clock says when a penalty is over, as it does for everything that a bucket holds.
 * Immutable and thread-safe.
 *
 * @param name the limit's name
 * @param id the id of a transaction, canonical: a penalty is on one bucket, also where an override
 *     is for the first parts of an id
 * @param until when it ends, from the epoch to the year 2262
 * @param owed the tokens that the id owed when the penalty was set, 0 for a ban
 * @param comment what a person noted beside it, may be empty; never shown to clients
 */
public record Penalty(LimitName name, String id, Instant until, long owed, String comment) {

  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final Instant LATEST =
      Instant.ofEpochSecond(Long.MAX_VALUE / NANOS_PER_SECOND, Long.MAX_VALUE % NANOS_PER_SECOND);

  /**
   * Makes a penalty.
   *
   * @param name the limit's name
   * @param id the id of a transaction, canonical
   * @param until when it ends, from the epoch to the year 2262
   * @param owed the tokens that the id owed when the penalty was set, 0 for a ban
   * @param comment what a person noted beside it, may be empty
   * @throws IllegalArgumentException for an end that no store's clock can show, and for a negative
   *     debt
   */
  public Penalty {
    if (until.isBefore(Instant.EPOCH) || until.isAfter(LATEST)) {
      throw new IllegalArgumentException(
          "until: found %s, expected an instant from %s to %s"
              .formatted(until, Instant.EPOCH, LATEST));
    }
    if (owed < 0) {
      throw new IllegalArgumentException("owed: found " + owed + ", expected 0 or more tokens");
    }
  }

  /**
   * Returns the end as stores count time.
   *
   * @return nanoseconds since the Unix epoch, not negative
   */
  public long untilNanos() {
    return until.getEpochSecond() * NANOS_PER_SECOND + until.getNano();
  }

  /**
   * Returns whether the penalty is in force.
   *
   * @param nowNanos the store's present, in nanoseconds since the Unix epoch
   * @return false from its end on
   */
  public boolean holdsAt(long nowNanos) {
    return nowNanos < untilNanos();
  }
}
