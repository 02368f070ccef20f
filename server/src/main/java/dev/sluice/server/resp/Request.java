// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalLong;

/**
 * The arguments of one Redis request, as positions in a byte array. Each connection reuses one
 * object for all of its requests, so callers must not keep a reference. Not thread-safe.
 */
final class Request {

  private static final int USUAL_COUNT = 8;
  private static final int BYTES_OF_WAITING = 512;

  /** The approximate memory in bytes for one argument of a request that waits for its reply. */
  private static final int BYTES_OF_ARGUMENT = 75;

  private byte[] bytes = new byte[0];
  private int[] starts = new int[USUAL_COUNT];
  private int[] lengths = new int[USUAL_COUNT];
  private int count;

  void clear() {
    count = 0;
  }

  /** Adds an argument. {@code start} is relative to the start of the request. */
  void add(int start, int length) {
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, 2 * count);
      lengths = Arrays.copyOf(lengths, 2 * count);
    }
    starts[count] = start;
    lengths[count] = length;
    count++;
  }

  /** Sets the array that contains the request, and the request's start in the array. */
  void isAt(byte[] newBytes, int start) {
    bytes = newBytes;
    for (int i = 0; i < count; i++) {
      starts[i] += start;
    }
  }

  /** Returns the approximate number of bytes that the request takes while its reply waits. */
  int bytesWhileWaiting() {
    int bytes = BYTES_OF_ARGUMENT * count;
    for (int i = 0; i < count; i++) {
      bytes += lengths[i];
    }
    return Math.max(BYTES_OF_WAITING, bytes);
  }

  /** Returns the number of arguments, including the command's name. */
  int count() {
    return count;
  }

  /** Returns the array that contains the arguments, at {@link #start} and with {@link #length}. */
  byte[] bytes() {
    return bytes;
  }

  int start(int index) {
    return starts[index];
  }

  int length(int index) {
    return lengths[index];
  }

  /** Returns an argument as text; bytes that are not UTF-8 become replacement characters. */
  String text(int index) {
    return new String(bytes, starts[index], lengths[index], StandardCharsets.UTF_8);
  }

  byte[] copy(int index) {
    return Arrays.copyOfRange(bytes, starts[index], starts[index] + lengths[index]);
  }

  /** Whether the bytes of an argument equal {@code word}. */
  boolean is(int index, byte[] word) {
    int from = starts[index];
    return Arrays.equals(bytes, from, from + lengths[index], word, 0, word.length);
  }

  /** Whether an argument equals a word, ignoring case. */
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

  /** Returns the ASCII capital of a letter, and any other byte unchanged. */
  static int upper(byte b) {
    return b >= 'a' && b <= 'z' ? b - ('a' - 'A') : b;
  }

  /** Parses whole numbers as redis-cell does. */
  static final class Decimals {

    private Decimals() {}

    /** Parses a signed 64-bit decimal number: an optional sign, then only digits. */
    static OptionalLong read(byte[] bytes, int start, int length) {
      long value = readOr(Long.MIN_VALUE, bytes, start, length);
      return value == Long.MIN_VALUE && readOr(0, bytes, start, length) == 0
          ? OptionalLong.empty()
          : OptionalLong.of(value);
    }

    /** Parses a signed 64-bit decimal number without making an object. */
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
      long value = 0; // negative, since the smallest number has no positive counterpart
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
