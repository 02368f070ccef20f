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
    long value = readOr(Long.MIN_VALUE, bytes, start, length);
    return value == Long.MIN_VALUE && readOr(0, bytes, start, length) == 0
        ? OptionalLong.empty()
        : OptionalLong.of(value);
  }

  /**
   * The same without an object.
   *
   * @param otherwise the result if it is something else
   */
  static long readOr(long otherwise, byte[] bytes, int start, int length) {
    int at = start;
    int end = start + length;
    boolean negative = length > 0 && bytes[at] == '-';
    if (negative || (length > 0 && bytes[at] == '+')) {
      at++;
    }
    if (at == end) {
      return otherwise;
    }
    long value = 0; // negative, since the least number has no positive twin
    for (; at < end; at++) {
      int digit = bytes[at] - '0';
      if (digit < 0 || digit > 9 || value < Long.MIN_VALUE / 10) {
        return otherwise;
      }
      value = 10 * value - digit;
      if (value > 0) {
        return otherwise;
      }
    }
    if (negative) {
      return value;
    }
    return value == Long.MIN_VALUE ? otherwise : -value;
  }
}
