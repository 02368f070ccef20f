// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

/** Whole numbers from strangers. Stateless. */
final class Digits {

  /** As an Integer of a structured field has (RFC 9651, section 3.3.1). */
  private static final int MOST = 15;

  private Digits() {}

  /** Returns a number that is not negative, -1 for what is none. */
  static long orMinusOne(String text) {
    if (text.isEmpty() || text.length() > MOST) {
      return -1;
    }
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return -1;
      }
    }
    return Long.parseLong(text);
  }
}
