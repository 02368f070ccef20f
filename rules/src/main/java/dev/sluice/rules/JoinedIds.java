// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Ids that are made of several values, so that different values never make one id. That holds for
 * lists of one length: a single value stays as it is, and may look like several. Pure.
 */
public final class JoinedIds {

  /** The id where a descriptor has no value for one: all its requests share a bucket. */
  public static final String EVERYBODY = "*";

  private JoinedIds() {}

  /**
   * Returns values joined with ":". Inside of them ":" is written as {@code %3A} and "%" as {@code
   * %25}. A single value stays as it is.
   *
   * @param values in order
   * @return the id; empty for no values
   */
  public static String of(List<String> values) {
    return values.size() == 1
        ? values.get(0)
        : values.stream().map(JoinedIds::escaped).collect(Collectors.joining(":"));
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
