// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An IPv4 or IPv6 address, which can stand for a range: all addresses with the same first bits.
 *
 * <p>Immutable and thread-safe. Parsing does no DNS look-up. An IPv4 address must have four decimal
 * numbers without leading zeros. An IPv6 zone ({@code %eth0}) is refused. An IPv4-mapped IPv6
 * address ({@code ::ffff:192.0.2.1}) is read as IPv4, so that both spellings have the same bucket.
 */
public final class IpAddress {

  private final byte[] bytes;

  private IpAddress(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Reads an address.
   *
   * @param text an IPv6 address as in RFC 4291, or an IPv4 address in dotted decimal form
   * @return the address, null if the text is not an address
   */
  public static @Nullable IpAddress parse(String text) {
    byte[] parsed = text.indexOf(':') >= 0 ? parseIpv6(text) : parseIpv4(text, 0);
    return parsed == null ? null : new IpAddress(unmapped(parsed));
  }

  /**
   * Returns whether this is an IPv4 address. An IPv4-mapped IPv6 address counts as IPv4.
   *
   * @return false for IPv6
   */
  public boolean isIpv4() {
    return bytes.length == 4;
  }

  /**
   * Returns the lowest address with the same first bits as this address.
   *
   * @param length the number of bits to keep, 0 to 32 for IPv4, 0 to 128 for IPv6
   * @return the address, in which all bits after the prefix are zero
   * @throws IllegalArgumentException if the number of bits is out of range
   */
  public IpAddress prefix(int length) {
    if (length < 0 || length > bytes.length * 8) {
      throw new IllegalArgumentException(
          "length: found %s, expected 0 to %s".formatted(length, bytes.length * 8));
    }
    byte[] masked = bytes.clone();
    for (int i = 0; i < masked.length; i++) {
      int kept = Math.max(0, Math.min(8, length - i * 8));
      masked[i] &= (byte) (0xff << (8 - kept));
    }
    return new IpAddress(masked);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof IpAddress that && Arrays.equals(bytes, that.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  /**
   * Returns the canonical text: dotted decimal for IPv4, the form of RFC 5952 section 4 for IPv6.
   */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(39);
    if (isIpv4()) {
      for (byte b : bytes) {
        text.append(text.isEmpty() ? "" : ".").append(b & 0xff);
      }
      return text.toString();
    }
    int zerosFrom = longestRunOfZeros();
    for (int i = 0; i < 8; i++) {
      if (i == zerosFrom) {
        text.append("::");
        while (i < 8 && group(i) == 0) {
          i++;
        }
        i--;
      } else {
        boolean colon = i > 0 && text.charAt(text.length() - 1) != ':';
        text.append(colon ? ":" : "").append(Integer.toHexString(group(i)));
      }
    }
    return text.toString();
  }

  private int group(int i) {
    return ((bytes[2 * i] & 0xff) << 8) | (bytes[2 * i + 1] & 0xff);
  }

  /**
   * Returns the index of the first of the longest runs of two or more zero groups, or -1 if the
   * address has no such run.
   */
  private int longestRunOfZeros() {
    int best = -1;
    int bestLength = 1;
    for (int start = 0; start < 8; start++) {
      int end = start;
      while (end < 8 && group(end) == 0) {
        end++;
      }
      if (end - start > bestLength) {
        best = start;
        bestLength = end - start;
      }
    }
    return best;
  }

  private static byte[] unmapped(byte[] bytes) {
    boolean mapped = bytes.length == 16 && bytes[10] == -1 && bytes[11] == -1;
    for (int i = 0; mapped && i < 10; i++) {
      mapped = bytes[i] == 0;
    }
    return mapped ? Arrays.copyOfRange(bytes, 12, 16) : bytes;
  }

  private static byte @Nullable [] parseIpv4(String text, int start) {
    byte[] parsed = new byte[4];
    int at = start;
    for (int i = 0; i < 4; i++) {
      if (i > 0 && (at >= text.length() || text.charAt(at++) != '.')) {
        return null;
      }
      int first = at;
      int value = 0;
      while (at < text.length() && at < first + 3 && isDigit(text.charAt(at))) {
        value = value * 10 + text.charAt(at++) - '0';
      }
      boolean leadingZero = at > first + 1 && text.charAt(first) == '0';
      if (at == first || leadingZero || value > 255) {
        return null;
      }
      parsed[i] = (byte) value;
    }
    return at == text.length() ? parsed : null;
  }

  private static byte @Nullable [] parseIpv6(String text) {
    byte[] parsed = new byte[16];
    int filled = 0;
    int gapAt = -1;
    int at = 0;
    if (text.startsWith("::")) {
      gapAt = 0;
      at = 2;
    }
    while (at < text.length()) {
      int end = text.indexOf(':', at);
      int groupEnd = end < 0 ? text.length() : end;
      if (end < 0 && text.indexOf('.', at) >= 0) {
        byte[] tail = filled <= 12 ? parseIpv4(text, at) : null;
        if (tail == null) {
          return null;
        }
        System.arraycopy(tail, 0, parsed, filled, 4);
        filled += 4;
        break;
      }
      int value = parseGroup(text, at, groupEnd);
      if (value < 0 || filled == 16) {
        return null;
      }
      parsed[filled++] = (byte) (value >> 8);
      parsed[filled++] = (byte) value;
      if (end < 0) {
        break;
      }
      at = end + 1;
      if (at < text.length() && text.charAt(at) == ':') {
        if (gapAt >= 0) {
          return null;
        }
        gapAt = filled;
        at++;
      } else if (at == text.length()) {
        return null;
      }
    }
    return spread(parsed, filled, gapAt);
  }

  /**
   * Moves the groups after the "::" to the end of the address; returns null if the address is too
   * long.
   */
  private static byte @Nullable [] spread(byte[] parsed, int filled, int gapAt) {
    if (gapAt < 0) {
      return filled == 16 ? parsed : null;
    }
    if (filled > 14) {
      return null;
    }
    int tail = filled - gapAt;
    byte[] whole = new byte[16];
    System.arraycopy(parsed, 0, whole, 0, gapAt);
    System.arraycopy(parsed, gapAt, whole, 16 - tail, tail);
    return whole;
  }

  private static int parseGroup(String text, int start, int end) {
    if (end == start || end > start + 4) {
      return -1;
    }
    int value = 0;
    for (int i = start; i < end; i++) {
      char c = text.charAt(i);
      int digit = c < 128 ? Character.digit(c, 16) : -1;
      if (digit < 0) {
        return -1;
      }
      value = (value << 4) | digit;
    }
    return value;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }
}
