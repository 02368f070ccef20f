// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.gcra.Quota;
import java.math.BigDecimal;
import java.math.MathContext;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the burst, count and period of an entry. */
final class Quotas {

  static final List<String> FIELDS = List.of("burst", "count", "period");

  /** Rounding that raises a rate by more than one part in this number gets a warning. */
  private static final long NOTICEABLE = 1000;

  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  private Quotas() {}

  /** Returns the quota; null after a mistake, which is reported. */
  static @Nullable Quota read(Fields fields, Problems problems) {
    if (fields.find("burst") != null) {
      problems.recognized(); // only limit files have the field burst
    }
    Long burst = Values.wholeNumber(fields.require("burst"), problems);
    Long count = Values.wholeNumber(fields.require("count"), problems);
    Duration period = Values.duration(fields.require("period"), problems);
    if (burst == null || count == null || period == null) {
      // Checks each given value alone, with valid values in place of the others.
      report(Quota.faults(burst == null ? 1 : burst, 1, Duration.ofNanos(1)), fields, problems);
      report(
          Quota.faults(1, count == null ? 1 : count, period == null ? LONGEST : period),
          fields,
          problems);
      return null;
    }
    List<Quota.Fault> faults = Quota.faults(burst, count, period);
    report(faults, fields, problems);
    if (!faults.isEmpty()) {
      return null;
    }
    Quota quota = Quota.burst(burst).refill(count, period);
    String rounding = rounding(quota);
    if (rounding != null) {
      problems.warning(fields.at("count"), rounding);
    }
    return quota;
  }

  private static void report(List<Quota.Fault> faults, Fields fields, Problems problems) {
    for (Quota.Fault fault : faults) {
      problems.mistake(fields.at(fault.field()), fault.message());
    }
  }

  /**
   * Returns a warning if rounding changes a high rate, otherwise null. The emission interval is a
   * whole number of nanoseconds, so the real rate can be a little higher than the written one.
   */
  static @Nullable String rounding(Quota quota) {
    long period = quota.period().toNanos();
    long lost = period % quota.count();
    if (lost <= (period - lost) / NOTICEABLE) {
      return null;
    }
    BigDecimal effective =
        BigDecimal.valueOf(period)
            .divide(BigDecimal.valueOf(quota.intervalNanos()), MathContext.DECIMAL32);
    BigDecimal percent =
        BigDecimal.valueOf(lost)
            .movePointRight(2)
            .divide(BigDecimal.valueOf(period - lost), new MathContext(2));
    return "found %s, but one token every %s ns (period / count, rounded down) lets %s through in a"
            .formatted(quota.count(), quota.intervalNanos(), effective.toPlainString())
        + " period, %s %% more; expected a count that divides the period's nanoseconds better"
            .formatted(percent.toPlainString());
  }
}
