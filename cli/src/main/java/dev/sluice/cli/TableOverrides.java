package dev.sluice.cli;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.postgres.BadRow;
import dev.sluice.postgres.OverridesRefresher;
import dev.sluice.postgres.RefreshListener;
import dev.sluice.server.http.NotReadyException;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The limits of the files with the overrides of a table over them, if there is a table.
 * Thread-safe, once started.
 */
final class TableOverrides {

  private final @Nullable String url;
  private final @Nullable String password;
  private final Duration interval;
  private final CurrentLimits files;
  private final CurrentLimits limits;
  private volatile @Nullable OverridesRefresher refresher;

  private TableOverrides(
      @Nullable String url, @Nullable String password, Duration interval, CurrentLimits files) {
    this.url = url;
    this.password = password;
    this.interval = interval;
    this.files = files;
    this.limits = url == null ? files : files.derived();
  }

  /**
   * Checks the options.
   *
   * @param url of the database, null for none
   * @param password of the database, null for that in the URL
   */
  static TableOverrides of(
      @Nullable String url, @Nullable String password, String every, CurrentLimits files) {
    return new TableOverrides(url, password, Periods.positive("--overrides-every", every), files);
  }

  /** Whether there is a table. */
  boolean isPresent() {
    return url != null;
  }

  /** What the limiter decides by. */
  CurrentLimits limits() {
    return limits;
  }

  /** Starts to read the table, where there is one. */
  void start(LimiterMetrics metrics) {
    if (url != null) {
      refresher =
          OverridesRefresher.start(
              DatabaseOptions.table(url, password, files.get().catalogue()),
              files::get,
              limits,
              interval,
              new Meters(metrics));
    }
  }

  /** A listener that also puts the table's overrides over files that were loaded. */
  ReloadListener after(ReloadListener listener) {
    OverridesRefresher started = refresher;
    if (started == null) {
      return listener;
    }
    return new ReloadListener() {
      @Override
      public void loaded(Instant at, Limits loaded, List<Problem> warnings) {
        started.baseChanged();
        listener.loaded(at, loaded, warnings);
      }

      @Override
      public void failed(Instant at, List<Problem> problems) {
        listener.failed(at, problems);
      }
    };
  }

  void requireReady() {
    OverridesRefresher started = refresher;
    if (started != null && !started.ready()) {
      throw new NotReadyException("the table of overrides has not been read yet");
    }
  }

  void close() {
    OverridesRefresher started = refresher;
    if (started != null) {
      started.close();
    }
  }

  /** Rows that are bad and a table that can't be read count as mistakes of the last load. */
  private record Meters(LimiterMetrics metrics) implements RefreshListener {

    @Override
    public void refreshed(Instant at, Limits now, List<BadRow> bad) {
      metrics.overridesLoaded(at);
      metrics.overridesFailed(bad.size());
    }

    @Override
    public void empty(Instant at, List<BadRow> bad) {
      metrics.overridesFailed(bad.size());
    }

    @Override
    public void failed(Instant at, SQLException failure, Duration retryIn) {
      metrics.overridesFailed(1);
    }
  }
}
