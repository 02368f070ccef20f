// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads from a response when its server accepts the next request, for clients that respect the
 * limits of other servers.
 *
 * <p>Supported are {@code Retry-After}, the {@code RateLimit} field of the IETF's draft, the three
 * fields of older drafts, and the {@code X-RateLimit} families of GitHub, throttled, Envoy and
 * Kong. The fields come from an untrusted server: unreadable fields are ignored. Thread-safe.
 */
public final class RetryAdvice {

  private static final int LONGEST_FIELD = 8_192;
  private static final int FIRST_ERROR = 400;
  // // The year 2001. As a number of seconds to wait, this would be 31 years.
  private static final long LEAST_EPOCH_SECONDS = 1_000_000_000;
  private static final long LEAST_EPOCH_MILLIS = 1_000_000_000_000L;

  /** The three forms of a date that a recipient must accept (RFC 9110, section 5.6.7). */
  private static final List<DateTimeFormatter> DATES =
      List.of(
          DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US),
          DateTimeFormatter.ofPattern("EEEE, dd-MMM-yy HH:mm:ss 'GMT'", Locale.US),
          DateTimeFormatter.ofPattern("EEE MMM ppd HH:mm:ss yyyy", Locale.US));

  private RetryAdvice() {}

  /**
   * Returns for how long the client must not send requests to the server.
   *
   * <p>A {@code Retry-After} in an error response determines the pause. Without it, an exhausted
   * quota in any response determines the pause, which ends with the quota's window.
   *
   * @param status the status code of the response
   * @param fields returns the values of a header field for its name in lower case; empty if missing
   * @param now the current time, for dates; the response's {@code Date} is preferred, since the
   *     server's clock can differ
   * @return zero for no pause; can be millions of years, so callers must bound the pause
   */
  public static Duration pause(int status, Function<String, List<String>> fields, Instant now) {
    Instant date = date(one(fields, "date"));
    Instant sent = date == null ? now : date;
    if (status >= FIRST_ERROR) {
      Duration retryAfter = retryAfter(one(fields, "retry-after"), sent);
      if (retryAfter != null) {
        return retryAfter;
      }
    }
    String field = all(fields, "ratelimit");
    if (!field.isEmpty()) {
      return Duration.ofSeconds(RateLimitField.longestWaitSeconds(field));
    }
    Duration older = untilReset(fields, "ratelimit-", sent);
    return older.isZero() ? untilReset(fields, "x-ratelimit-", sent) : older;
  }

  private static @Nullable Duration retryAfter(String value, Instant sent) {
    long seconds = RateLimitField.wholeNumber(value);
    if (seconds >= 0) {
      return Duration.ofSeconds(seconds);
    }
    Instant until = date(value);
    return until == null ? null : between(sent, until);
  }

  /** Reads the older families: the number of tokens left, and the reset in seconds or as a date. */
  private static Duration untilReset(
      Function<String, List<String>> fields, String family, Instant sent) {
    if (RateLimitField.wholeNumber(one(fields, family + "remaining")) != 0) {
      return Duration.ZERO;
    }
    long reset = RateLimitField.wholeNumber(one(fields, family + "reset"));
    if (reset < 0) {
      return Duration.ZERO;
    }
    if (reset >= LEAST_EPOCH_MILLIS) {
      return between(sent, Instant.ofEpochMilli(reset));
    }
    return reset >= LEAST_EPOCH_SECONDS
        ? between(sent, Instant.ofEpochSecond(reset))
        : Duration.ofSeconds(reset);
  }

  private static Duration between(Instant from, Instant until) {
    return until.isAfter(from) ? Duration.between(from, until) : Duration.ZERO;
  }

  private static @Nullable Instant date(String value) {
    if (value.isEmpty() || value.length() > 40) {
      return null;
    }
    for (DateTimeFormatter form : DATES) {
      try {
        return LocalDateTime.parse(value, form).toInstant(ZoneOffset.UTC);
      } catch (DateTimeException e) {
        // The next format can match.
      }
    }
    return null;
  }

  /** Returns the value of a field; an empty text if the field has different values. */
  private static String one(Function<String, List<String>> fields, String name) {
    List<String> values = fields.apply(name);
    boolean same = values.stream().distinct().count() == 1;
    return same && values.get(0).length() <= LONGEST_FIELD ? values.get(0).strip() : "";
  }

  private static String all(Function<String, List<String>> fields, String name) {
    List<String> values = fields.apply(name);
    long length = values.stream().mapToLong(value -> value.length() + 2L).sum();
    return length <= LONGEST_FIELD ? String.join(", ", values) : "";
  }
}
