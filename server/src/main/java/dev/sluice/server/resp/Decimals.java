// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import java.util.OptionalLong;

/** Whole numbers as redis-cell reads them. Stateless and thread-safe. */
final class Decimals {

  private Decimals() {}

  /**
   * Reads a signed decimal number of 64 bits: a sign or none, then digits only.
   *
   * @return empty if it is something else
   */
  static OptionalLong read(byte[] bytes, int start, int length) {
    int at = start;
    int end = start + length;
    boolean negative = length > 0 && bytes[at] == '-';
    if (negative || (length > 0 && bytes[at] == '+')) {
      at++;
    }
    if (at == end) {
      return OptionalLong.empty();
    }
    long value = 0; // negative, since the least number has no positive twin
    for (; at < end; at++) {
      int digit = bytes[at] - '0';
      if (digit < 0 || digit > 9 || value < Long.MIN_VALUE / 10) {
        return OptionalLong.empty();
      }
      value = 10 * value - digit;
      if (value > 0) {
        return OptionalLong.empty();
      }
    }
    if (negative) {
      return OptionalLong.of(value);
    }
    return value == Long.MIN_VALUE ? OptionalLong.empty() : OptionalLong.of(-value);
  }
}
