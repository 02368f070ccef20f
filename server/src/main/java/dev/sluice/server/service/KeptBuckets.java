// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.base.Periodic;
import dev.sluice.server.base.SymlinkTargets;
import dev.sluice.server.service.ServerConfig.ConfigException;
import dev.sluice.store.MemoryStore;
import dev.sluice.store.MemoryStore.SnapshotException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Saves the memory store at intervals; a crash loses charges since the last save. Thread-safe. */
final class KeptBuckets implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(KeptBuckets.class);

  private static final double MILLIS_PER_SECOND = 1e3;

  private final MemoryStore store;
  private final Path file;
  private final ScheduledExecutorService writer;
  private final Counter failures;
  private volatile double savedAtSeconds;
  private volatile boolean failing;

  private KeptBuckets(MemoryStore store, Path file, MeterRegistry registry) {
    this.store = store;
    this.file = file;
    this.savedAtSeconds = nowSeconds();
    this.failures =
        Counter.builder("sluice.snapshot.failures")
            .description("Snapshots of the memory store that could not be written")
            .register(registry);
    Gauge.builder("sluice.snapshot.timestamp.seconds", this, kept -> kept.savedAtSeconds)
        .description("When the last snapshot was written, in seconds since the epoch")
        .register(registry);
    Gauge.builder("sluice.snapshot.failing", this, kept -> kept.failing ? 1 : 0)
        .description("1 if the last snapshot could not be written")
        .register(registry);
    this.writer = Periodic.scheduler("sluice-snapshot");
  }

  /** Reads the snapshot, if there is one, and writes a new snapshot to test the file. */
  static KeptBuckets open(Path named, Duration every, MeterRegistry registry) {
    // Follows links, so that a link is not replaced by the newest snapshot.
    Path file = SymlinkTargets.followed(named);
    KeptBuckets kept;
    try {
      MemoryStore.Builder builder = MemoryStore.builder();
      boolean there = Files.exists(file);
      MemoryStore store = there ? builder.restore(file) : builder.build();
      log.info(
          there ? "{} live buckets restored from {}" : "{} live buckets: {} does not exist yet",
          store.liveBuckets().orElse(0),
          file);
      store.save(file);
      kept = new KeptBuckets(store, file, registry);
    } catch (IOException e) {
      throw new ConfigException("snapshot", reason(file, e), e);
    }
    long nanos = every.toNanos();
    Runnable save = Periodic.task(log, "saving snapshots", kept::save);
    var unused = kept.writer.scheduleWithFixedDelay(save, nanos, nanos, TimeUnit.NANOSECONDS);
    return kept;
  }

  private static String reason(Path file, IOException e) {
    return e instanceof SnapshotException
        ? String.valueOf(e.getMessage())
        : "%s: can't be read and written (%s), expected a file in a folder where the server may write"
            .formatted(file, e);
  }

  MemoryStore store() {
    return store;
  }

  private static double nowSeconds() {
    return System.currentTimeMillis() / MILLIS_PER_SECOND;
  }

  /** Saves a snapshot; logs when saving starts to fail, and when it works again. */
  private synchronized void save() {
    try {
      store.save(file);
      savedAtSeconds = nowSeconds();
      if (failing) {
        log.info("snapshots are written again: {}", file);
      }
      failing = false;
    } catch (Throwable e) { // any failure: a task that throws would never run again
      failures.increment();
      if (!failing) {
        log.error("snapshot not written to {}, the previous one is kept: {}", file, e.toString());
      }
      failing = true;
    }
  }

  /** Stops periodic saving, and saves a last snapshot; must be called after the last charge. */
  @Override
  public void close() {
    writer.shutdown();
    save();
    if (failing) {
      log.error(
          "the last snapshot was not written to {}: charges since the previous snapshot are lost",
          file);
    }
  }
}
