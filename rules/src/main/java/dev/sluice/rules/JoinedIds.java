// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Joins several values to one id. Two different lists of the same length never make the same id. A
 * single value is not escaped, so a single value can look like several joined values.
 */
public final class JoinedIds {

  /** The id for an empty value: all requests without a value share one bucket. */
  public static final String EVERYBODY = "*";

  private JoinedIds() {}

  /**
   * Returns values joined with ":". Inside a value, ":" is written as {@code %3A} and "%" as {@code
   * %25}. The id of a single value is the value itself.
   *
   * @param values the values, in order
   * @return the id; empty for an empty list
   */
  public static String of(List<String> values) {
    return values.size() == 1
        ? values.get(0)
        : values.stream().map(JoinedIds::escaped).collect(Collectors.joining(":"));
  }

  /**
   * Returns the id of a single value. An empty value becomes the id {@link #EVERYBODY}. A value of
   * only stars gets one more star, so that the value differs from {@link #EVERYBODY}.
   *
   * @param value the value; empty if the request has no value
   * @return the id, not empty
   */
  public static String ofOne(String value) {
    return isStars(value) ? value + EVERYBODY : value;
  }

  private static boolean isStars(String value) {
    return value.chars().allMatch(c -> c == '*');
  }

  /** Returns the value from which {@link #ofOne} makes the given id. */
  static String oneOf(String id) {
    return !id.isEmpty() && isStars(id) ? id.substring(1) : id;
  }

  static String escaped(String value) {
    return value.indexOf('%') < 0 && value.indexOf(':') < 0
        ? value
        : value.replace("%", "%25").replace(":", "%3A");
  }

  static String unescaped(String escaped) {
    return escaped.replace("%3A", ":").replace("%25", "%");
  }
}
