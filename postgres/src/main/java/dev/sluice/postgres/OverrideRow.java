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
 * @param furtherQuotas the further quotas of an override with several, as PostgreSQL prints an
 *     array of bursts, counts and periods: <code>{{20,10,1000000000}}</code>; null or {@code {}}
 *     for none
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
   * @param catalogue the names that there are
   * @return the override
   * @throws IllegalArgumentException if it can't be one, saying what was found and expected
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
   * @throws IllegalArgumentException if they can't be the quotas of an override
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

  /** The further quotas of an override, as {@link #furtherQuotas} has them. */
  static String furtherOf(LimitOverride override) {
    return override.quotas().stream()
        .skip(1)
        .map(
            quota -> "{%s,%s,%s}".formatted(quota.burst(), quota.count(), quota.period().toNanos()))
        .collect(Collectors.joining(",", "{", "}"));
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
