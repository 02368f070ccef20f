// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * ASP.NET Core skips what it cannot read, one character after the other, until it finds a cookie
 * with a separator or the end of the header behind its value: in "y=a s=b" and "@s=b", the cookie
 * s. ASP.NET does not find the s in y={"a":"/x?s=1"}, since a quote follows the value 1.
 */
/** A cookie that ASP.NET Core reads inside another cookie, which is malformed. */
record CookieInside(String name, String value) {

  private static final String TOKEN = "!#$%&'*+.^_`|~0-9A-Za-z-";

  /** The first name that "=" follows. ASP.NET ignores a cookie without a value. */
  private static final Pattern UNQUOTED =
      Pattern.compile("(?<![%1$s])([%1$s]++)=(.+)".formatted(TOKEN));

  private static final Pattern QUOTED =
      Pattern.compile("(?<![%1$s])([%1$s]++)=(\"[^\" \\\\]*+\")\\z".formatted(TOKEN));

  /**
   * Returns the cookie at the end of a pair, in linear time.
   *
   * @param pair the text between two separators, without blanks at its ends
   * @return the cookie; null if the pair has none, or is a cookie itself
   */
  static @Nullable CookieInside of(String pair) {
    int start = pair.length();
    while (start > 0 && isInValues(pair.charAt(start - 1))) {
      start--;
    }
    boolean quoted = pair.endsWith("\"");
    Matcher cookie = (quoted ? QUOTED : UNQUOTED).matcher(pair);
    return cookie.find(quoted ? 0 : start) && cookie.start() > 0
        ? new CookieInside(cookie.group(1), cookie.group(2))
        : null;
  }

  /** Whether a cookie's value may contain a character, by RFC 6265. */
  private static boolean isInValues(char c) {
    return c > ' ' && c < 0x7f && "\",;\\".indexOf(c) < 0;
  }
}
