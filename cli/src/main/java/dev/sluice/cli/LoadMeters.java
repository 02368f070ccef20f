package dev.sluice.cli;

import dev.sluice.micrometer.LimiterMetrics;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What the meters say of limits that have two sources, files and perhaps a table of overrides: the
 * mistakes of both, and the time of the last load. Where there is a table, that is its last read: a
 * file that was loaded must not make a table look fresh that nobody can read. Thread-safe.
 */
final class LoadMeters {

  private final LimiterMetrics metrics;
  private final boolean withTable;

  private int mistakesInFiles;
  private int mistakesInTable;
  private @Nullable Instant loadedAt;

  LoadMeters(LimiterMetrics metrics, boolean withTable) {
    this.metrics = metrics;
    this.withTable = withTable;
  }

  synchronized void filesLoaded(Instant at) {
    mistakesInFiles = 0;
    if (!withTable) {
      loadedAt = at;
    }
    tell();
  }

  synchronized void filesFailed(int mistakes) {
    mistakesInFiles = mistakes;
    tell();
  }

  /** The table was read and holds, but for the rows that are bad. */
  synchronized void tableLoaded(Instant at, int badRows) {
    mistakesInTable = badRows;
    loadedAt = at;
    tell();
  }

  /**
   * The table was not read, or had nothing that holds.
   *
   * @param mistakes 0 for a table that is just empty
   */
  synchronized void tableFailed(int mistakes) {
    mistakesInTable = mistakes;
    tell();
  }

  private void tell() {
    if (loadedAt != null) {
      metrics.loaded(loadedAt);
    }
    metrics.loadFailed(mistakesInFiles + mistakesInTable);
  }
}
