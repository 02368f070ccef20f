// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The family of rate limit headers that a response carries. Every profile adds {@code Retry-After}
 * to a denial, and {@code RateLimit-Degraded} where a failure rule decided in place of the store:
 * {@code local}, {@code allow} or {@code deny}. The last two have no other field, as nobody knows
 * what is left.
 *
 * <p>Pure: a profile and a decision give header names and values, to be <em>set</em> (not added) on
 * a response. Thread-safe, never blocking. Headers never contain an id.
 */
public enum HeaderProfile {
  /**
   * {@code RateLimit-Policy} and {@code RateLimit} as structured fields, one item a limit: the
   * IETF's draft-ietf-httpapi-ratelimit-headers-11.
   */
  IETF {
    @Override
    void put(Decision decision, Map<String, String> headers) {
      List<Decision> policies = Policies.of(decision);
      if (!policies.isEmpty()) {
        headers.put("RateLimit-Policy", Policies.policyField(policies));
        headers.put("RateLimit", Policies.stateField(policies, decision));
      }
    }
  },
  /** {@code X-RateLimit-Limit, -Remaining, -Reset}; the reset in seconds from now. */
  LEGACY {
    @Override
    void put(Decision decision, Map<String, String> headers) {
      putTriple("X-RateLimit-", decision, headers);
    }
  },
  /**
   * {@code X-RateLimit-Limit, -Remaining, -Used, -Reset, -Resource} as GitHub sends them; the reset
   * in seconds since the epoch, by the store's clock.
   */
  GITHUB {
    @Override
    void put(Decision decision, Map<String, String> headers) {
      Quota quota = Policies.quotaOf(decision);
      if (quota != null && decision.transaction() != null) {
        long used = quota.burst() - decision.remaining();
        Instant tat = decision.tat();
        long resetAt = tat.getEpochSecond() + (tat.getNano() > 0 ? 1 : 0);
        headers.put("X-RateLimit-Limit", Long.toString(quota.burst()));
        headers.put("X-RateLimit-Remaining", Long.toString(decision.remaining()));
        headers.put("X-RateLimit-Used", Long.toString(used));
        headers.put("X-RateLimit-Reset", Long.toString(resetAt));
        headers.put("X-RateLimit-Resource", decision.transaction().name().name());
      }
    }
  },
  /** {@code RateLimit-Limit, -Remaining, -Reset} of draft-ietf-httpapi-ratelimit-headers-03. */
  DRAFT03 {
    @Override
    void put(Decision decision, Map<String, String> headers) {
      putTriple("RateLimit-", decision, headers);
    }
  },
  /** {@code Retry-After} on denials, nothing else. */
  NONE {
    @Override
    void put(Decision decision, Map<String, String> headers) {}
  };

  /** The header that names the failure rule which decided in place of the store. */
  public static final String DEGRADED = "RateLimit-Degraded";

  /**
   * The headers of a response.
   *
   * @param decision the decision on the request, of a batch or of one transaction
   * @return names and values, in the order in which they should be written; none for an allowance
   *     by a disabled limit
   */
  public Map<String, String> headers(Decision decision) {
    Map<String, String> headers = new LinkedHashMap<>();
    if (decision.denied() && decision.retryInNanos() > 0) {
      headers.put("Retry-After", Long.toString(decision.retryAfterSeconds()));
    }
    if (decision.degraded()) {
      headers.put(DEGRADED, decision.decidedBy().word());
    }
    if (decision.decidedBy().knowsBucket()) {
      put(decision, headers);
    }
    return headers;
  }

  abstract void put(Decision decision, Map<String, String> headers);

  private static void putTriple(String prefix, Decision decision, Map<String, String> headers) {
    Quota quota = Policies.quotaOf(decision);
    if (quota != null) {
      headers.put(prefix + "Limit", Long.toString(quota.burst()));
      headers.put(prefix + "Remaining", Long.toString(decision.remaining()));
      headers.put(prefix + "Reset", Long.toString(Policies.ceilSeconds(decision.resetInNanos())));
    }
  }
}
