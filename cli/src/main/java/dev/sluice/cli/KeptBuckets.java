package dev.sluice.cli;

import dev.sluice.store.MemoryStore;
import dev.sluice.store.SnapshotException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Buckets in memory that outlive a restart: read from a snapshot, written to it again and again,
 * and once more at the end. A crash loses what was charged since the last time. Thread-safe.
 */
final class KeptBuckets implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(KeptBuckets.class);

  private final MemoryStore store;
  private final Path file;
  private final ScheduledExecutorService writer;
  private boolean failing;

  private KeptBuckets(MemoryStore store, Path file) {
    this.store = store;
    this.file = file;
    this.writer =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "sluice-snapshot");
              thread.setDaemon(true);
              return thread;
            });
  }

  /** Reads the snapshot, if there is one, and writes it to see that this works. */
  static KeptBuckets open(Path file, Duration every) {
    KeptBuckets kept;
    try {
      MemoryStore.Builder builder = MemoryStore.builder();
      boolean there = Files.exists(file);
      MemoryStore store = there ? builder.restore(file) : builder.build();
      log.info(
          there ? "{} live buckets restored from {}" : "{} live buckets: there is no {} yet",
          store.liveBuckets().orElse(0),
          file);
      store.save(file);
      kept = new KeptBuckets(store, file);
    } catch (IOException e) {
      throw new InputException("--snapshot: " + reason(file, e));
    }
    long nanos = every.toNanos();
    var unused = kept.writer.scheduleWithFixedDelay(kept::save, nanos, nanos, TimeUnit.NANOSECONDS);
    return kept;
  }

  private static String reason(Path file, IOException e) {
    return e instanceof SnapshotException
        ? String.valueOf(e.getMessage())
        : "%s: can't be read and written (%s), expected a file in a folder where the server may do so"
            .formatted(file, e);
  }

  MemoryStore store() {
    return store;
  }

  /** One line when it starts to fail, and one when it works again. */
  private synchronized void save() {
    try {
      store.save(file);
      if (failing) {
        log.info("snapshots are written again: {}", file);
      }
      failing = false;
    } catch (IOException | RuntimeException | OutOfMemoryError e) { // or it would never run again
      if (!failing) {
        log.error("snapshot not written, the last one is still there: {}", e.toString());
      }
      failing = true;
    }
  }

  /** Ends the writing, and writes for the last time: when nobody charges any more. */
  @Override
  public void close() {
    writer.shutdown();
    save();
  }
}
