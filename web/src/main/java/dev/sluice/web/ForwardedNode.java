// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;
import org.jspecify.annotations.Nullable;

/** Reads one element of a forwarding header. Takes time linear in the length of the element. */
final class ForwardedNode {

  private ForwardedNode() {}

  /** Returns the address in {@code for} of an RFC 7239 element; null without one. */
  static @Nullable IpAddress ofForwarded(String element) {
    String node = null;
    int start = 0;
    boolean quoted = false;
    for (int i = 0; i <= element.length(); i++) {
      boolean end = i == element.length();
      if (!end && element.charAt(i) == '\\') {
        return null; // an address contains no escape
      }
      quoted ^= !end && element.charAt(i) == '"';
      if (end || (element.charAt(i) == ';' && !quoted)) {
        String pair = element.substring(start, i).strip();
        if (pair.regionMatches(true, 0, "for=", 0, 4)) {
          if (node != null) {
            return null; // an element with two "for" parameters is not trusted
          }
          node = pair.substring(4);
        }
        start = i + 1;
      }
    }
    return node == null || quoted ? null : address(unquoted(node));
  }

  private static String unquoted(String node) {
    boolean quoted = node.length() >= 2 && node.startsWith("\"") && node.endsWith("\"");
    return quoted ? node.substring(1, node.length() - 1) : node;
  }

  /**
   * Parses an address with or without a port: {@code 192.0.2.1:4711}, {@code [2001:db8::1]:4711},
   * {@code 2001:db8::1}. The port after an address is ignored. Returns null for a name, {@code
   * unknown}, an obfuscated {@code _id} or a zone.
   */
  static @Nullable IpAddress address(String text) {
    if (text.startsWith("[")) {
      int close = text.indexOf(']');
      boolean bracketed = close > 0 && isPortOrNothing(text, close + 1);
      IpAddress address = bracketed ? IpAddress.parse(text.substring(1, close)) : null;
      return bracketed && text.substring(1, close).indexOf(':') >= 0 ? address : null;
    }
    int colon = text.indexOf(':');
    boolean oneColon = colon >= 0 && text.indexOf(':', colon + 1) < 0;
    if (oneColon) {
      return isPortOrNothing(text, colon) ? IpAddress.parse(text.substring(0, colon)) : null;
    }
    return IpAddress.parse(text);
  }

  /**
   * Removes the port after an address in a header's value; returns any other value unchanged. In
   * CloudFront's header, an IPv6 address has no brackets and always a port. In other headers, the
   * number after the last colon of an IPv6 address without brackets is a port only if the whole
   * text is not an address.
   */
  static String withoutPort(String header, String value) {
    int colon = value.lastIndexOf(':');
    if (colon < 0) {
      return value; // nearly all values have no port
    }
    boolean hasPort =
        value.substring(colon + 1).matches("[0-9]{1,5}")
            && (header.equalsIgnoreCase("CloudFront-Viewer-Address")
                || IpAddress.parse(value) == null);
    IpAddress before = hasPort ? IpAddress.parse(value.substring(0, colon)) : null;
    IpAddress address = before == null && value.startsWith("[") ? address(value) : before;
    return address == null ? value : address.toString();
  }

  /** Whether a text ends at an index, or continues with a port, perhaps obfuscated ("_…"). */
  private static boolean isPortOrNothing(String text, int from) {
    return from == text.length()
        || text.substring(from).matches(":(?:[0-9]{1,5}|_[A-Za-z0-9._-]{1,64})");
  }
}
