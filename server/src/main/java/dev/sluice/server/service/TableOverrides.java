// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.postgres.BadRow;
import dev.sluice.postgres.OverridesRefresher;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.RefreshListener;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.FailureLog.OutOfMemory;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.service.ServerConfig.Table;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Adds a table's overrides, if any, to the files' limits. Thread-safe after {@link #start}. */
final class TableOverrides {

  private final @Nullable Table table;
  private final CurrentLimits files;
  private final CurrentLimits limits;
  private volatile @Nullable OverridesRefresher refresher;
  private volatile @Nullable RuntimeLimits runtime;
  private final AtomicLong failedReads = new AtomicLong();

  /** Makes the limits from the files; the table's overrides are added later. */
  TableOverrides(@Nullable Table table, CurrentLimits files) {
    this.table = table;
    this.files = files;
    this.limits = table == null ? files : files.derived();
  }

  boolean isPresent() {
    return table != null;
  }

  RuntimeLimits runtime(@Nullable Path file, BucketStore store) {
    RuntimeLimits over =
        table != null
            ? RuntimeLimits.inTable(
                table.database(), table.every(), this::refreshNow, limits, files, store)
            : file != null
                ? RuntimeLimits.inFile(file, limits, store)
                : RuntimeLimits.inMemory(limits, store);
    runtime = over;
    return over;
  }

  private boolean refreshNow() {
    OverridesRefresher started = refresher;
    if (started == null) {
      tableRead(false);
      return false;
    }
    return started.refreshNow();
  }

  private void tableRead(boolean succeeded) {
    if (!succeeded) {
      failedReads.incrementAndGet();
    }
    RuntimeLimits over = runtime;
    if (over != null) {
      over.tableRead(succeeded);
    }
  }

  /** Starts to read the overrides table, if there is one, and to count failed reads. */
  void start(LimiterMetrics metrics, MeterRegistry registry) {
    RuntimeLimits over = runtime;
    if (over != null) {
      count(
          registry,
          table == null ? "override_store" : "penalties_table",
          over,
          RuntimeLimits::failedReads);
    }
    if (table != null) {
      refresher =
          OverridesRefresher.start(
              new OverridesTable(table.database(), files.get().catalogue()),
              files::get,
              limits,
              table.every(),
              new Meters(metrics, this::tableRead));
      count(registry, "overrides_table", failedReads, AtomicLong::get);
    }
  }

  private static <T> void count(
      MeterRegistry registry, String source, T counted, ToDoubleFunction<T> failures) {
    FunctionCounter.builder("sluice.runtime.reads.failed", counted, failures)
        .description("Reads of overrides or penalties that failed; the previous ones stay in force")
        .tag("source", source)
        .register(registry);
  }

  /** Adds the table's overrides to the newly loaded files. */
  void baseChanged() {
    OverridesRefresher started = refresher;
    if (started != null) {
      started.baseChanged();
    }
    RuntimeLimits over = runtime;
    if (over != null) {
      over.baseChanged();
    }
  }

  void requireReady() {
    OverridesRefresher started = refresher;
    if (started != null && !started.ready()) {
      throw new NotReadyException("the table of overrides has not been read yet");
    }
    RuntimeLimits over = runtime;
    if (over != null && !over.ready()) {
      throw new NotReadyException("the table of penalties has not been read yet");
    }
  }

  void close() {
    OverridesRefresher started = refresher;
    if (started != null) {
      started.close();
    }
  }

  /** Counts invalid rows, or a failed read of the table, as mistakes of the last load. */
  private record Meters(LimiterMetrics metrics, Consumer<Boolean> read) implements RefreshListener {

    @Override
    public void refreshed(Instant at, Limits now, List<BadRow> bad) {
      read.accept(true);
      metrics.overridesLoaded(at);
      metrics.overridesFailed(bad.size());
    }

    @Override
    public void empty(Instant at, List<BadRow> bad) {
      read.accept(true);
      metrics.overridesFailed(bad.size());
    }

    @Override
    public void failed(Instant at, SQLException failure, Duration retryIn) {
      OutOfMemory.report(failure);
      read.accept(false);
      metrics.overridesFailed(1);
    }
  }
}
