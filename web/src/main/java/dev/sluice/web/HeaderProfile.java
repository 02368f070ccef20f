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
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {
      if (!each.isEmpty()) {
        headers.put("RateLimit-Policy", Policies.policyField(each));
        headers.put("RateLimit", Policies.stateField(each));
      }
    }
  },
  /** {@code X-RateLimit-Limit, -Remaining, -Reset}; the reset in seconds from now. */
  LEGACY {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {
      putTriple("X-RateLimit-", strictest, headers);
    }
  },
  /**
   * {@code X-RateLimit-Limit, -Remaining, -Used, -Reset, -Resource} as GitHub sends them; the reset
   * in seconds since the epoch, by the store's clock.
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
  /** {@code Retry-After} on denials, nothing else. */
  NONE {
    @Override
    void put(List<State> each, @Nullable State strictest, Map<String, String> headers) {}
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
      put(Policies.states(decision), Policies.state(decision), headers);
    }
    return headers;
  }

  /**
   * The headers of the buckets of a response that no single decision describes.
   *
   * @param each the state of each limit
   * @param strictest the one that profiles for a single limit show
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
   * The state of a limit's bucket, as headers show it.
   *
   * @param limit the limit's name; of a further quota, with "-" and its period
   * @param quota the quota
   * @param remaining the tokens left
   * @param retryAfterSeconds how long to wait, -1 if the limit does not deny
   * @param resetInNanos how long until the bucket is full
   * @param decidedAt the moment from which the bucket fills
   */
  public record State(
      String limit,
      Quota quota,
      long remaining,
      long retryAfterSeconds,
      long resetInNanos,
      Instant decidedAt) {}
}
