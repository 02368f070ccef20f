// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import java.math.BigDecimal;
import java.math.MathContext;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the quota of an entry (burst, count and period) or the list of its quotas. */
public final class Quotas {

  public static final List<String> FIELDS = List.of("burst", "count", "period");
  public static final String LIST = "quotas";

  /** Rounding causes a warning if the rate rises by more than 1/{@value}. */
  private static final long NOTICEABLE = 1000;

  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  private Quotas() {}

  /** Returns the quota; null after a mistake. Reports the mistake. */
  static @Nullable Quota read(Fields fields, Problems problems) {
    if (fields.find("burst") != null) {
      // Only limit files have a field named burst, so messages can quote the file.
      problems.recognized();
    }
    Long burst = Values.wholeNumber(fields.require("burst"), problems);
    Long count = Values.wholeNumber(fields.require("count"), problems);
    Duration period = Values.duration(fields.require("period"), problems);
    if (burst == null || count == null || period == null) {
      // Checks burst, count and period, with a valid value in place of each missing value.
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

  /** Returns the quotas, the longest period first; null after a reported mistake. */
  public static @Nullable List<Quota> readAll(Fields fields, Problems problems) {
    Node node = fields.find(LIST);
    if (node == null) {
      Quota only = read(fields, problems);
      return only == null ? null : List.of(only);
    }
    boolean isAlone = true;
    for (String field : FIELDS) {
      Node other = fields.find(field);
      if (other != null) {
        isAlone = false;
        problems.mistakeWithoutText(
            other,
            "found the field %s beside quotas (line %s), expected only one of the two"
                .formatted(field, node.line()));
      }
    }
    Node.Sequence list =
        Values.list(node, "a list of 2 to %s quotas".formatted(Quota.MOST_OF_A_LIMIT), problems);
    if (list == null) {
      return null;
    }
    problems.recognized();
    List<Node> items = list.items();
    if (items.size() < 2 || items.size() > Quota.MOST_OF_A_LIMIT) {
      problems.mistakeWithoutText(
          node,
          items.size() == 1
              ? "found one quota, expected several; write burst, count and period instead"
              : "found %s quotas, expected 2 to %s".formatted(items.size(), Quota.MOST_OF_A_LIMIT));
      isAlone = false;
    }
    Map<Quota, Node> quotas = new LinkedHashMap<>();
    for (Node item : items) {
      Quota quota = item(item, problems);
      if (quota == null || !isNewPeriod(quota, item, quotas, problems)) {
        isAlone = false;
      } else {
        quotas.put(quota, item);
      }
    }
    if (!isAlone) {
      return null;
    }
    quotas.forEach((quota, item) -> doubt(quota, item, quotas, problems));
    return Quota.ofOneLimit(List.copyOf(quotas.keySet()));
  }

  private static boolean isNewPeriod(
      Quota quota, Node item, Map<Quota, Node> before, Problems problems) {
    for (Map.Entry<Quota, Node> other : before.entrySet()) {
      if (other.getKey().period().equals(quota.period())) {
        problems.mistake(
            item,
            "found the period %s again, expected another period for each quota; the period is also on line %s"
                .formatted(GoDuration.shortened(quota.period()), other.getValue().line()));
        return false;
      }
    }
    return true;
  }

  /** Warns about a quota that another quota makes useless. */
  private static void doubt(Quota quota, Node item, Map<Quota, Node> quotas, Problems problems) {
    for (Map.Entry<Quota, Node> other : quotas.entrySet()) {
      Quota lower = other.getKey();
      if (!lower.equals(quota)
          && lower.burst() <= quota.burst()
          && lower.intervalNanos() >= quota.intervalNanos()) {
        problems.warning(
            item,
            "found a quota that never denies: the quota on line %s has no larger burst and no higher rate"
                .formatted(other.getValue().line()));
        return;
      }
    }
  }

  private static @Nullable Quota item(Node item, Problems problems) {
    if (item instanceof Node.Mapping map) {
      return read(Fields.of(map, item, FIELDS, problems), problems);
    }
    String text = Values.text(item, QuotaText.EXPECTED, problems);
    if (text == null) {
      return null;
    }
    Quota quota = null;
    try {
      List<Quota.Fault> faults = QuotaText.faults(text);
      faults.forEach(fault -> problems.mistake(item, fault.field() + ": " + fault.message()));
      quota = faults.isEmpty() ? QuotaText.parse(text) : null;
    } catch (IllegalArgumentException e) {
      problems.mistake(
          item,
          e.getMessage()
              + (text.startsWith("burst ")
                  ? "; in a list in brackets, put a text with a comma in quotes"
                  : ""));
    }
    String rounding = quota == null ? null : rounding(quota);
    if (rounding != null) {
      problems.warning(item, rounding);
    }
    return quota;
  }

  private static void report(List<Quota.Fault> faults, Fields fields, Problems problems) {
    for (Quota.Fault fault : faults) {
      problems.mistake(fields.at(fault.field()), fault.message());
    }
  }

  /**
   * Returns a warning if rounding raises a high rate noticeably, otherwise null. The emission
   * interval is a whole number of nanoseconds, so the real rate can be a little higher than the
   * configured rate.
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
    return "found %s, but one token every %s ns (period / count, rounded down) admits %s in a"
            .formatted(quota.count(), quota.intervalNanos(), effective.toPlainString())
        + " period, %s %% more; expected a count that divides the period's nanoseconds better"
            .formatted(percent.toPlainString());
  }
}
