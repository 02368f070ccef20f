// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.internal.text.SafeText;
import dev.sluice.replay.ReplayResult;
import dev.sluice.replay.ReplayResult.Row;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The part of {@code sluice replay} that compares, for limits in shadow, the decisions of the
 * replay with the counts of a running server.
 */
final class ShadowComparison {

  private static final Pattern PERCENT = Pattern.compile("([0-9]{1,3}(?:[.][0-9]{1,9})?)\\s*%");
  private static final Pattern SERIES =
      Pattern.compile("(?m)^ratelimits_decisions_total\\{([^}]*)\\} ([0-9.eE+]+)$");
  private static final Pattern LIMIT = Pattern.compile("(?:^|,)limit=\"([^\"]*)\"");
  private static final Pattern DECISION = Pattern.compile("(?:^|,)decision=\"(shadow_[a-z]+)\"");
  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

  @Option(
      names = "--compare",
      paramLabel = "URL",
      description =
          "A running server whose counts for limits in shadow are compared with those of the"
              + " replay. Exits with 1 if the difference is above --tolerance. The log must contain"
              + " all requests since the server started.")
  private @Nullable String url;

  @Option(
      names = "--tolerance",
      paramLabel = "PERCENT",
      description = "The allowed difference between the counts of log and server (0%%).")
  private @Nullable String tolerance;

  @Mixin private ServerClientOptions server = new ServerClientOptions();

  boolean isAskedFor() {
    return url != null || tolerance != null || server.given() != null;
  }

  /** The number of requests of a limit, and the number that the limit would deny. */
  record Counts(long requests, long denied) {

    private static final Counts NONE = new Counts(0, 0);

    Counts plus(Counts more) {
      return new Counts(requests + more.requests, denied + more.denied);
    }
  }

  /** Returns the server's counts by limit; null without {@code --compare}. */
  @Nullable Map<String, Counts> ask(Console console) {
    if (url == null) {
      if (isAskedFor()) {
        throw new InputException(
            "found --tolerance or an option for connecting to a server, which require --compare URL");
      }
      return null;
    }
    BigDecimal unused = allowed(); // a mistake ends the command before the log is read
    Map<String, Counts> counts = new TreeMap<>();
    Matcher series = SERIES.matcher(server.client(url, console).metrics());
    while (series.find()) {
      Matcher limit = LIMIT.matcher(series.group(1));
      Matcher decision = DECISION.matcher(series.group(1));
      if (limit.find() && decision.find()) {
        long count = new BigDecimal(series.group(2)).longValue();
        boolean isDenied = decision.group(1).equals("shadow_denied");
        counts.merge(limit.group(1), new Counts(count, isDenied ? count : 0), Counts::plus);
      }
    }
    return counts;
  }

  private BigDecimal allowed() {
    String given = tolerance == null ? "0%" : tolerance;
    Matcher parts = PERCENT.matcher(given);
    if (!parts.matches()) {
      throw new InputException(
          "--tolerance: found %s, expected a percentage such as 1%%"
              .formatted(SafeText.quote(given)));
    }
    return new BigDecimal(parts.group(1));
  }

  /**
   * Adds a line for each limit with the counts of the replay and of the server; returns false if a
   * difference is above the tolerance.
   */
  boolean compare(ReplayResult result, Map<String, Counts> atServer, List<String> lines) {
    Map<String, Counts> inLog = new TreeMap<>();
    for (Row row : result.rows()) {
      if (row.shadow()) {
        inLog.merge(row.limit(), new Counts(row.requests(), row.denied()), Counts::plus);
      }
    }
    List<String> limits = new ArrayList<>(inLog.keySet());
    atServer.keySet().stream().filter(limit -> !inLog.containsKey(limit)).forEach(limits::add);
    if (limits.isEmpty()) {
      throw new InputException(
          "--compare: neither the log nor the server has a request for a limit in shadow");
    }
    boolean isWithin = true;
    for (String limit : limits) {
      Counts log = inLog.getOrDefault(limit, Counts.NONE);
      Counts server = atServer.getOrDefault(limit, Counts.NONE);
      boolean isClose =
          isClose(log.requests(), server.requests()) && isClose(log.denied(), server.denied());
      isWithin &= isClose;
      lines.add(
          String.format(
              Locale.ROOT,
              "%s in shadow: the replay denies %,d of %,d requests, the server %,d of %,d: %s.",
              limit,
              log.denied(),
              log.requests(),
              server.denied(),
              server.requests(),
              log.equals(server)
                  ? "the same"
                  : isClose ? "within the tolerance" : "more than the tolerance"));
    }
    return isWithin;
  }

  private boolean isClose(long one, long two) {
    BigDecimal difference = BigDecimal.valueOf(Math.abs(one - two)).multiply(HUNDRED);
    return difference.compareTo(allowed().multiply(BigDecimal.valueOf(Math.max(one, two)))) <= 0;
  }
}
