// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.Limits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.base.Counted;
import dev.sluice.server.base.OutOfMemory;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Writes one line for each reload of the files, and tells the meters. Those of the overrides follow
 * the file of overrides, unless they come from a table.
 */
final class ReloadLog implements ReloadListener {

  private static final Logger log = LoggerFactory.getLogger(ReloadLog.class);

  private final LimiterMetrics metrics;
  private final @Nullable Path overrides;

  /**
   * Makes a listener.
   *
   * @param overrides the file that the overrides come from; null if they come from a table, or if
   *     there are none
   */
  ReloadLog(LimiterMetrics metrics, @Nullable Path overrides) {
    this.metrics = metrics;
    this.overrides = overrides;
  }

  /** Tells the meters of a load that succeeded. */
  void tellLoaded(Instant at) {
    metrics.filesLoaded(at);
    if (overrides != null) {
      metrics.overridesLoaded(at);
    }
  }

  @Override
  public void loaded(Instant at, Limits limits, List<Problem> warnings) {
    long overrides =
        limits.catalogue().names().stream().mapToLong(n -> limits.overridesOf(n).size()).sum();
    long defaults =
        limits.catalogue().names().stream().filter(n -> limits.defaultFor(n) != null).count();
    tellLoaded(at);
    int rules = RuleBook.of(limits).size();
    log.atLevel(warnings.isEmpty() ? Level.INFO : Level.WARN)
        .log(
            "limits loaded: {}, {}{}{}",
            Counted.of(defaults, "default"),
            Counted.of(overrides, "override"),
            rules == 0 ? "" : ", " + Counted.of(rules, "rule"),
            list(warnings));
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    metrics.filesFailed(problems.size());
    if (overrides != null) {
      String file = overrides.toString();
      long mistakes = problems.stream().filter(problem -> problem.file().equals(file)).count();
      metrics.overridesFailed(Math.toIntExact(mistakes));
    }
    log.error("limits not loaded; the previous ones stay in force{}", list(problems));
  }

  /** The watcher has logged it. */
  @Override
  public void broke(Instant at, Throwable failure) {
    OutOfMemory.report(failure);
    metrics.filesBroke();
  }

  static String list(List<Problem> problems) {
    return problems.isEmpty()
        ? ""
        : problems.stream().map(Problem::toString).collect(Collectors.joining("; ", ": ", ""));
  }
}
