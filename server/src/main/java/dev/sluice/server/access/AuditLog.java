// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.base.JsonLines.LogKind;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * An append-only log of who did what, as JSON lines: resets, refunds by hand, overrides, penalties,
 * reloads, refusals of these, and refused authentications.
 *
 * <p>Callers never wait for a disk; see {@link JsonLines}. Thread-safe.
 */
public final class AuditLog implements AutoCloseable {

  /** What the lines are. */
  public static final LogKind KIND = new LogKind("audit log", "sluice.audit", "sluice-audit");

  private static final int DETAIL_SHOWN = 1000;

  private final @Nullable JsonLines lines;

  private AuditLog(@Nullable JsonLines lines) {
    this.lines = lines;
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
   * Returns a log that writes to lines.
   *
   * @param lines the lines, which the log closes
   * @return the log; the caller must close it
   */
  public static AuditLog to(JsonLines lines) {
    return new AuditLog(lines);
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
    return new AuditLog(JsonLines.of(file, KIND, meters));
  }

  /**
   * Returns a log that writes to a stream, such as standard error, and never closes it.
   *
   * @param stream the stream
   * @param meters the registry for the meters
   * @return the log; the caller must close it
   */
  public static AuditLog of(OutputStream stream, MeterRegistry meters) {
    return new AuditLog(JsonLines.of(stream, KIND, meters));
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
    JsonLines to = lines;
    if (to != null) {
      to.add(json -> write(caller, door, act, result, detail, json));
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
    if (lines == null || !notes(act)) {
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
    JsonLines to = lines;
    if (to != null) {
      to.add(json -> write(null, "server", Noted.of(what), result, detail, json));
    }
  }

  private static void write(
      @Nullable Caller caller,
      String door,
      Noted act,
      String result,
      String detail,
      JsonGenerator json)
      throws IOException {
    json.writeStringField("at", Instant.now().toString());
    json.writeStringField("who", caller == null ? "server" : JsonLines.shown(caller.name()));
    if (caller != null) {
      json.writeStringField("by", caller.by());
      json.writeStringField("address", caller.address());
    }
    json.writeStringField("door", door);
    json.writeStringField("what", act.what());
    if (act.limit() != null) {
      json.writeStringField("limit", JsonLines.shown(act.limit()));
    }
    if (act.id() != null) {
      json.writeStringField("id", JsonLines.shown(act.id()));
    }
    json.writeStringField("result", result);
    if (!detail.isEmpty()) {
      json.writeStringField("detail", JsonLines.shown(detail, DETAIL_SHOWN));
    }
  }

  /** Writes the queued lines, and stops the writing thread. Blocks up to ten seconds. */
  @Override
  public void close() {
    if (lines != null) {
      lines.close();
    }
  }
}
