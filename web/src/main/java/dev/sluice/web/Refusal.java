// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.internal.text.SafeText;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The response to a refused request. Immutable.
 *
 * @param status 200 to 599: 429 for a denial, 503 if the store could not decide, 400 for a request
 *     that cannot be charged, 500 if the application could not supply a quota
 * @param headers names and values, to be <em>set</em> on the response
 * @param body a text to send in UTF-8; JSON unless the application replaced it
 */
public record Refusal(int status, Map<String, String> headers, String body) {

  static final Pattern HEADER_NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]+");
  private static final Pattern CONTROL = Pattern.compile("[\\p{Cntrl}&&[^\t]]");

  /** The characters that are allowed in a {@code Link} between its angle brackets. */
  private static final Pattern URI_REFERENCE = Pattern.compile("[!-~&&[^<>\"]]+");

  /**
   * Makes a response.
   *
   * @param status the HTTP status, from 200 to 599
   * @param headers the headers; copied in their order
   * @param body the body
   * @throws IllegalArgumentException if the status is out of range, or HTTP does not allow a
   *     header's name or value
   */
  public Refusal {
    if (status < 200 || status > 599) {
      throw new IllegalArgumentException("status: found %s, expected 200 to 599".formatted(status));
    }
    headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
    headers.forEach(Refusal::checkHeader);
    Objects.requireNonNull(body, "body");
  }

  private static void checkHeader(String name, String value) {
    if (!HEADER_NAME.matcher(Objects.requireNonNull(name, "header")).matches()) {
      throw new IllegalArgumentException(
          "header: found the name %s, expected letters, digits or \"-\""
              .formatted(SafeText.quote(name)));
    }
    if (CONTROL.matcher(Objects.requireNonNull(value, name)).find()) {
      throw new IllegalArgumentException(
          "header %s: found %s, expected no control characters"
              .formatted(name, SafeText.quote(value)));
    }
  }

  /**
   * Returns this response with another status.
   *
   * @param newStatus the new HTTP status, from 200 to 599; the prepared body contains the old
   *     status, so replace the body too
   * @return a new response
   * @throws IllegalArgumentException if the status is out of range
   */
  public Refusal withStatus(int newStatus) {
    return new Refusal(newStatus, headers, body);
  }

  /**
   * Returns this response with a header, which replaces a header with the same name.
   *
   * @param name the header's name, in upper, lower or mixed case
   * @param value the header's value
   * @return a new response
   */
  public Refusal withHeader(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(withoutHeader(name).headers);
    more.put(name, value);
    return new Refusal(status, more, body);
  }

  /**
   * Returns this response without a header.
   *
   * @param name the header's name, in upper, lower or mixed case
   * @return a new response
   */
  public Refusal withoutHeader(String name) {
    Map<String, String> fewer = new LinkedHashMap<>(headers);
    fewer.keySet().removeIf(name::equalsIgnoreCase);
    return new Refusal(status, fewer, body);
  }

  /**
   * Returns this response with another body.
   *
   * @param contentType the media type of the body, such as {@code text/html}; {@code
   *     ;charset=utf-8} is appended to a {@code text/*} without a charset
   * @param text the body, which is sent in UTF-8
   * @return a new response
   */
  public Refusal withBody(String contentType, String text) {
    String lower = contentType.toLowerCase(Locale.ROOT);
    boolean needsCharset = lower.startsWith("text/") && !lower.contains("charset=");
    String type = needsCharset ? contentType + ";charset=utf-8" : contentType;
    return new Refusal(status, withHeader("Content-Type", type).headers, text);
  }

  /**
   * Returns the response to a request that a limit denied: a 429, or a 503 if the failure rule
   * {@code deny} denied in place of the store. A 429 has a {@code Link} with {@code rel="help"} if
   * the limit has a page for denied clients.
   *
   * @param decision the denial
   * @param profile the family of rate limit headers
   * @return the response
   */
  public static Refusal denied(Decision decision, HeaderProfile profile) {
    if (!decision.decidedBy().knowsBucket()) {
      return of(503, profile.headers(decision), ProblemDetails.temporaryReducedCapacity());
    }
    Refusal denied = of(429, profile.headers(decision), ProblemDetails.quotaExceeded(decision));
    Transaction strictest = decision.transaction();
    String page = strictest == null ? null : strictest.name().helpLink();
    return page == null || !URI_REFERENCE.matcher(page).matches()
        ? denied
        : denied.withHeader("Link", "<%s>; rel=\"help\"".formatted(page));
  }

  /**
   * Returns the response to a request that cannot be charged: a 400.
   *
   * @param reason the reason, which the client sees
   * @return the response
   */
  public static Refusal unusable(UnusableRequestException reason) {
    return of(400, Map.of(), ProblemDetails.badRequest(reason.detail()));
  }

  /**
   * Returns the response to a request that a rule always denies: a 429 without a time to wait,
   * since the next request is denied too.
   *
   * @return the response
   */
  public static Refusal deniedByRule() {
    return of(429, Map.of(), ProblemDetails.quotaExceeded(List.of(), "a rule denies this request"));
  }

  /**
   * Returns the response to a request on which no decision could be made: a 503.
   *
   * @return the response
   */
  public static Refusal storeFailed() {
    return of(503, Map.of(), ProblemDetails.temporaryReducedCapacity());
  }

  /**
   * Returns the response to a request whose quota the application could not supply: a 500.
   *
   * @return the response
   */
  public static Refusal quotaFailed() {
    return of(
        500,
        Map.of(),
        ProblemDetails.of(500, "Internal Server Error", "the quota of the request is unknown"));
  }

  private static Refusal of(int status, Map<String, String> headers, String body) {
    Map<String, String> all = new LinkedHashMap<>(headers);
    all.put("Cache-Control", "no-store");
    all.put("Content-Type", ProblemDetails.MEDIA_TYPE);
    return new Refusal(status, all, body);
  }
}
