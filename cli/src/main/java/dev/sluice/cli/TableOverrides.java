package dev.sluice.cli;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.GoDuration;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.OverridesRefresher;
import dev.sluice.postgres.RefreshListener;
import dev.sluice.store.StoreException;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The limits of the files with the overrides of a table over them, if there is a table.
 * Thread-safe.
 *
 * @param limits what the limiter decides by
 * @param refresher null where there is no table
 */
record TableOverrides(CurrentLimits limits, @Nullable OverridesRefresher refresher) {

  /** Starts reading the table, where there is a URL. */
  static TableOverrides start(@Nullable String url, String every, CurrentLimits files) {
    if (url == null) {
      return new TableOverrides(files, null);
    }
    Duration interval;
    try {
      interval = GoDuration.parse(every);
    } catch (IllegalArgumentException e) {
      throw new InputException("--overrides-every: " + e.getMessage());
    }
    if (interval.isZero()) {
      throw new InputException("--overrides-every: found 0, expected a duration > 0");
    }
    CurrentLimits merged = new CurrentLimits(files.get());
    return new TableOverrides(
        merged,
        OverridesRefresher.start(
            DatabaseOptions.table(url, files.get().catalogue()),
            files::get,
            merged,
            interval,
            new RefreshListener() {}));
  }

  /** A listener that also puts the table's overrides over files that were loaded. */
  ReloadListener after(ReloadListener listener) {
    if (refresher == null) {
      return listener;
    }
    return new ReloadListener() {
      @Override
      public void loaded(Instant at, Limits loaded, List<Problem> warnings) {
        refresher.baseChanged();
        listener.loaded(at, loaded, warnings);
      }

      @Override
      public void failed(Instant at, List<Problem> problems) {
        listener.failed(at, problems);
      }
    };
  }

  void requireReady() {
    if (refresher != null && !refresher.ready()) {
      throw new StoreException("the table of overrides has not been read yet; nothing was charged");
    }
  }

  void close() {
    if (refresher != null) {
      refresher.close();
    }
  }
}
