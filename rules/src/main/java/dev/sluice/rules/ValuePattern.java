// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.text.SafeText;

/**
 * Which values of an entry or a header a rule is for: any ({@code *}), those with a prefix ({@code
 * api/*}), or one. Immutable.
 */
record ValuePattern(String text, boolean open) {

  static final ValuePattern ANY = new ValuePattern("", true);

  static ValuePattern parse(String written) {
    boolean open = written.endsWith("*");
    String text = open ? written.substring(0, written.length() - 1) : written;
    if (text.indexOf('*') >= 0) {
      throw new IllegalArgumentException(
          "found %s, expected \"*\" at the end only".formatted(SafeText.quote(written)));
    }
    return new ValuePattern(text, open);
  }

  boolean matches(String value) {
    return open ? value.startsWith(text) : value.equals(text);
  }

  /** Whether this pattern matches whatever the other one does. */
  boolean covers(ValuePattern other) {
    return open ? other.text.startsWith(text) : equals(other);
  }

  @Override
  public String toString() {
    return open ? text + "*" : text;
  }
}
