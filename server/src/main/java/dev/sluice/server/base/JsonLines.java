// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.sluice.internal.async.Stages.DaemonThread;
import dev.sluice.server.base.FailureLog.OutOfMemory;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An append-only file of JSON lines, such as the audit log.
 *
 * <p>A single thread writes the file, so {@link #add} never waits for a disk. Each write opens the
 * file again, so logrotate may rename it at any time, without a signal. Lines that cannot be
 * written are lost and counted. The first failed write is logged, and then nothing until a write
 * succeeds. A failed write can leave a part of a line in the file, so the next write begins with a
 * line feed. Thread-safe.
 */
public final class JsonLines implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(JsonLines.class);

  /** Escapes non-ASCII and control characters, so that no value can look like another log line. */
  private static final JsonFactory JSON =
      JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

  private static final int MOST_WAITING = 4096;
  private static final int SHOWN = 200;
  private static final long OPEN_SECONDS = 2;
  private static final long CLOSE_SECONDS = 5;
  private static final byte[] END = new byte[0];

  private final BlockingQueue<byte[]> lines = new ArrayBlockingQueue<>(MOST_WAITING);
  private final Target target;
  private final String name;
  private final Counter written;
  private final Counter lost;
  private final Thread thread;
  private final AtomicBoolean full = new AtomicBoolean();
  private boolean failing; // used only by the writer thread
  private boolean isCut; // whether the file can end within a line; used only by the writer thread

  private JsonLines(Target target, String name, LogKind kind, MeterRegistry meters) {
    this.target = target;
    this.name = "the %s %s".formatted(kind.what, name);
    this.written =
        Counter.builder(kind.meter + ".written")
            .description("Lines of the %s that were written".formatted(kind.what))
            .register(meters);
    this.lost =
        Counter.builder(kind.meter + ".lost")
            .description("Lines of the %s that could not be written".formatted(kind.what))
            .register(meters);
    this.thread = new DaemonThread(this::run, kind.thread);
  }

  /** A kind of log: its name in messages, its meters' name prefix, and its thread's name. */
  public record LogKind(String what, String meter, String thread) {}

  /** A file or stream that is opened for each write and closed afterwards. */
  private interface Target {
    OutputStream open() throws IOException;
  }

  /**
   * Starts to append lines to a file. Before it returns, this method opens the file once to test
   * it, for at most two seconds.
   *
   * @param file the log file, created if it is missing. If the file is a pipe, a process must read
   *     the pipe
   * @throws IOException if the file cannot be appended to
   */
  public static JsonLines of(Path file, LogKind kind, MeterRegistry meters) throws IOException {
    tryOut(file, kind);
    return started(new JsonLines(() -> open(file), file.toString(), kind, meters));
  }

  /**
   * Opens the file once on another thread, so that the caller can stop waiting. A thread that opens
   * a pipe without a reader, or a file on a dead mount, blocks and cannot be interrupted.
   */
  private static void tryOut(Path file, LogKind kind) throws IOException {
    FutureTask<Boolean> opening =
        new FutureTask<>(
            () -> {
              open(file).close();
              return true;
            });
    new DaemonThread(opening, kind.thread + "-open").start();
    try {
      opening.get(OPEN_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IOException(
          "the file could not be opened within %s s; if the file is a pipe, start its reader first"
              .formatted(OPEN_SECONDS),
          e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the opening was interrupted");
    }
  }

  /** Starts to write to a stream, such as standard error, and never closes it. */
  public static JsonLines of(OutputStream stream, LogKind kind, MeterRegistry meters) {
    OutputStream unclosed =
        new OutputStream() {
          @Override
          public void write(int b) throws IOException {
            stream.write(b);
          }

          @Override
          public void write(byte[] bytes, int offset, int length) throws IOException {
            stream.write(bytes, offset, length);
          }

          @Override
          public void close() throws IOException {
            stream.flush();
          }
        };
    return started(new JsonLines(() -> unclosed, "standard error", kind, meters));
  }

  private static JsonLines started(JsonLines lines) {
    lines.thread.start();
    return lines;
  }

  private static OutputStream open(Path file) throws IOException {
    if (!Files.exists(file)) {
      createForTheOwner(file);
    }
    return Files.newOutputStream(
        file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  }

  /** Creates a file that only its owner can read, since the log contains ids and addresses. */
  private static void createForTheOwner(Path file) throws IOException {
    try {
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    } catch (FileAlreadyExistsException | UnsupportedOperationException e) {
      // Ignored: the file exists now, or the file system has no POSIX permissions.
    }
  }

  /** Queues a line; the new line is lost if too many lines wait for the disk. */
  public void add(Consumer<Json> fields) {
    ByteArrayOutputStream bytes = Json.written(JSON, Json.of(fields));
    bytes.write('\n');
    add(bytes.toByteArray());
  }

  /** Returns the first 200 characters of a text from a client. */
  public static String shown(String text) {
    return shown(text, SHOWN);
  }

  /** Shortens a text from a client. */
  public static String shown(String text, int most) {
    if (text.length() <= most) {
      return text;
    }
    int end = Character.isHighSurrogate(text.charAt(most - 1)) ? most - 1 : most;
    return text.substring(0, end) + "…";
  }

  private void add(byte[] line) {
    if (!lines.offer(line)) {
      lost.increment();
      if (full.compareAndSet(false, true)) {
        log.error(
            "{} cannot be written: {} lines wait and further lines are lost; check the"
                + " disk or the reader of the pipe",
            name,
            MOST_WAITING);
      }
    }
  }

  private void run() {
    boolean ended = false;
    while (!ended) {
      try {
        ended = writeNext();
      } catch (Throwable e) {
        // If even the failure could not be logged, the writer continues with the next lines.
      }
    }
  }

  /** Waits for lines, and writes them. Returns whether the log was closed. */
  private boolean writeNext() {
    List<byte[]> batch = new ArrayList<>();
    boolean ended = false;
    try {
      batch.add(lines.take());
    } catch (InterruptedException e) {
      ended = true;
    }
    lines.drainTo(batch);
    ended |= batch.removeIf(line -> line.length == 0);
    if (!batch.isEmpty()) {
      write(batch);
    }
    return ended;
  }

  private void write(List<byte[]> batch) {
    try (OutputStream out = target.open()) {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      if (isCut) {
        all.write('\n');
      }
      batch.forEach(all::writeBytes);
      isCut = true;
      out.write(all.toByteArray());
    } catch (Throwable e) { // an Error must not end the only writer
      failed(batch.size(), e);
      return;
    }
    isCut = false;
    written.increment(batch.size());
    if (full.getAndSet(false) || failing) {
      log.info("{} is written again", name);
    }
    failing = false;
  }

  private void failed(int batch, Throwable failure) {
    lost.increment(batch);
    if (!failing) {
      failing = true;
      log.error(
          "{} cannot be written; its lines are lost until writing works again: {}",
          name,
          failure.toString());
    }
    OutOfMemory.report(failure);
  }

  /** Writes the queued lines, and stops the writing thread; blocks for up to ten seconds. */
  @Override
  public void close() {
    try {
      if (!lines.offer(END, CLOSE_SECONDS, TimeUnit.SECONDS)) {
        thread.interrupt();
      }
      thread.join(TimeUnit.SECONDS.toMillis(CLOSE_SECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
