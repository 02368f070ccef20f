// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The body of a response that refuses a request: problem details (RFC 9457), with the problem types
 * of the IETF's rate limit draft where these exist.
 *
 * <p>A body contains the limit's denial message, which contains an id only if the template of the
 * message has a placeholder for the id.
 */
public final class ProblemDetails {

  /** The media type of the bodies. */
  public static final String MEDIA_TYPE = "application/problem+json";

  private static final String TYPES = "https://iana.org/assignments/http-problem-types#";

  private ProblemDetails() {}

  /**
   * Returns the body of a 429 for a denial.
   *
   * @param decision the denial
   * @return JSON
   */
  public static String quotaExceeded(Decision decision) {
    List<String> violated =
        Policies.of(decision).entrySet().stream()
            .filter(policy -> policy.getValue().denied())
            .map(Map.Entry::getKey)
            .toList();
    return quotaExceeded(violated, decision.message());
  }

  /**
   * Returns the body of a 429 for denials of several limits.
   *
   * @param limits the names of the limits that denied the request
   * @param detail the message for the client
   * @return JSON
   */
  public static String quotaExceeded(List<String> limits, String detail) {
    return problem(
        TYPES + "quota-exceeded",
        "Request cannot be satisfied as assigned quota has been exceeded",
        429,
        detail,
        limits.stream()
            .map(limit -> '"' + limit + '"') // no character of a limit's name needs an escape
            .collect(Collectors.joining(",", ",\"violated-policies\":[", "]")));
  }

  /**
   * Returns the body of a 503, for a denial by a failure rule because the store could not decide.
   *
   * @return JSON
   */
  public static String temporaryReducedCapacity() {
    return temporaryReducedCapacity(503);
  }

  /**
   * Returns the body of {@link #temporaryReducedCapacity()} for a response with another status than
   * 503. A server needs another status if a proxy in front of the server requires one status for
   * all denials.
   *
   * @param status the HTTP status of the response, which the body must repeat (RFC 9457)
   * @return JSON
   */
  public static String temporaryReducedCapacity(int status) {
    return problem(
        TYPES + "temporary-reduced-capacity",
        "Request cannot be satisfied due to temporary server capacity constraints",
        status,
        "the rate limiter is unavailable; try again later",
        "");
  }

  /**
   * Returns the body of a 400, for a request without a usable value for the id of a limit.
   *
   * @param detail what is missing or unusable, for the client
   * @return JSON
   */
  public static String badRequest(String detail) {
    return of(400, "Bad Request", detail);
  }

  /**
   * Returns the body of an error for which no problem type is defined.
   *
   * @param status the HTTP status
   * @param title the standard phrase for the status, such as "Not Found"
   * @param detail what is wrong with this request, for the client
   * @return JSON
   */
  public static String of(int status, String title, String detail) {
    return problem("about:blank", title, status, detail, "");
  }

  private static String problem(String type, String title, int status, String detail, String more) {
    return String.format(
        Locale.ROOT, // other locales can print digits that are not ASCII
        "{\"type\":\"%s\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\"%s}",
        type,
        title,
        status,
        escaped(detail),
        more);
  }

  private static String escaped(String text) {
    StringBuilder escaped = new StringBuilder(text.length() + 16);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        escaped.append('\\').append(c);
      } else if (c < ' ' || c == 0x2028 || c == 0x2029) {
        escaped.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        escaped.append(c);
      }
    }
    return escaped.toString();
  }
}
