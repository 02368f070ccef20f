// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/*
 * Compares eight bytes at a time. XOR with the wanted byte turns each equal byte into zero.
 * Subtracting 1 from each byte then sets the highest bit of each zero byte. The subtraction can
 * also set this bit in a byte after a zero byte, so only the first byte with the bit is a match.
 * (H. S. Warren, Hacker's Delight, 6-1.)
 */
/** Finds a byte in an array, eight bytes at a time. Stateless. */
final class ByteSearch {

  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long EACH = 0x0101010101010101L;
  private static final long HIGH_BITS = EACH << 7;

  private ByteSearch() {}

  /** Returns the first position of a byte; {@code end} if the byte is not found. */
  static int indexOf(byte[] text, int from, int end, int wanted) {
    return indexOf(text, from, end, wanted, wanted);
  }

  /** Returns the first position of either of two bytes; {@code end} if neither is found. */
  static int indexOf(byte[] text, int from, int end, int one, int other) {
    int at = from;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      long word = word(text, at);
      long found = zeros(word ^ (one * EACH)) | zeros(word ^ (other * EACH));
      if (found != 0) {
        return at + (Long.numberOfTrailingZeros(found) >>> 3);
      }
    }
    while (at < end && text[at] != one && text[at] != other) {
      at++;
    }
    return at;
  }

  private static long zeros(long word) {
    return (word - EACH) & ~word & HIGH_BITS;
  }

  /** Returns the eight bytes that start at a position. */
  static long word(byte[] text, int at) {
    return (long) WORD.get(text, at);
  }
}
