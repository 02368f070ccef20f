// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalLong;

/**
 * The arguments of one request, as slices of the bytes that were read. Each connection has one,
 * which is filled again for its next request: nothing may keep it. Not thread-safe.
 */
final class Request {

  private static final int USUAL_COUNT = 8;
  private static final int BYTES_OF_WAITING = 512;

  /** Four arguments are a transaction of a batch, with its decision. */
  private static final int BYTES_OF_ARGUMENT = 75;

  private byte[] bytes = new byte[0];
  private int[] starts = new int[USUAL_COUNT];
  private int[] lengths = new int[USUAL_COUNT];
  private int count;

  void clear() {
    count = 0;
  }

  /** Adds an argument whose place counts from the beginning of the request. */
  void add(int start, int length) {
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, 2 * count);
      lengths = Arrays.copyOf(lengths, 2 * count);
    }
    starts[count] = start;
    lengths[count] = length;
    count++;
  }

  /** Says where the request begins, when all of it is there. */
  void isAt(byte[] newBytes, int start) {
    bytes = newBytes;
    for (int i = 0; i < count; i++) {
      starts[i] += start;
    }
  }

  /** About what is held of the request while its reply waits, whatever the command keeps. */
  int bytesWhileWaiting() {
    int bytes = BYTES_OF_ARGUMENT * count;
    for (int i = 0; i < count; i++) {
      bytes += lengths[i];
    }
    return Math.max(BYTES_OF_WAITING, bytes);
  }

  /** How many arguments there are, with the command's name. */
  int count() {
    return count;
  }

  /** Returns the bytes that {@link #start} and {@link #length} point into. */
  byte[] bytes() {
    return bytes;
  }

  int start(int index) {
    return starts[index];
  }

  int length(int index) {
    return lengths[index];
  }

  /** The argument as text; bytes that are not UTF-8 become replacement characters. */
  String text(int index) {
    return new String(bytes, starts[index], lengths[index], StandardCharsets.UTF_8);
  }

  /** The bytes of the argument. */
  byte[] copy(int index) {
    return Arrays.copyOfRange(bytes, starts[index], starts[index] + lengths[index]);
  }

  /** Whether the argument is these very bytes. */
  boolean is(int index, byte[] word) {
    int from = starts[index];
    return Arrays.equals(bytes, from, from + lengths[index], word, 0, word.length);
  }

  /** Whether the argument is this word, in capitals or not. */
  boolean is(int index, String upperCase) {
    if (lengths[index] != upperCase.length()) {
      return false;
    }
    for (int i = 0; i < upperCase.length(); i++) {
      if (upper(bytes[starts[index] + i]) != upperCase.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** The ASCII capital of a letter; any other byte as it is. */
  static int upper(byte b) {
    return b >= 'a' && b <= 'z' ? b - ('a' - 'A') : b;
  }

  /** Whole numbers as redis-cell reads them. Stateless and thread-safe. */
  static final class Decimals {

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
}
