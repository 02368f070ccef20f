// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesWatcher;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reloads changed limit files. If a file has a mistake, logs the mistake and keeps the current
 * limits. Thread-safe.
 */
final class LimitReload implements AutoCloseable {

  private static final Logger LOG = System.getLogger(LimitReload.class.getName());

  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

  private final @Nullable LimitFilesWatcher watcher;

  private LimitReload(@Nullable LimitFilesWatcher watcher) {
    this.watcher = watcher;
  }

  /** Counts successful and failed loads of the limits, and of the file of overrides among them. */
  interface Meters {

    void loaded(Instant at);

    void failed(int mistakes);

    void broke();

    void overridesLoaded(Instant at);

    void overridesFailed(int mistakes);
  }

  /**
   * Starts to watch the files, unless the interval is zero. Limits in the properties, or files that
   * are not watched, count as loaded now.
   *
   * @param files the limit files; null if the limits are in the properties
   * @param overrides the file of overrides, which has separate metrics; null if there is no such
   *     file
   * @param limits the limits; null if the application has its own
   */
  static LimitReload start(
      @Nullable LimitFiles files,
      @Nullable Path overrides,
      @Nullable CurrentLimits limits,
      Duration interval,
      @Nullable Meters meters) {
    if (interval.isNegative() || interval.compareTo(LONGEST) > 0) {
      throw new SluiceConfigurationException(
          List.of("sluice.files.reload: found %s, expected 0 to 292 years".formatted(interval)),
          "Write the interval for checking the files, such as 10s, or 0 to read them once.");
    }
    if (limits == null) {
      return new LimitReload(null);
    }
    Listener listener = new Listener(overrides, meters);
    if (files == null || interval.isZero()) {
      listener.countLoad(Instant.now()); // the limits were read when their bean was created
      return new LimitReload(null);
    }
    return new LimitReload(files.watch(limits, interval, listener));
  }

  @Override
  public void close() {
    if (watcher != null) {
      watcher.close();
    }
  }

  private record Listener(@Nullable Path overrides, @Nullable Meters meters)
      implements ReloadListener {

    void countLoad(Instant at) {
      if (meters != null) {
        meters.loaded(at);
        if (overrides != null) {
          meters.overridesLoaded(at);
        }
      }
    }

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      warnings.forEach(warning -> LOG.log(Level.WARNING, "{0}", warning));
      LOG.log(Level.INFO, "limits loaded: {0} configured", limits.configured().size());
      countLoad(at);
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      problems.forEach(
          problem ->
              LOG.log(
                  Level.ERROR,
                  "a reload found a mistake: {0}{1}",
                  problem,
                  problem.toString().endsWith("previous overrides")
                      ? ""
                      : "; the current limits stay in force"));
      if (meters != null) {
        meters.failed(problems.size());
        if (overrides != null) {
          String file = overrides.toString();
          meters.overridesFailed(
              (int) problems.stream().filter(problem -> problem.file().equals(file)).count());
        }
      }
    }

    @Override
    public void broke(Instant at, Throwable failure) {
      if (meters != null) {
        meters.broke();
      }
    }
  }
}
