// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.Transaction.Kind;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.web.HeaderProfile.State;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Writes the header fields of the IETF draft: a policy for each limit that was checked, and the
 * state of each policy.
 *
 * <p>For a token bucket, the quota {@code q} is the burst, and the window {@code w} is the time in
 * which an empty bucket fills (τ, rounded up). The available quota {@code r} is the number of
 * tokens left. If the limit denied the request, the effective window {@code t} is the time until
 * the next request is allowed. The effective window, which includes a random jitter, never ends
 * after the response's {@code Retry-After}.
 */
final class Policies {

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  /** The largest Integer of a structured field (RFC 9651, section 3.3.1). */
  private static final long MAX_INTEGER = 999_999_999_999_999L;

  private Policies() {}

  /**
   * Returns the decision on each policy by its name; if a limit was checked for several ids, the
   * strictest decision. A limit with several quotas has one policy per quota. The policy of the
   * longest period has the limit's name. A policy of a shorter period is named {@code
   * limit/period}, since a field must not contain a name twice. No limit name contains a slash. A
   * limit whose failure rule allowed or denied is left out, since its remaining tokens are unknown.
   */
  static Map<String, Decision> of(Decision decision) {
    Map<String, Decision> byName = new LinkedHashMap<>();
    for (Decision part : decision.parts()) {
      Transaction transaction = part.transaction();
      if (transaction == null
          || transaction.kind() == Kind.SPEND_ONLY
          || !part.decidedBy().knowsBucket()
          || quotaOf(part) == null) {
        continue;
      }
      String name = transaction.name().name();
      List<Decision> quotas = part.quotas().isEmpty() ? List.of(part) : part.quotas();
      for (int i = 0; i < quotas.size(); i++) {
        String policy = i == 0 ? name : name + "/" + period(transaction.quotas().get(i));
        byName.merge(policy, quotas.get(i), Decision::stricter);
      }
    }
    return byName;
  }

  private static String period(Quota quota) {
    return GoDuration.shortened(quota.period()).replace('µ', 'u'); // header fields are ASCII
  }

  static @Nullable Quota quotaOf(Decision decision) {
    Transaction transaction = decision.transaction();
    return transaction == null || transaction.kind() == Kind.ALLOW_ONLY
        ? null
        : transaction.quota();
  }

  /** Returns the state of each policy. */
  static List<State> states(Decision whole) {
    return of(whole).entrySet().stream()
        .map(policy -> state(policy.getKey(), policy.getValue(), whole))
        .map(Objects::requireNonNull)
        .toList();
  }

  /** Returns the state of the limit of a decision; null if no limit applied. */
  static @Nullable State state(Decision whole) {
    Transaction transaction = whole.transaction();
    return transaction == null ? null : state(transaction.name().name(), whole, whole);
  }

  private static @Nullable State state(String name, Decision policy, Decision whole) {
    Quota quota = quotaOf(policy);
    return quota == null
        ? null
        : new State(
            name,
            quota,
            policy.remaining(),
            policy.denied() ? retryAfterSeconds(policy, whole) : -1,
            policy.resetInNanos(),
            policy.decidedAt());
  }

  static String policyField(List<State> policies) {
    StringBuilder field = new StringBuilder();
    for (State policy : policies) {
      field
          .append(field.isEmpty() ? "\"" : ", \"")
          .append(policy.limit()) // a limit's name needs no escape
          .append("\";q=")
          .append(integer(policy.quota().burst()))
          .append(";w=")
          .append(integer(ceilSeconds(policy.quota().offsetNanos())));
    }
    return field.toString();
  }

  static String stateField(List<State> policies) {
    StringBuilder field = new StringBuilder();
    for (State policy : policies) {
      field
          .append(field.isEmpty() ? "\"" : ", \"")
          .append(policy.limit())
          .append("\";r=")
          .append(integer(policy.remaining()));
      if (policy.retryAfterSeconds() >= 0) {
        field.append(";t=").append(integer(policy.retryAfterSeconds()));
      }
    }
    return field.toString();
  }

  /**
   * Returns the wait of a policy in seconds, which includes a random jitter. The policy with the
   * longest wait has the wait of {@code Retry-After}. A policy whose wait is shorter than the
   * longest wait has its own jitter, so its wait is cut to {@code Retry-After}.
   */
  private static long retryAfterSeconds(Decision policy, Decision whole) {
    return policy.retryIn().equals(whole.retryIn())
        ? whole.retryAfterSeconds()
        : Math.min(policy.retryAfterSeconds(), whole.retryAfterSeconds());
  }

  static long ceilSeconds(long nanos) {
    return nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
  }

  private static long integer(long value) {
    return Math.min(value, MAX_INTEGER);
  }
}
