// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.EndTime;
import java.time.Instant;
import java.util.Objects;

/**
 * A penalty on one id of one limit: until an instant, the id's bucket counts as empty. A penalty is
 * either a ban or a debt. A debt also records how many tokens the id owed when an operator set the
 * debt. Setting a debt also moves the bucket's TAT, so that the bucket is empty when the penalty
 * ends. A process that has not read the penalty yet can forgive this debt; then the bucket is not
 * empty when the penalty ends.
 *
 * <p>The store's clock determines when a penalty ends. Immutable and thread-safe.
 *
 * @param name the limit's name
 * @param id the whole id of a transaction, in canonical form, even if the limit's overrides have
 *     only the first parts of an id
 * @param until the end of the penalty, from the epoch to the year 2262
 * @param owed the tokens that the id owed when the penalty was set, 0 for a ban
 * @param comment a note by a person, can be empty; never shown to clients
 * @param author the person who set the penalty, can be empty; never shown to clients
 */
public record Penalty(
    LimitName name, String id, Instant until, long owed, String comment, String author) {

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  /**
   * Makes a penalty.
   *
   * @param name the limit's name
   * @param id the id of a transaction, in canonical form
   * @param until the end of the penalty, from the epoch to the year 2262
   * @param owed the tokens that the id owed when the penalty was set, 0 for a ban
   * @param comment a note by a person, can be empty
   * @param author the person who set the penalty, can be empty
   * @throws IllegalArgumentException if the end is out of range, or the debt is negative
   */
  public Penalty {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(id, "id");
    requireInRange(Objects.requireNonNull(until, "until"));
    Objects.requireNonNull(comment, "comment");
    Objects.requireNonNull(author, "author");
    if (owed < 0) {
      throw new IllegalArgumentException("owed: found " + owed + ", expected 0 or more tokens");
    }
  }

  /**
   * Makes a penalty without an author.
   *
   * @param name the limit's name
   * @param id the id of a transaction, in canonical form
   * @param until the end of the penalty, from the epoch to the year 2262
   * @param owed the tokens that the id owed when the penalty was set, 0 for a ban
   * @param comment a note by a person, can be empty
   * @throws IllegalArgumentException if the end is out of range, or the debt is negative
   */
  public Penalty(LimitName name, String id, Instant until, long owed, String comment) {
    this(name, id, until, owed, comment, "");
  }

  static void requireInRange(Instant until) {
    try {
      var unused = EndTime.inRange(until);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("until: " + e.getMessage(), e);
    }
  }

  /**
   * Returns the end of the penalty in the unit of a store's clock.
   *
   * @return the end in nanoseconds since the Unix epoch, not negative
   */
  public long untilNanos() {
    return until.getEpochSecond() * NANOS_PER_SECOND + until.getNano();
  }

  /**
   * Returns whether the penalty is in force.
   *
   * @param nowNanos the store's current time, in nanoseconds since the Unix epoch
   * @return false if the penalty's end has passed
   */
  public boolean holdsAt(long nowNanos) {
    return nowNanos < untilNanos();
  }
}
