// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Caller;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.admin.RuntimeLimits.Note;
import dev.sluice.server.admin.RuntimeLimits.Saved;
import dev.sluice.server.admin.Setting;
import dev.sluice.server.base.Json;
import dev.sluice.server.http.AdminResource.AdminBody;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.internal.OverrideDoubts;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** {@code /v1/admin/overrides} and {@code /v1/admin/overrides/{limit}/{id}}: overrides. */
final class OverrideResource extends AdminResource<LimitOverride> {

  private static final List<String> FIELDS =
      List.of("burst", "count", "period", QUOTAS, "until", "comment", "author");

  /** The value of {@code until} with which a request removes the end of an override. */
  private static final String NEVER = "never";

  OverrideResource(RuntimeLimits limits, AuditLog audit, Executor changes) {
    super(limits, audit, changes, Setting.OVERRIDE, "/v1/admin/overrides", "override");
  }

  @Override
  String canonical(LimitName name, String id) {
    return RuntimeLimits.overrideId(name, id);
  }

  /** An override of www.example.com, which files and tables can have, is found by its own id. */
  @Override
  String existing(LimitName name, String id) {
    String exact = name.overrideId().canonical(id, Strictness.LENIENT);
    return limits.override(name, exact) == null ? canonical(name, id) : exact;
  }

  @Override
  @Nullable LimitOverride get(LimitName name, String id) {
    return limits.override(name, id);
  }

  @Override
  Stream<LimitOverride> all(Limits now, LimitName name) {
    return now.overridesOf(name).stream();
  }

  @Override
  boolean takesForce() {
    return true;
  }

  @Override
  Done put(LimitName name, String asGiven, AdminBody body, Caller caller, boolean force) {
    if (body.has("unlimited")) {
      throw new WireException(
          "unlimited",
          "found unlimited in an override, expected burst, count and period: write a burst and a"
              + " count that its ids never reach");
    }
    body.require(FIELDS);
    Note note = body.note(caller);
    Instant until = until(body);
    List<Quota> quotas = body.quotas();
    LimitOverride asked =
        new LimitOverride(
            name, canonical(name, asGiven), quotas, note.comment(), note.author(), until);
    Saved saved = limits.put(asked, !body.has("until"), force);
    List<String> warnings =
        Stream.concat(
                Stream.ofNullable(OverrideDoubts.ofWritten(asGiven, name)),
                saved.warnings().stream())
            .toList();
    LimitOverride before = saved.before();
    return new Done(
        json -> write(saved.override(), warnings, json),
        detail(described(saved.override()), before == null ? null : described(before)));
  }

  private static @Nullable Instant until(AdminBody body) {
    Instant until = NEVER.equals(body.text("until")) ? null : body.until();
    if (until != null && !until.isAfter(Instant.now())) {
      body.mistake("until", "found %s, expected a time in the future".formatted(until));
    }
    return until;
  }

  private static String described(LimitOverride override) {
    return "%s%s%s"
        .formatted(
            override.quotas().stream()
                .map(OverrideResource::described)
                .collect(Collectors.joining(" and ")),
            override.until() == null ? "" : ", until " + override.until(),
            override.author().isEmpty() ? "" : ", by " + override.author());
  }

  private static String described(Quota quota) {
    return "burst %s, %s in %s"
        .formatted(quota.burst(), quota.count(), GoDuration.shortened(quota.period()));
  }

  @Override
  @Nullable String delete(LimitName name, String id) {
    LimitOverride before = limits.override(name, id);
    if (limits.remove(name, id)) {
      return before == null ? "" : described(before);
    }
    LimitOverride left = limits.override(name, id);
    if (left != null && !limits.isKept(left)) {
      throw new WireException(
          "id", "this override was deployed with the limit files; remove it from these files");
    }
    return null;
  }

  @Override
  List<String> stillInForce(LimitName name, String id) {
    return limits.keptFor(name, id) == null
        ? List.of()
        : List.of(
            "the override is removed, but stays in force until the table of overrides can be read and has a valid row");
  }

  @Override
  void writeFields(LimitOverride override, Json json) {
    json.raw(raw -> DecisionWriter.writeQuotas(override.quotas(), raw))
        .put("until", override.until())
        .put("comment", note(override.comment()))
        .put("author", note(override.author()))
        .put("keptIn", limits.isKept(override) ? limits.place() : "files");
  }
}
