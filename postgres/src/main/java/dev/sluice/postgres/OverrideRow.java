// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An unchecked row of the table. Another program can have written the row.
 *
 * @param limitNumber the number of the limit; 0 for a limit without a number
 * @param bucketKey the key of the bucket: the number or name of the limit, ":" and the canonical id
 * @param burst the capacity of the bucket
 * @param count the tokens that refill in each period
 * @param periodNanos the period in nanoseconds
 * @param enabled whether the override is in force
 * @param comment a person's comment
 * @param author the person who set the override; empty if unknown
 * @param until the time at which the override ends; null if it does not end
 * @param updatedAt the time at which the row was last written; the epoch if unknown
 * @param furtherQuotas the further quotas of an override with several quotas, in PostgreSQL's text
 *     form of an array of bursts, counts and periods: <code>{{20,10,1000000000}}</code>; null or
 *     {@code {}} if there are no further quotas
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
    Instant updatedAt,
    @Nullable String furtherQuotas) {

  private static final String FURTHER = "\\{(\\d{1,19}),(\\d{1,19}),(\\d{1,19})\\}";
  private static final Pattern ONE_FURTHER = Pattern.compile(FURTHER);
  private static final Pattern ALL_FURTHER =
      Pattern.compile("\\{\\}|\\{%1$s(?:,%1$s){0,2}\\}".formatted(FURTHER));

  /**
   * Checks the row.
   *
   * @param catalogue the names of the known limits
   * @return the override
   * @throws IllegalArgumentException if the row is not a valid override; the message says what was
   *     found and what was expected
   */
  public LimitOverride check(Catalogue catalogue) {
    LimitName name = limit(limitNumber, bucketKey, catalogue);
    String id = name.overrideIdOf(bucketKey);
    return new LimitOverride(
        name, id, quotas(burst, count, periodNanos, furtherQuotas), comment, author, until);
  }

  /**
   * Returns the quotas of a row, the longest period first.
   *
   * @throws IllegalArgumentException if the quotas are not valid for an override
   */
  static List<Quota> quotas(long burst, long count, long periodNanos, @Nullable String further) {
    List<Quota> quotas = new ArrayList<>();
    quotas.add(Quota.burst(burst).refill(count, Duration.ofNanos(periodNanos)));
    if (further == null) {
      return quotas;
    }
    if (!ALL_FURTHER.matcher(further).matches()) {
      throw new IllegalArgumentException(
          "further_quotas: found %s, expected burst, count and period_ns of up to three quotas, such as {{20,10,1000000000}}"
              .formatted(SafeText.quote(further)));
    }
    ONE_FURTHER
        .matcher(further)
        .results()
        .forEach(
            one ->
                quotas.add(
                    Quota.burst(Long.parseLong(one.group(1)))
                        .refill(
                            Long.parseLong(one.group(2)),
                            Duration.ofNanos(Long.parseLong(one.group(3))))));
    return Quota.ofOneLimit(quotas);
  }

  /** Returns the further quotas of an override in the format of {@link #furtherQuotas}. */
  static String furtherOf(LimitOverride override) {
    return override.quotas().stream()
        .skip(1)
        .map(
            quota -> "{%s,%s,%s}".formatted(quota.burst(), quota.count(), quota.period().toNanos()))
        .collect(Collectors.joining(",", "{", "}"));
  }

  /** Returns the limit's number that rows contain; 0 for a limit without a number. */
  static int numberOf(LimitName name) {
    Integer number = name.number();
    return number == null ? 0 : number;
  }

  /**
   * Returns the limit of a row. Throws an {@link IllegalArgumentException} if the limit is unknown.
   */
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
