package dev.sluice.cli;

import dev.sluice.limit.Limits;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes one line for each reload of the limit files, and tells the meters. */
final class ReloadLog implements ReloadListener {

  private static final Logger log = LoggerFactory.getLogger(ReloadLog.class);

  private final LoadMeters meters;

  ReloadLog(LoadMeters meters) {
    this.meters = meters;
  }

  @Override
  public void loaded(Instant at, Limits limits, List<Problem> warnings) {
    long overrides =
        limits.catalogue().names().stream().mapToLong(n -> limits.overridesOf(n).size()).sum();
    long defaults =
        limits.catalogue().names().stream().filter(n -> limits.defaultFor(n) != null).count();
    meters.filesLoaded(at);
    log.info("limits loaded: {} defaults, {} overrides{}", defaults, overrides, list(warnings));
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    meters.filesFailed(problems.size());
    log.error("limits not loaded, the old ones still hold{}", list(problems));
  }

  private static String list(List<Problem> problems) {
    return problems.isEmpty()
        ? ""
        : problems.stream().map(Problem::toString).collect(Collectors.joining("; ", ": ", ""));
  }
}
