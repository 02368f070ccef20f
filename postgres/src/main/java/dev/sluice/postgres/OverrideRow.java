// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An unchecked row of the table, which another program may have written.
 *
 * @param limitNumber the number of the limit, 0 if it has none
 * @param bucketKey the key of the bucket: the number or name, ":" and the canonical id
 * @param burst capacity of the bucket
 * @param count tokens added every period
 * @param periodNanos the period, in nanoseconds
 * @param enabled whether the override holds
 * @param comment what a person noted beside it
 * @param author who set it, empty if the row does not say so
 * @param until when it ends, null if it does not end
 * @param updatedAt when the row was written last; the epoch where it does not say so
 */
public record OverrideRow(
    int limitNumber,
    String bucketKey,
    long burst,
    long count,
    long periodNanos,
    boolean enabled,
    String comment,
    String author,
    @Nullable Instant until,
    Instant updatedAt) {

  /**
   * Checks the row.
   *
   * @param catalogue the names that there are
   * @return the override
   * @throws IllegalArgumentException if it can't be one, saying what was found and expected
   */
  public LimitOverride check(Catalogue catalogue) {
    LimitName name = limit(limitNumber, bucketKey, catalogue);
    String id = name.overrideIdOf(bucketKey);
    return new LimitOverride(
        name,
        id,
        Quota.burst(burst).refill(count, Duration.ofNanos(periodNanos)),
        comment,
        author,
        until);
  }

  /** The number of a limit as rows have it. */
  static int numberOf(LimitName name) {
    Integer number = name.number();
    return number == null ? 0 : number;
  }

  /** The limit of a row; an {@link IllegalArgumentException} if there is no such limit. */
  static LimitName limit(int number, String bucketKey, Catalogue catalogue) {
    if (number == 0) {
      return catalogue.get(bucketKey.substring(0, Math.max(bucketKey.indexOf(':'), 0)));
    }
    LimitName name = catalogue.find(number);
    if (name == null) {
      throw new IllegalArgumentException(
          "limit_number: found %s, expected the number of a known limit".formatted(number));
    }
    return name;
  }
}
