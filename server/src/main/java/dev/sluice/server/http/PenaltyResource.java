// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.server.admin.Setting;
import dev.sluice.server.base.Json;
import dev.sluice.server.http.AdminResource.AdminBody;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.internal.OverrideDoubts;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** {@code /v1/admin/penalties} and {@code /v1/admin/penalties/{limit}/{id}}: penalties. */
final class PenaltyResource extends AdminResource<Penalty> {

  private static final List<String> WAYS = List.of("until", "for", "owe");
  private static final List<String> FIELDS = List.of("until", "for", "owe", "comment", "author");

  PenaltyResource(RuntimeLimits limits, AuditLog audit, Executor changes) {
    super(limits, audit, changes, Setting.PENALTY, "/v1/admin/penalties", "penalty");
  }

  /** Uses the format of transaction ids, since a penalty applies to one bucket. */
  @Override
  String canonical(LimitName name, String id) {
    return name.id().widened(name.id().canonical(id, Strictness.LENIENT));
  }

  /** Uses the id as it stands if it has a penalty, as the list shows it. */
  @Override
  String existing(LimitName name, String id) {
    String exact = name.id().canonical(id, Strictness.LENIENT);
    return limits.limits().get().penaltyFor(name, exact) == null ? canonical(name, id) : exact;
  }

  @Override
  Stream<Penalty> all(Limits now, LimitName name) {
    return now.penaltiesOf(name).stream().filter(PenaltyResource::isInForce);
  }

  @Override
  @Nullable Penalty get(LimitName name, String id) {
    Penalty found = limits.limits().get().penaltyFor(name, id);
    return found == null || !isInForce(found) ? null : found;
  }

  /** Whether a penalty is in force; ended penalties stay saved for servers with a slow clock. */
  static boolean isInForce(Penalty penalty) {
    return penalty.until().isAfter(Instant.now());
  }

  @Override
  Done put(LimitName name, String asGiven, AdminBody body, Caller caller, boolean force) {
    if (OverrideDoubts.isRange(asGiven, name.id())) {
      throw new WireException(
          "id",
          "found a range of addresses (%s), expected one address: a penalty applies to one id"
              .formatted(asGiven));
    }
    String id = canonical(name, asGiven);
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
    Penalty before = get(name, id);
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
        json -> write(penalty, warnings, json),
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
    Penalty removed = limits.acquit(name, id);
    // GET does not show an ended penalty either.
    return removed == null || !isInForce(removed) ? null : described(removed);
  }

  @Override
  void writeFields(Penalty penalty, Json json) {
    json.put("until", penalty.until())
        .put("owed", penalty.owed() > 0 ? penalty.owed() : null)
        .put("comment", note(penalty.comment()))
        .put("author", note(penalty.author()))
        .put("keptIn", limits.place());
  }
}
