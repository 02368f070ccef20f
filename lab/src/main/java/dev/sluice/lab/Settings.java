// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.text.GoDuration;
import dev.sluice.text.SafeText;
import dev.sluice.text.Suggestion;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The settings behind the kind in a description of traffic: {@code key=value,key=value}. */
final class Settings {

  private static final Pattern RATE = Pattern.compile("(\\d{1,18})/(.+)");

  private final Map<String, String> texts = new LinkedHashMap<>();

  /**
   * Reads settings.
   *
   * @param text may be empty
   * @param known the keys that there are
   * @throws IllegalArgumentException for another key, one that comes twice, or no value
   */
  Settings(String text, List<String> known) {
    if (text.isEmpty()) {
      return;
    }
    for (String setting : text.split(",", -1)) {
      int equals = setting.indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException(
            "found %s, expected KEY=VALUE such as clients=10".formatted(SafeText.quote(setting)));
      }
      String key = setting.substring(0, equals);
      if (!known.contains(key)) {
        throw new IllegalArgumentException(
            "found the key %s, expected one of %s%s"
                .formatted(
                    SafeText.quote(key),
                    String.join(", ", known),
                    Suggestion.didYouMean(key, known)));
      }
      if (texts.put(key, setting.substring(equals + 1)) != null) {
        throw new IllegalArgumentException("found " + key + " twice, expected it once");
      }
    }
  }

  /** A whole number in its range. */
  long number(String key, long standard, long least, long most) {
    String text = texts.get(key);
    if (text == null) {
      return standard;
    }
    long number = -1;
    if (text.matches("\\d{1,18}")) {
      number = Long.parseLong(text);
    }
    if (number < least || number > most) {
      throw wrong(key, "a whole number from " + least + " to " + most);
    }
    return number;
  }

  /** A number from 0 to {@code most}. */
  double share(String key, double standard, double most) {
    String text = texts.get(key);
    if (text == null) {
      return standard;
    }
    double share = -1;
    if (text.matches("\\d{1,9}(\\.\\d{1,9})?")) {
      share = Double.parseDouble(text);
    }
    if (share < 0 || share > most) {
      throw wrong(key, "a number from 0 to " + (long) most + " such as 0.5");
    }
    return share;
  }

  /** A span of time. */
  long nanos(String key, long standardNanos, long leastNanos) {
    String text = texts.get(key);
    if (text == null) {
      return standardNanos;
    }
    long nanos = -1;
    try {
      nanos = GoDuration.parse(text).toNanos();
    } catch (IllegalArgumentException e) {
      // Said below, with the key.
    }
    if (nanos < leastNanos || nanos > Scenario.LONGEST.toNanos()) {
      throw wrong(
          key, leastNanos == 0 ? "a duration such as 0s or 10m" : "a duration > 0 such as 500ms");
    }
    return nanos;
  }

  /** The mean time between requests, from a rate such as {@code 30/1m}. */
  double gapNanos(String key, double standardNanos) {
    String text = texts.get(key);
    if (text == null) {
      return standardNanos;
    }
    Matcher parts = RATE.matcher(text);
    if (parts.matches()) {
      try {
        long count = Long.parseLong(parts.group(1));
        Duration period = GoDuration.parse(parts.group(2));
        double gapNanos = (double) period.toNanos() / count;
        if (count > 0 && gapNanos >= 1) {
          return gapNanos;
        }
      } catch (IllegalArgumentException e) {
        // Said below, with the key.
      }
    }
    throw wrong(key, "COUNT/PERIOD such as 30/1m, at most one a nanosecond");
  }

  /** One of two words. */
  boolean yes(String key, boolean standard) {
    String text = texts.get(key);
    if (text == null) {
      return standard;
    }
    if (!text.equals("yes") && !text.equals("no")) {
      throw wrong(key, "yes or no");
    }
    return text.equals("yes");
  }

  private IllegalArgumentException wrong(String key, String expected) {
    return new IllegalArgumentException(
        "%s: found %s, expected %s"
            .formatted(key, SafeText.quote(texts.getOrDefault(key, "")), expected));
  }
}
