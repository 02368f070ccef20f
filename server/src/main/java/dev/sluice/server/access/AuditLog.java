// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.server.base.OutOfMemory;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An append-only log of who did what, as JSON lines: resets, refunds by hand, overrides, penalties,
 * reloads, refusals of these, and refused authentications.
 *
 * <p>One thread writes; callers never wait for a disk. The file is opened for each write, so
 * logrotate may rename it at any time, without a signal. Lines that cannot be written are counted
 * ({@code sluice.audit.lost}), and this is logged once until writing works again; decisions
 * continue. Thread-safe.
 */
public final class AuditLog implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(AuditLog.class);

  /** Escapes non-ASCII and control characters, so that no text can imitate another line. */
  private static final JsonFactory JSON =
      JsonFactory.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

  private static final int MOST_WAITING = 4096;
  private static final int SHOWN = 200;
  private static final int DETAIL_SHOWN = 1000;
  private static final long OPEN_SECONDS = 2;
  private static final long CLOSE_SECONDS = 5;
  private static final byte[] END = new byte[0];

  private final @Nullable Writer writer;

  private AuditLog(@Nullable Writer writer) {
    this.writer = writer;
  }

  /**
   * Returns a log that discards everything.
   *
   * @return a log without a file and a thread
   */
  public static AuditLog none() {
    return new AuditLog(null);
  }

  /**
   * Returns a log that appends to a file, and tests that this works. Waits for the file at most two
   * seconds.
   *
   * @param file the file, created if it is missing. A pipe must have a reader
   * @param meters the registry for the meters
   * @return the log; the caller must close it
   * @throws IOException if the file cannot be appended to
   */
  public static AuditLog of(Path file, MeterRegistry meters) throws IOException {
    tryOut(file);
    return started(() -> open(file), file.toString(), meters);
  }

  /**
   * Tests the file on another thread: an interrupt does not end the opening of a pipe without a
   * reader, or of a file on a dead mount.
   */
  private static void tryOut(Path file) throws IOException {
    FutureTask<Boolean> opening =
        new FutureTask<>(
            () -> {
              open(file).close();
              return true;
            });
    Thread thread = new Thread(opening, "sluice-audit-open");
    thread.setDaemon(true);
    thread.start();
    try {
      opening.get(OPEN_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IOException(
          "it does not answer (given up after %s s); if it is a pipe, start its reader first"
              .formatted(OPEN_SECONDS),
          e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the opening was interrupted");
    }
  }

  /**
   * Returns a log that writes to a stream, such as standard error, and never closes it.
   *
   * @param stream the stream
   * @param meters the registry for the meters
   * @return the log; the caller must close it
   */
  public static AuditLog of(OutputStream stream, MeterRegistry meters) {
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
    return started(() -> unclosed, "standard error", meters);
  }

  private static OutputStream open(Path file) throws IOException {
    if (!Files.exists(file)) {
      createForTheOwner(file);
    }
    return Files.newOutputStream(
        file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  }

  /** Creates the file so that only its owner can read it, since the log has ids and addresses. */
  private static void createForTheOwner(Path file) throws IOException {
    try {
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    } catch (FileAlreadyExistsException | UnsupportedOperationException e) {
      // Ignored: the file exists by now, or its file system has no POSIX permissions.
    }
  }

  private static AuditLog started(Target target, String name, MeterRegistry meters) {
    Writer writer = new Writer(target, name, meters);
    writer.thread.start();
    return new AuditLog(writer);
  }

  /** The target of lines, opened for each write and closed after it. */
  private interface Target {
    OutputStream open() throws IOException;
  }

  /**
   * Notes what a caller did.
   *
   * @param caller the caller
   * @param door the door of the request: {@code http}, {@code grpc} or {@code resp}
   * @param act the act and its bucket
   * @param result such as {@code done} or {@code refused}
   * @param detail further detail, may be empty
   */
  public void note(Caller caller, String door, Noted act, String result, String detail) {
    Writer to = writer;
    if (to != null) {
      to.add(line(caller, door, act, result, detail));
    }
  }

  /**
   * An act for the log.
   *
   * @param what the act, such as {@code reset}
   * @param limit the limit's name, null for none
   * @param id the bucket's id, null for none; the first 200 characters are kept
   */
  public record Noted(String what, @Nullable String limit, @Nullable String id) {

    /**
     * Returns an act without a bucket.
     *
     * @param what the act, such as {@code reload}
     * @return the act
     */
    public static Noted of(String what) {
      return new Noted(what, null, null);
    }

    /**
     * Returns an act of a client.
     *
     * @param act the act
     * @param limit the limit's name as the client wrote it, null if it is not known
     * @param id the id as the client wrote it, null if it is not known
     * @return the act
     */
    public static Noted of(Act act, @Nullable String limit, @Nullable String id) {
      return new Noted(word(act), limit, id);
    }
  }

  private static String word(Act act) {
    return act.name().toLowerCase(Locale.ROOT);
  }

  /**
   * Notes a reset or a refund when it has succeeded or failed; does nothing for other acts.
   *
   * @param done the result of the act
   * @param caller the caller
   * @param door the door of the request: {@code http}, {@code grpc} or {@code resp}
   * @param act the act
   * @param transactions the transactions on the buckets of the act
   * @param <T> the type of the result
   * @return a stage that completes after the note
   */
  public <T> CompletionStage<T> following(
      CompletionStage<T> done,
      Caller caller,
      String door,
      Act act,
      List<Transaction> transactions) {
    if (writer == null || !notes(act)) {
      return done;
    }
    return done.whenComplete(
        (value, failure) ->
            note(caller, door, word(act), transactions, failure == null ? "done" : "failed"));
  }

  /**
   * Notes that the acts of a caller were refused, a line for each.
   *
   * @param caller the caller, {@linkplain Caller#about about} its acts
   * @param door the door of the request: {@code http}, {@code grpc} or {@code resp}
   * @param why what is wrong with the request
   */
  public void refused(Caller caller, String door, String why) {
    for (Noted act : caller.acts()) {
      note(caller, door, act, "refused", why);
    }
  }

  /**
   * Whether the log notes an act of a client.
   *
   * @param act the act
   * @return true for resets and refunds
   */
  public static boolean notes(Act act) {
    return act == Act.RESET || act == Act.REFUND;
  }

  /**
   * Notes what a caller did to buckets, a line for each.
   *
   * @param caller the caller
   * @param door the door of the request: {@code http}, {@code grpc} or {@code resp}
   * @param what the act
   * @param transactions the buckets
   * @param result such as {@code done}
   */
  private void note(
      Caller caller, String door, String what, List<Transaction> transactions, String result) {
    for (Transaction one : transactions) {
      note(caller, door, new Noted(what, one.name().name(), one.id()), result, "");
    }
  }

  /**
   * Notes an act of the server itself.
   *
   * @param what the act
   * @param result such as {@code done}
   * @param detail further detail, may be empty
   */
  public void noteServer(String what, String result, String detail) {
    Writer to = writer;
    if (to != null) {
      to.add(line(null, "server", Noted.of(what), result, detail));
    }
  }

  private static byte[] line(
      @Nullable Caller caller, String door, Noted act, String result, String detail) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator json = JSON.createGenerator(bytes)) {
      json.writeStartObject();
      json.writeStringField("at", Instant.now().toString());
      json.writeStringField("who", caller == null ? "server" : shown(caller.name()));
      if (caller != null) {
        json.writeStringField("by", caller.by());
        json.writeStringField("address", caller.address());
      }
      json.writeStringField("door", door);
      json.writeStringField("what", act.what());
      if (act.limit() != null) {
        json.writeStringField("limit", shown(act.limit()));
      }
      if (act.id() != null) {
        json.writeStringField("id", shown(act.id()));
      }
      json.writeStringField("result", result);
      if (!detail.isEmpty()) {
        json.writeStringField("detail", shownDetail(detail));
      }
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: it is memory
    }
    bytes.write('\n');
    return bytes.toByteArray();
  }

  private static String shown(String text) {
    return text.length() > SHOWN ? text.substring(0, SHOWN) + "…" : text;
  }

  /** Cuts a long detail, since a client may have written a part of it. */
  private static String shownDetail(String text) {
    return text.length() > DETAIL_SHOWN ? text.substring(0, DETAIL_SHOWN) + "…" : text;
  }

  /** Writes the queued lines, and stops the writing thread. Blocks up to ten seconds. */
  @Override
  public void close() {
    if (writer != null) {
      writer.close();
    }
  }

  /** The thread that writes. */
  private static final class Writer {

    private final BlockingQueue<byte[]> lines = new ArrayBlockingQueue<>(MOST_WAITING);
    private final Target target;
    private final String name;
    private final Counter written;
    private final Counter lost;
    private final Thread thread;
    private final AtomicBoolean full = new AtomicBoolean();
    private boolean failing; // used by the thread only

    Writer(Target target, String name, MeterRegistry meters) {
      this.target = target;
      this.name = name;
      this.written =
          Counter.builder("sluice.audit.written")
              .description("Lines of the audit log that were written")
              .register(meters);
      this.lost =
          Counter.builder("sluice.audit.lost")
              .description("Lines of the audit log that could not be written")
              .register(meters);
      this.thread = new Thread(this::run, "sluice-audit");
      this.thread.setDaemon(true);
    }

    void add(byte[] line) {
      if (!lines.offer(line)) {
        lost.increment();
        if (full.compareAndSet(false, true)) {
          log.error(
              "the audit log {} cannot be written: {} lines wait and further ones are lost; check the"
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
          // Even the failure could not be logged; the next lines are tried anyway.
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
        batch.forEach(all::writeBytes);
        out.write(all.toByteArray());
      } catch (Throwable e) { // an Error must not end the only writer
        failed(batch.size(), e);
        return;
      }
      written.increment(batch.size());
      if (full.getAndSet(false) || failing) {
        log.info("the audit log {} is written again", name);
      }
      failing = false;
    }

    private void failed(int batch, Throwable failure) {
      lost.increment(batch);
      if (!failing) {
        failing = true;
        log.error(
            "the audit log {} cannot be written, its lines are lost until it can: {}",
            name,
            failure.toString());
      }
      OutOfMemory.report(failure);
    }

    void close() {
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
}
