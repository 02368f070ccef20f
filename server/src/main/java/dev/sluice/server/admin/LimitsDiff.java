// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.rules.RuleBook;
import dev.sluice.yaml.internal.LapsingReservations;
import dev.sluice.yaml.internal.LongestReservations;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The differences between limits for people: {@code CallsPerClient: burst 20 → 30}. */
public final class LimitsDiff {

  private static final String NONE = "none";

  private LimitsDiff() {}

  /** Compares limits, their overrides and their rules; returns a line for each change. */
  public static List<String> between(Limits before, Limits after) {
    List<String> lines = new ArrayList<>();
    Map<String, LimitName> had = configured(before);
    Map<String, LimitName> has = configured(after);
    TreeSet<String> names = new TreeSet<>(had.keySet());
    names.addAll(has.keySet());
    for (String name : names) {
      LimitName old = had.get(name);
      LimitName now = has.get(name);
      if (old == null || now == null) {
        lines.add(
            now == null
                ? name + ": removed"
                : "%s: added, %s".formatted(name, defaultOf(after, now)));
      } else {
        addChanges(name, fields(before, old), fields(after, now), lines);
      }
      addOverrides(name, overrides(before, old), overrides(after, now), lines);
    }
    RuleBook.of(after)
        .changesSince(RuleBook.of(before))
        .forEach(change -> lines.add("rules: " + change));
    return lines;
  }

  /** Returns the limits that the files configure, or that let ids without an override pass. */
  private static Map<String, LimitName> configured(Limits limits) {
    return limits.catalogue().names().stream()
        .filter(name -> limits.coverage(name) != Coverage.NOT_CONFIGURED)
        .collect(Collectors.toMap(LimitName::name, name -> name, (one, other) -> one));
  }

  private static Map<String, String> fields(Limits limits, LimitName name) {
    Map<String, String> fields = new LinkedHashMap<>();
    List<Quota> quotas = limits.defaultsFor(name);
    if (quotas.isEmpty()) {
      fields.put("default", defaultOf(limits, name));
    } else {
      putQuotas(quotas, fields);
    }
    fields.put("debt", Integer.toString(limits.debtOf(name)));
    fields.put("id", name.id().name());
    fields.put("overrideId", name.overrideId().name());
    fields.put("overridesOnly", Boolean.toString(name.overridesOnly()));
    Integer number = name.number();
    fields.put("number", number == null ? NONE : number.toString());
    fields.put("message", SafeText.quote(name.message()));
    String help = name.helpLink();
    fields.put("help", help == null ? NONE : SafeText.quote(help));
    fields.put("jitter", Double.toString(name.jitter()));
    fields.put("longestWait", GoDuration.shortened(name.longestWait()));
    fields.put(
        "longestReservation", GoDuration.shortened(LongestReservations.of(limits, name.name())));
    fields.put("lapse", LapsingReservations.giveBack(limits, name.name()) ? "give-back" : NONE);
    return fields;
  }

  private static void putQuotas(List<Quota> quotas, Map<String, String> fields) {
    if (quotas.size() > 1) {
      fields.put("quotas", text(quotas));
      return;
    }
    Quota quota = quotas.get(0);
    fields.put("burst", Long.toString(quota.burst()));
    fields.put("count", Long.toString(quota.count()));
    fields.put("period", GoDuration.shortened(quota.period()));
  }

  private static String defaultOf(Limits limits, LimitName name) {
    List<Quota> quotas = limits.defaultsFor(name);
    if (!quotas.isEmpty()) {
      return text(quotas);
    }
    return switch (limits.coverage(name)) {
      case UNLIMITED -> "unlimited";
      case DISABLED -> "unlimited without an override";
      default -> "no default";
    };
  }

  private static String text(List<Quota> quotas) {
    return quotas.stream()
        .map(
            quota ->
                "%s per %s, burst %s"
                    .formatted(quota.count(), GoDuration.shortened(quota.period()), quota.burst()))
        .collect(Collectors.joining(" and "));
  }

  private static void addChanges(
      String what, Map<String, String> before, Map<String, String> after, List<String> lines) {
    StringJoiner changes = new StringJoiner(", ");
    if (!hasSameForm(before, after)) {
      boolean isLimited = !before.containsKey("default") && !after.containsKey("default");
      changes.add(
          "%s %s → %s"
              .formatted(isLimited ? "quotas" : "default", quotaText(before), quotaText(after)));
    }
    after.forEach(
        (field, now) -> {
          String old = before.get(field);
          if (old != null && !old.equals(now)) {
            changes.add("%s %s → %s".formatted(field, old, now));
          }
        });
    if (changes.length() > 0) {
      lines.add("%s: %s%s".formatted(what, changes, effectOnBuckets(before, after)));
    }
  }

  /** A bucket's key is the number or else the name of the limit, and the id's canonical form. */
  private static String effectOnBuckets(Map<String, String> before, Map<String, String> after) {
    if (!Objects.equals(before.get("number"), after.get("number"))) {
      return "; all of its buckets become full";
    }
    return Objects.equals(before.get("id"), after.get("id"))
        ? ""
        : "; ids that are now written differently get full buckets";
  }

  /** Whether a limit has no quota, one quota or several quotas both before and after a change. */
  private static boolean hasSameForm(Map<String, String> before, Map<String, String> after) {
    return before.containsKey("burst") == after.containsKey("burst")
        && before.containsKey("quotas") == after.containsKey("quotas");
  }

  private static String quotaText(Map<String, String> fields) {
    String other = fields.getOrDefault("default", fields.get("quotas"));
    return other != null
        ? other
        : "%s per %s, burst %s"
            .formatted(fields.get("count"), fields.get("period"), fields.get("burst"));
  }

  private static Map<String, LimitOverride> overrides(Limits limits, @Nullable LimitName name) {
    Map<String, LimitOverride> byId = new TreeMap<>();
    if (name != null) {
      limits.overridesOf(name).forEach(override -> byId.put(override.id(), override));
    }
    return byId;
  }

  private static void addOverrides(
      String name,
      Map<String, LimitOverride> before,
      Map<String, LimitOverride> after,
      List<String> lines) {
    TreeSet<String> ids = new TreeSet<>(before.keySet());
    ids.addAll(after.keySet());
    for (String id : ids) {
      LimitOverride old = before.get(id);
      LimitOverride now = after.get(id);
      String what = "%s of %s".formatted(name, SafeText.printable(id));
      if (old == null && now != null) {
        lines.add(
            "%s: override added, %s%s"
                .formatted(
                    what, text(now.quotas()), now.until() == null ? "" : ", until " + now.until()));
      } else if (now == null) {
        lines.add(what + ": override removed");
      } else if (old != null && !old.equals(now)) {
        addChanges(what, fields(old), fields(now), lines);
      }
    }
  }

  private static Map<String, String> fields(LimitOverride override) {
    Map<String, String> fields = new LinkedHashMap<>();
    putQuotas(override.quotas(), fields);
    fields.put("comment", SafeText.quote(override.comment()));
    fields.put("author", SafeText.quote(override.author()));
    Instant until = override.until();
    fields.put("until", until == null ? NONE : until.toString());
    return fields;
  }
}
