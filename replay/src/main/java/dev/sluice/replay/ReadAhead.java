// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;

/*
 * A few batches are reused: the reading thread fills one batch while another thread decides the
 * requests of another batch. The queues make the requests of a batch visible to the other thread,
 * and at the end also the counts of the reader.
 */
/**
 * Reads requests in batches, optionally with a separate thread. Not thread-safe; blocks if the
 * streams block.
 */
final class ReadAhead implements AutoCloseable {

  private static final int BATCHES = 4;
  private static final int MOST_BYTES = 1 << 22; // the maximum for the lines of a batch

  /**
   * A batch of requests, in the order in which the reader returned them. The requests of a batch
   * are valid until the next call of {@link #next}.
   */
  static final class Batch {

    final LogEntry[] entries = new LogEntry[512];
    int size;
    long lines; // the number of lines read up to the end of this batch
    private @Nullable Throwable failure; // the failure that ended the reading after these requests

    private boolean isLast() {
      return size == 0 || failure != null;
    }
  }

  private final LogReader reader;
  private final BlockingQueue<Batch> free = new ArrayBlockingQueue<>(BATCHES);
  private final BlockingQueue<Batch> filled = new ArrayBlockingQueue<>(BATCHES);
  private final @Nullable Thread thread;
  private Batch current = new Batch();

  /**
   * Starts to read.
   *
   * @param reader the reader, which only this object uses from now on
   * @param onOwnThread whether to read with a separate thread; only allowed if lines cannot add
   *     columns
   */
  ReadAhead(LogReader reader, boolean onOwnThread) {
    this.reader = reader;
    if (onOwnThread) {
      for (int i = 1; i < BATCHES; i++) {
        free.add(new Batch());
      }
      Thread made = new Thread(this::readAll, "sluice-log-reader");
      made.setDaemon(true); // reading from a pipe can block for ever
      made.start();
      this.thread = made;
    } else {
      this.thread = null;
    }
  }

  /**
   * Returns the next batch with at least one request; null at the end.
   *
   * @throws IOException if a file cannot be read; earlier calls have returned all requests before
   *     the failure
   */
  @Nullable Batch next() throws IOException {
    if (current.failure != null) {
      throw thrown(current.failure);
    }
    if (thread == null) {
      fill(current);
    } else {
      try {
        free.put(current);
        current = filled.take();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while waiting for the log");
      }
    }
    if (current.size == 0 && current.failure != null) {
      throw thrown(current.failure);
    }
    return current.size == 0 ? null : current;
  }

  private static IOException thrown(Throwable failure) {
    if (failure instanceof RuntimeException unchecked) {
      throw unchecked;
    }
    if (failure instanceof Error error) {
      throw error;
    }
    return (IOException) failure;
  }

  private void readAll() {
    try (reader) {
      Batch batch;
      do {
        batch = free.take();
        fill(batch);
        filled.put(batch);
      } while (!batch.isLast());
    } catch (InterruptedException | IOException e) {
      // The replay has ended and needs no more requests, or a file could not be closed after
      // reading.
    }
  }

  private void fill(Batch batch) {
    for (int i = 0; i < batch.size; i++) {
      reader.release(batch.entries[i]);
    }
    batch.size = 0;
    try {
      int bytes = 0;
      while (batch.size < batch.entries.length && bytes < MOST_BYTES) {
        LogEntry entry = reader.next();
        if (entry == null) {
          break;
        }
        batch.entries[batch.size++] = entry;
        bytes += entry.length();
      }
    } catch (IOException | RuntimeException | Error e) {
      batch.failure = e;
    }
    batch.lines = reader.found().lines();
  }

  @Override
  public void close() throws IOException {
    if (thread == null) {
      reader.close();
    } else if (current.isLast()) {
      join(thread);
    } else {
      thread.interrupt();
    }
  }

  private static void join(Thread ending) {
    try {
      ending.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
