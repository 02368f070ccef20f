// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.JsonLines;
import dev.sluice.server.base.JsonLines.LogKind;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The audit log: an append-only log of resets, manual refunds, changes of overrides and penalties,
 * reloads, refusals of these operations, and failed authentications. Each entry is a line of JSON.
 *
 * <p>Recording an operation never waits for a disk; see {@link JsonLines}. Thread-safe.
 */
public final class AuditLog implements AutoCloseable {

  public static final LogKind KIND = new LogKind("audit log", "sluice.audit", "sluice-audit");

  private static final int DETAIL_SHOWN = 1000;

  private final @Nullable JsonLines lines;

  private AuditLog(@Nullable JsonLines lines) {
    this.lines = lines;
  }

  public static AuditLog none() {
    return new AuditLog(null);
  }

  /** Returns a log that writes to {@code lines}; the log closes {@code lines}. */
  public static AuditLog to(JsonLines lines) {
    return new AuditLog(lines);
  }

  /**
   * Records an operation of a caller.
   *
   * @param door the request's protocol, {@code http}, {@code grpc} or {@code resp}
   * @param result the outcome, such as {@code done} or {@code refused}
   */
  public void note(Caller caller, String door, Noted act, String result, String detail) {
    JsonLines to = lines;
    if (to != null) {
      to.add(json -> write(caller, door, act, result, detail, json));
    }
  }

  /**
   * An operation that the log can record.
   *
   * @param what the operation, such as {@code reset}
   * @param id the bucket's id, null without a bucket; the log shows the first 200 characters
   */
  public record Noted(String what, @Nullable String limit, @Nullable String id) {

    /** Returns an operation without a bucket, such as {@code reload}. */
    public static Noted of(String what) {
      return new Noted(what, null, null);
    }

    /** Returns a client's operation; limit and id are as sent, null if unknown. */
    public static Noted of(Act act, @Nullable String limit, @Nullable String id) {
      return new Noted(word(act), limit, id);
    }
  }

  private static String word(Act act) {
    return act.name().toLowerCase(Locale.ROOT);
  }

  /** Records a reset or a refund when {@code done} ends; then completes the returned stage. */
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
   * Records that the operations of a caller were refused, one line per operation.
   *
   * @param caller the caller, with the operations set by {@link Caller#about}
   */
  public void refused(Caller caller, String door, String why) {
    for (Noted act : caller.acts()) {
      note(caller, door, act, "refused", why);
    }
  }

  /** Whether the log records an operation of a client: a reset or a refund. */
  public static boolean notes(Act act) {
    return act == Act.RESET || act == Act.REFUND;
  }

  /** Records a caller's operation on buckets, one line for each bucket. */
  private void note(
      Caller caller, String door, String what, List<Transaction> transactions, String result) {
    for (Transaction one : transactions) {
      note(caller, door, new Noted(what, one.name().name(), one.id()), result, "");
    }
  }

  public void noteServer(String what, String result, String detail) {
    JsonLines to = lines;
    if (to != null) {
      to.add(json -> write(null, "server", Noted.of(what), result, detail, json));
    }
  }

  private static void write(
      @Nullable Caller caller, String door, Noted act, String result, String detail, Json json) {
    json.put("at", Instant.now())
        .put("who", caller == null ? "server" : JsonLines.shown(caller.name()))
        .put("by", caller == null ? null : caller.by())
        .put("address", caller == null ? null : caller.address())
        .put("door", door)
        .put("what", act.what())
        .put("limit", act.limit() == null ? null : JsonLines.shown(act.limit()))
        .put("id", act.id() == null ? null : JsonLines.shown(act.id()))
        .put("result", result)
        .put("detail", detail.isEmpty() ? null : JsonLines.shown(detail, DETAIL_SHOWN));
  }

  /** Writes the queued lines, and stops the writing thread; blocks for up to ten seconds. */
  @Override
  public void close() {
    if (lines != null) {
      lines.close();
    }
  }
}
