// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The response that refuses a request. Immutable.
 *
 * @param status 429 for a denial, 503 where the store could not decide, 400 for a request that
 *     cannot be charged
 * @param headers names and values, to be <em>set</em> on the response
 * @param body JSON, to be sent in UTF-8
 */
public record Refusal(int status, Map<String, String> headers, String body) {

  /**
   * Makes a response.
   *
   * @param status the status
   * @param headers copied, in their order
   * @param body the body
   */
  public Refusal {
    headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
  }

  /**
   * Returns the response to a request that a limit denied: a 429, or a 503 where the failure rule
   * {@code deny} did in place of the store.
   *
   * @param decision the denial
   * @param profile the family of rate limit headers
   * @return the response
   */
  public static Refusal denied(Decision decision, HeaderProfile profile) {
    return decision.decidedBy().knowsBucket()
        ? of(429, profile.headers(decision), ProblemDetails.quotaExceeded(decision))
        : of(503, profile.headers(decision), ProblemDetails.temporaryReducedCapacity());
  }

  /**
   * Returns the response to a request that cannot be charged as it stands: a 400.
   *
   * @param reason what the request lacks
   * @return the response
   */
  public static Refusal unusable(UnusableRequestException reason) {
    return of(400, Map.of(), ProblemDetails.badRequest(reason.detail()));
  }

  /**
   * Returns the response to a request that a rule refuses, whatever is left of a limit: a 429,
   * without a time to wait for, since the next request is refused too.
   *
   * @return the response
   */
  public static Refusal deniedByRule() {
    return of(429, Map.of(), ProblemDetails.quotaExceeded(List.of(), "a rule denies this request"));
  }

  /**
   * Returns the response to a request that nobody could decide on: a 503.
   *
   * @return the response
   */
  public static Refusal storeFailed() {
    return of(503, Map.of(), ProblemDetails.temporaryReducedCapacity());
  }

  private static Refusal of(int status, Map<String, String> headers, String body) {
    Map<String, String> all = new LinkedHashMap<>(headers);
    all.put("Cache-Control", "no-store");
    all.put("Content-Type", ProblemDetails.MEDIA_TYPE);
    return new Refusal(status, all, body);
  }
}
