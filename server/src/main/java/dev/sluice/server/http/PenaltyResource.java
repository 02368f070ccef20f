// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.server.admin.Setting;
import dev.sluice.server.http.AdminResource.AdminBody;
import dev.sluice.wire.WireException;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** {@code /v1/admin/penalties/{limit}/{id}}: the penalty on one id. */
final class PenaltyResource extends AdminResource {

  static final String UNDER = "/v1/admin/penalties/";

  private static final List<String> WAYS = List.of("until", "for", "owe");
  private static final List<String> FIELDS = List.of("until", "for", "owe", "comment", "author");

  PenaltyResource(RuntimeLimits limits, AuditLog audit, Executor changes) {
    super(limits, audit, changes, UNDER, "penalty");
  }

  /** Uses the format of transaction ids, since a penalty is on one bucket. */
  @Override
  String canonical(LimitName name, String id) {
    return name.id().canonical(id, Strictness.LENIENT);
  }

  @Override
  Answers.@Nullable BodyWriter get(LimitName name, String id) {
    Penalty found = inForce(name, id);
    return found == null ? null : json -> write(found, limits, List.of(), json);
  }

  private @Nullable Penalty inForce(LimitName name, String id) {
    Penalty found = limits.limits().get().penaltyFor(name, id);
    return found == null || !isInForce(found) ? null : found;
  }

  /**
   * Whether a penalty has not ended. Ended penalties are kept for a while, as another server's
   * clock may be behind.
   */
  static boolean isInForce(Penalty penalty) {
    return penalty.until().isAfter(Instant.now());
  }

  @Override
  Done put(LimitName name, String id, AdminBody body, Caller caller, boolean force) {
    body.require(FIELDS);
    long ways = WAYS.stream().filter(body::has).count();
    if (ways != 1) {
      body.mistake(null, "found %s of until, for and owe, expected one of them".formatted(ways));
    }
    Note note = body.note(caller);
    Instant until = body.until();
    Duration time = body.has("for") ? body.duration("for") : null;
    Long owed = body.has("owe") ? tokens(body) : null;
    body.requireSound();
    String way = WAYS.stream().filter(body::has).findFirst().orElseThrow();
    Penalty before = inForce(name, id);
    Penalty penalty;
    try {
      penalty =
          until != null
              ? limits.ban(name, id, until, note)
              : time != null
                  ? limits.banFor(name, id, time, note)
                  : limits.owe(name, id, Objects.requireNonNull(owed), note);
    } catch (IllegalArgumentException | DateTimeException | ArithmeticException e) {
      throw e instanceof WireException wire
          ? wire
          : new WireException(way, String.valueOf(e.getMessage()));
    }
    List<String> warnings = limits.doubts(penalty);
    return new Done(
        json -> write(penalty, limits, warnings, json),
        detail(described(penalty), before == null ? null : described(before)));
  }

  private static String described(Penalty penalty) {
    return "until %s%s%s"
        .formatted(
            penalty.until(),
            penalty.owed() == 0 ? "" : ", owes " + penalty.owed(),
            penalty.author().isEmpty() ? "" : ", by " + penalty.author());
  }

  private static @Nullable Long tokens(AdminBody body) {
    Long tokens = body.number("owe");
    if (tokens != null && tokens < 1) {
      body.mistake("owe", "found %s, expected 1 or more tokens".formatted(tokens));
    }
    return tokens;
  }

  @Override
  @Nullable String delete(LimitName name, String id) {
    Penalty known = limits.limits().get().penaltyFor(name, id);
    boolean isOver = known != null && !isInForce(known);
    boolean removed = limits.acquit(name, id) && !isOver; // an ended penalty is not shown either
    return !removed ? null : known == null ? "" : described(known);
  }

  @Override
  @Nullable BooleanSupplier leftOut(String limit, String id) {
    return limits.leftOut(Setting.PENALTY, limit, id);
  }

  static void write(
      Penalty penalty, RuntimeLimits limits, List<String> warnings, JsonGenerator json)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("limit", penalty.name().name());
    json.writeStringField("id", penalty.id());
    json.writeStringField("until", penalty.until().toString());
    if (penalty.owed() > 0) {
      json.writeNumberField("owed", penalty.owed());
    }
    writeNote("comment", penalty.comment(), json);
    writeNote("author", penalty.author(), json);
    json.writeStringField("keptIn", limits.place());
    writeWarnings(warnings, json);
    json.writeEndObject();
  }

  /** {@code GET /v1/admin/penalties}: all penalties that are in force. */
  static final class PenaltiesResource extends PagedResource<Penalty> {

    static final String PATH = "/v1/admin/penalties";

    private final RuntimeLimits limits;

    PenaltiesResource(RuntimeLimits limits) {
      super(limits.limits()::get, "penalties");
      this.limits = limits;
    }

    @Override
    Stream<Penalty> of(Limits now, LimitName name) {
      return now.penaltiesOf(name).stream().filter(PenaltyResource::isInForce);
    }

    @Override
    String id(Penalty one) {
      return one.id();
    }

    @Override
    void write(Penalty one, JsonGenerator json) throws IOException {
      PenaltyResource.write(one, limits, List.of(), json);
    }
  }
}
