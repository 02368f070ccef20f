// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.replay.ReplayResult.Change;
import dev.sluice.replay.ReplayResult.Totals;
import java.math.BigDecimal;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A condition on a result that makes a build pipeline fail, such as {@code newly-denied-clients >
 * 0.1%}.
 *
 * @param orEqual whether a value equal to the bound meets the condition
 * @param bound a number, or a percentage of all clients or requests
 */
public record FailIf(String metric, boolean orEqual, BigDecimal bound, boolean isShare) {

  private static final List<String> METRICS =
      List.of("newly-denied-clients", "newly-denied-requests", "denied-clients", "denied-requests");
  private static final Pattern FORM =
      Pattern.compile("\\s*([a-z-]+)\\s*(>=?)\\s*([0-9]{1,18}(?:[.][0-9]{1,9})?)\\s*(%?)\\s*");
  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

  /**
   * Parses a condition.
   *
   * @param text {@code METRIC OP NUMBER[%]}, where OP is {@code >} or {@code >=}
   * @throws IllegalArgumentException if the text is not a condition
   */
  public static FailIf parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "found %s, expected METRIC > NUMBER or METRIC >= NUMBER, such as newly-denied-clients > 0.1%%"
              .formatted(SafeText.quote(text)));
    }
    String metric = parts.group(1);
    if (!METRICS.contains(metric)) {
      throw new IllegalArgumentException(
          "found the metric %s, expected one of %s%s"
              .formatted(
                  SafeText.quote(metric),
                  String.join(", ", METRICS),
                  Suggestion.didYouMean(metric, METRICS)));
    }
    return new FailIf(
        metric,
        parts.group(2).equals(">="),
        new BigDecimal(parts.group(3)),
        !parts.group(4).isEmpty());
  }

  public boolean needsCandidate() {
    return metric.startsWith("newly-");
  }

  /**
   * Returns whether a result meets the condition. If the result has a candidate, the candidate's
   * denials are measured. Some metrics require a candidate. A share of no requests or clients is 0.
   */
  public boolean isMet(ReplayResult result) {
    int order =
        BigDecimal.valueOf(value(result))
            .multiply(isShare ? HUNDRED : BigDecimal.ONE)
            .compareTo(
                isShare ? bound.multiply(BigDecimal.valueOf(Math.max(1, whole(result)))) : bound);
    return orEqual ? order >= 0 : order > 0;
  }

  /**
   * Returns the measured value as a sentence, such as {@code newly-denied-clients is 22 of 41,212,
   * which is > 0.01%}.
   */
  public String found(ReplayResult result) {
    return "%s is %s of %s, which is %s %s%s"
        .formatted(
            metric,
            Words.whole(value(result)),
            Words.whole(whole(result)),
            orEqual ? ">=" : ">",
            bound.toPlainString(),
            isShare ? "%" : "");
  }

  private long value(ReplayResult result) {
    Change change = result.change();
    Totals totals = change == null ? result.totals() : change.totals();
    return switch (metric) {
      case "denied-clients" -> totals.deniedClients();
      case "denied-requests" -> totals.denied();
      case "newly-denied-clients" -> change == null ? 0 : change.newlyDeniedClients();
      default -> change == null ? 0 : change.newlyDenied();
    };
  }

  private long whole(ReplayResult result) {
    return metric.endsWith("clients") ? result.totals().clients() : result.totals().requests();
  }
}
