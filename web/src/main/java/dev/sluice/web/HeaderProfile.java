// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.gcra.Quota;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The family of rate limit headers in a response. Every profile adds {@code Retry-After} to a
 * denial, and {@code RateLimit-Degraded} with the value {@code local}, {@code allow} or {@code
 * deny} if a failure rule decided in place of the store. With {@code RateLimit-Degraded: allow} or
 * {@code deny}, the response has no other rate limit field, since the remaining tokens are unknown.
 *
 * <p>A profile converts a decision to header names and values, to be <em>set</em> (not added) on a
 * response. Headers never contain an id.
 */
public enum HeaderProfile {
  /**
   * {@code RateLimit-Policy} and {@code RateLimit} as structured fields, with one item per limit,
   * as in the IETF's draft-ietf-httpapi-ratelimit-headers-11.
   */
  IETF {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {
      if (!each.isEmpty()) {
        headers.put("RateLimit-Policy", Policies.policyField(each));
        headers.put("RateLimit", Policies.stateField(each));
      }
    }
  },
  /** {@code X-RateLimit-Limit, -Remaining, -Reset}, with the reset in seconds from now. */
  LEGACY {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {
      putTriple("X-RateLimit-", strictest, headers);
    }
  },
  /**
   * {@code X-RateLimit-Limit, -Remaining, -Used, -Reset, -Resource}, as sent by GitHub, with the
   * reset in seconds since the epoch by the store's clock.
   */
  GITHUB {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {
      if (strictest != null) {
        Instant full = strictest.decidedAt.plusNanos(strictest.resetInNanos);
        long resetAt = full.getEpochSecond() + (full.getNano() > 0 ? 1 : 0);
        long burst = strictest.quota.burst();
        headers.put("X-RateLimit-Limit", Long.toString(burst));
        headers.put("X-RateLimit-Remaining", Long.toString(strictest.remaining));
        headers.put("X-RateLimit-Used", Long.toString(burst - strictest.remaining));
        headers.put("X-RateLimit-Reset", Long.toString(resetAt));
        headers.put("X-RateLimit-Resource", strictest.limit);
      }
    }
  },
  /** {@code RateLimit-Limit, -Remaining, -Reset} of draft-ietf-httpapi-ratelimit-headers-03. */
  DRAFT03 {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {
      putTriple("RateLimit-", strictest, headers);
    }
  },
  /** {@code Retry-After} on denials, and no other header. */
  NONE {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {}
  };

  /** The header with the failure rule that decided in place of the store. */
  public static final String DEGRADED = "RateLimit-Degraded";

  /**
   * Returns the headers of a response.
   *
   * @param decision the decision on the request, which is a batch or one transaction
   * @return names and values, in the order in which they should be written; empty if a disabled
   *     limit allowed the request
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
      put(Policies.states(decision), Policies.state(decision), headers);
    }
    return headers;
  }

  /**
   * Returns the headers for the states of several limits, which can come from several decisions.
   *
   * @param each the state of each limit
   * @param strictest the state of the strictest limit, for profiles that show only one limit
   * @return names and values, without {@code Retry-After} and {@link #DEGRADED}
   */
  public Map<String, String> headers(List<State> each, State strictest) {
    Map<String, String> headers = new LinkedHashMap<>();
    put(each, strictest, headers);
    return headers;
  }

  abstract void put(List<State> each, @Nullable State strictest, Map<String, String> headers);

  private static void putTriple(
      String prefix, @Nullable State strictest, Map<String, String> headers) {
    if (strictest != null) {
      headers.put(prefix + "Limit", Long.toString(strictest.quota.burst()));
      headers.put(prefix + "Remaining", Long.toString(strictest.remaining));
      headers.put(prefix + "Reset", Long.toString(Policies.ceilSeconds(strictest.resetInNanos)));
    }
  }

  /**
   * The state of a limit's bucket in the form that headers show.
   *
   * @param limit the limit's name; if the limit has several quotas, the name and the quota's
   *     period, except for the quota with the longest period
   * @param quota the quota
   * @param remaining the number of tokens left
   * @param retryAfterSeconds the wait, -1 if the limit did not deny the request
   * @param resetInNanos the time until the bucket is full
   * @param decidedAt the time of the decision
   */
  public record State(
      String limit,
      Quota quota,
      long remaining,
      long retryAfterSeconds,
      long resetInNanos,
      Instant decidedAt) {}
}
