// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads single values, and accepts only unambiguous values. YAML readers differ about {@code no},
 * {@code 010} and {@code 1_000}, so these values are neither booleans nor numbers here. Each method
 * returns null in three cases: the node is absent, its mistake was reported before, or the method
 * reports a mistake. Stateless.
 */
public final class Values {

  private static final Pattern WHOLE = Pattern.compile("[-+]?(?:0|[1-9][0-9]*)");
  private static final Pattern SHARE = Pattern.compile("0|1|0\\.[0-9]{1,400}|1\\.0{1,400}");
  private static final Pattern LEADING_ZEROS = Pattern.compile("[-+]?0[0-9]+");

  private Values() {}

  /**
   * Reads a whole number of 64 bits.
   *
   * @param node the value; null if absent
   * @param problems receives the mistakes
   * @return the number; null if the value is absent or wrong
   */
  public static @Nullable Long wholeNumber(@Nullable Node node, Problems problems) {
    if (node == null || node instanceof Node.Broken) {
      return null;
    }
    if (!(node instanceof Node.Scalar scalar)
        || !scalar.plain()
        || !WHOLE.matcher(scalar.text()).matches()) {
      problems.wrong(node, "a whole number" + hint(node));
      return null;
    }
    try {
      return Long.parseLong(scalar.text());
    } catch (NumberFormatException e) {
      problems.wrong(node, "a whole number of at most 9223372036854775807 (64 bits)");
      return null;
    }
  }

  private static String hint(Node node) {
    if (node instanceof Node.Scalar scalar) {
      if (!scalar.plain() && WHOLE.matcher(scalar.text()).matches()) {
        return " without quotes";
      }
      if (LEADING_ZEROS.matcher(scalar.text()).matches()) {
        return " without leading zeros";
      }
    }
    return " in digits, such as 20";
  }

  /**
   * Reads a positive duration.
   *
   * @param node the value; null if absent
   * @param problems receives the mistakes
   * @return the duration, more than zero; null if the value is absent or wrong
   */
  public static @Nullable Duration duration(@Nullable Node node, Problems problems) {
    if (node == null || node instanceof Node.Broken) {
      return null;
    }
    if (!(node instanceof Node.Scalar scalar) || scalar.isNull()) {
      problems.wrong(node, "a duration such as 1s, 180m, 1h30m, 7d, 250ms or PT3H");
      return null;
    }
    try {
      Duration duration = GoDuration.parse(scalar.text());
      if (duration.isZero()) {
        problems.wrong(node, "a duration > 0");
        return null;
      }
      return duration;
    } catch (IllegalArgumentException e) {
      problems.mistake(node, String.valueOf(e.getMessage()));
      return null;
    }
  }

  /**
   * Reads a value as text, even if YAML would read the value as a number or a boolean.
   *
   * @param node the value; null if absent
   * @param expected the expected value, as the message about a mistake describes it
   * @param problems receives the mistakes
   * @return the text, not empty; null if the value is absent or wrong
   */
  public static @Nullable String text(@Nullable Node node, String expected, Problems problems) {
    if (node == null || node instanceof Node.Broken) {
      return null;
    }
    if (!(node instanceof Node.Scalar scalar) || scalar.isNull() || scalar.text().isEmpty()) {
      problems.wrong(node, expected);
      return null;
    }
    return scalar.text();
  }

  /**
   * Reads {@code true} or {@code false}.
   *
   * @param node the value; null if absent
   * @param problems receives the mistakes
   * @return the boolean; null if the value is absent or wrong
   */
  public static @Nullable Boolean bool(@Nullable Node node, Problems problems) {
    if (node == null || node instanceof Node.Broken) {
      return null;
    }
    if (node instanceof Node.Scalar scalar && scalar.plain()) {
      if (scalar.text().equals("true")) {
        return true;
      }
      if (scalar.text().equals("false")) {
        return false;
      }
    }
    problems.wrong(node, "true or false");
    return null;
  }

  /**
   * Reads a map.
   *
   * @param node the value; null if absent
   * @param expected the expected value, as the message about a mistake describes it
   * @param problems receives the mistakes
   * @return the map; null if the value is absent or wrong
   */
  public static Node.@Nullable Mapping map(
      @Nullable Node node, String expected, Problems problems) {
    if (node instanceof Node.Mapping map) {
      return map;
    }
    notOfKind(node, expected, problems);
    return null;
  }

  /**
   * Reads a list.
   *
   * @param node the value; null if absent
   * @param expected the expected value, as the message about a mistake describes it
   * @param problems receives the mistakes
   * @return the list; null if the value is absent or wrong
   */
  public static Node.@Nullable Sequence list(
      @Nullable Node node, String expected, Problems problems) {
    if (node instanceof Node.Sequence list) {
      return list;
    }
    notOfKind(node, expected, problems);
    return null;
  }

  private static void notOfKind(@Nullable Node node, String expected, Problems problems) {
    if (node != null && !(node instanceof Node.Broken)) {
      problems.wrongKind(node, expected);
    }
  }

  /**
   * Reads burst, count and period, and reports each of these fields that is missing or wrong.
   *
   * @param fields the fields of a map; other fields are allowed too
   * @param problems receives the mistakes
   * @return the quota; null if a field is missing or wrong
   */
  public static @Nullable Quota quota(Fields fields, Problems problems) {
    return Quotas.read(fields, problems);
  }

  /**
   * Reads a share, such as the share of requests to sample.
   *
   * @param node the value; null if absent
   * @param problems receives the mistakes
   * @return the share, 0 to 1; null if the value is absent or wrong
   */
  public static @Nullable Double share(@Nullable Node node, Problems problems) {
    if (node == null || node instanceof Node.Broken) {
      return null;
    }
    if (node instanceof Node.Scalar scalar && SHARE.matcher(scalar.text()).matches()) {
      return Double.valueOf(scalar.text());
    }
    problems.wrong(node, "a share from 0 to 1, such as 0.03");
    return null;
  }
}
