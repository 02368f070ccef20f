// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Decision.DecidedBy;
import dev.sluice.gcra.Quota;
import dev.sluice.web.HeaderProfile;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/*
 * Where descriptors only look, or a cost fits no bucket, the limiter was asked for another cost
 * than theirs. Its decision then tells another level than the outcomes of the lines, which these
 * are of.
 */

/**
 * The IETF's fields, as {@link HeaderProfile#IETF} writes them for a decision, for lines whose
 * decision is on another cost. Pure.
 */
final class Fields {

  /** The largest Integer of a structured field (RFC 9651, section 3.3.1). */
  private static final long MAX_INTEGER = 999_999_999_999_999L;

  private Fields() {}

  /** The fields; of a failure rule its word, and no other where nobody knows what is left. */
  static Map<String, String> of(Collection<LineOutcome> outcomes) {
    Map<String, LineOutcome> policies = new LinkedHashMap<>();
    Map<String, String> fields = new LinkedHashMap<>();
    boolean blind = false;
    for (LineOutcome outcome : outcomes) {
      if (outcome.line().quota() == null || outcome.line().isShadow()) {
        continue; // it has no bucket, or is in shadow
      }
      if (outcome.decidedBy() != DecidedBy.STORE && !blind) {
        fields.put(HeaderProfile.DEGRADED, outcome.decidedBy().word());
      }
      blind |= outcome.isBlind();
      policies.merge(outcome.line().limit().name(), outcome, LineOutcome::stricter);
    }
    if (policies.isEmpty() || blind) {
      return fields;
    }
    StringBuilder policy = new StringBuilder();
    StringBuilder state = new StringBuilder();
    policies.forEach((name, outcome) -> add(name, outcome, policy, state));
    fields.put("RateLimit-Policy", policy.toString());
    fields.put("RateLimit", state.toString());
    return fields;
  }

  private static void add(
      String name, LineOutcome outcome, StringBuilder policy, StringBuilder state) {
    Quota quota = Objects.requireNonNull(outcome.quota());
    String item = (policy.isEmpty() ? "" : ", ") + '"' + name + '"';
    policy
        .append(item)
        .append(";q=")
        .append(integer(quota.burst()))
        .append(";w=")
        .append(integer(CurrentLimit.seconds(quota.offsetNanos()).getSeconds()));
    state.append(item).append(";r=").append(integer(outcome.remaining()));
    if (outcome.refuses() && outcome.retryInNanos() > 0) {
      state.append(";t=").append(integer(outcome.retryAfterSeconds()));
    }
  }

  private static long integer(long value) {
    return Math.min(value, MAX_INTEGER);
  }
}
