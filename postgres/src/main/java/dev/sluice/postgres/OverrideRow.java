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

/** */
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

  /** */
  public LimitOverride check(Catalogue catalogue) {
    LimitName name = limit(limitNumber, bucketKey, catalogue);
    String id = name.overrideIdOf(bucketKey);
    return new LimitOverride(
        name, id, quotas(burst, count, periodNanos, furtherQuotas), comment, author, until);
  }

  /** */
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

  static String furtherOf(LimitOverride override) {
    return override.quotas().stream()
        .skip(1)
        .map(
            quota -> "{%s,%s,%s}".formatted(quota.burst(), quota.count(), quota.period().toNanos()))
        .collect(Collectors.joining(",", "{", "}"));
  }

  static int numberOf(LimitName name) {
    Integer number = name.number();
    return number == null ? 0 : number;
  }

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
