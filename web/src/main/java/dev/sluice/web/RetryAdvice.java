// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.internal.text.GoDuration;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Finds out from a response how long a client should wait before its next request, for clients that
 * respect the limits of other servers.
 *
 * <p>This class reads these header fields: {@code Retry-After}, the {@code RateLimit} field of the
 * IETF's draft, the three fields of older versions of this draft, the {@code X-RateLimit} fields of
 * GitHub, throttled, Envoy and Kong, and the fields of OpenAI, Anthropic and other model providers.
 * Fields come from an untrusted server: an invalid field is ignored. Stateless and thread-safe.
 */
public final class RetryAdvice {

  private static final int LONGEST_FIELD = 8_192;
  private static final int LONGEST_MOMENT = 40;
  private static final int FIRST_ERROR = 400;
  // A number of at least 1,000,000,000 is an instant since September 2001: no wait lasts 31 years.
  private static final long LEAST_EPOCH_SECONDS = 1_000_000_000;
  private static final long LEAST_EPOCH_MILLIS = 1_000_000_000_000L;

  /** The quantities that model providers limit; each quantity has its own header fields. */
  private static final List<String> OF_MODELS =
      List.of("requests", "tokens", "input-tokens", "output-tokens");

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
   * <p>A {@code Retry-After} in an error response determines the pause. Without {@code
   * Retry-After}, the pause lasts until the end of the window of an exhausted quota.
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
    long seconds = field.isEmpty() ? -1 : RateLimitField.longestWaitSeconds(field);
    if (seconds >= 0) {
      return Duration.ofSeconds(seconds);
    }
    Duration pause = untilReset(fields, "ratelimit-remaining", "ratelimit-reset", sent);
    if (pause.isZero()) {
      pause = untilReset(fields, "x-ratelimit-remaining", "x-ratelimit-reset", sent);
    }
    for (String kind : OF_MODELS) {
      String openAi = "x-ratelimit-%s-" + kind;
      String anthropic = "anthropic-ratelimit-" + kind + "-%s";
      for (String name : List.of(openAi, anthropic)) {
        Duration until =
            untilReset(fields, name.formatted("remaining"), name.formatted("reset"), sent);
        pause = until.compareTo(pause) > 0 ? until : pause;
      }
    }
    return pause;
  }

  private static @Nullable Duration retryAfter(String value, Instant sent) {
    long seconds = RateLimitField.wholeNumber(value);
    if (seconds >= 0) {
      return Duration.ofSeconds(seconds);
    }
    Instant until = date(value);
    return until == null ? null : between(sent, until);
  }

  /**
   * Computes the client's wait from two header fields: the remaining quota and its reset. The reset
   * can be a number of seconds, a duration such as {@code 6m0s}, or an instant.
   */
  private static Duration untilReset(
      Function<String, List<String>> fields, String remaining, String resetField, Instant sent) {
    if (RateLimitField.wholeNumber(one(fields, remaining)) != 0) {
      return Duration.ZERO;
    }
    String text = one(fields, resetField);
    long reset = RateLimitField.wholeNumber(text);
    if (reset < 0) {
      return durationOrMoment(text, sent);
    }
    if (reset >= LEAST_EPOCH_MILLIS) {
      return between(sent, Instant.ofEpochMilli(reset));
    }
    return reset >= LEAST_EPOCH_SECONDS
        ? between(sent, Instant.ofEpochSecond(reset))
        : Duration.ofSeconds(reset);
  }

  private static Duration durationOrMoment(String text, Instant sent) {
    if (text.isEmpty() || text.length() > LONGEST_MOMENT) {
      return Duration.ZERO;
    }
    try {
      return GoDuration.parse(text);
    } catch (IllegalArgumentException e) {
      try {
        return between(sent, OffsetDateTime.parse(text).toInstant());
      } catch (DateTimeException another) {
        return Duration.ZERO;
      }
    }
  }

  private static Duration between(Instant from, Instant until) {
    return until.isAfter(from) ? Duration.between(from, until) : Duration.ZERO;
  }

  private static @Nullable Instant date(String value) {
    if (value.isEmpty() || value.length() > LONGEST_MOMENT) {
      return null;
    }
    for (DateTimeFormatter form : DATES) {
      try {
        return LocalDateTime.parse(value, form).toInstant(ZoneOffset.UTC);
      } catch (DateTimeException e) {
        // The loop tries the next date format.
      }
    }
    return null;
  }

  /** Returns a header field's value; an empty text if the field has several different values. */
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
