// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * Applications strip more than spaces. Python (Django, Starlette, Flask) and old versions of
 * Express strip no-break spaces and the like from a cookie's name and value. Laravel's middleware
 * TrimStrings, which is on by default, also strips invisible characters from parameters.
 *
 * A header's bytes arrive as ISO 8859-1. So a UTF-8 blank arrives as two or three characters, such
 * as C2 A0. A text that ends with other UTF-8, such as "voilà" (C3 A0), has a second reading, too: as
 * ISO 8859-1, A0 is a no-break space. Armeria strips each cookie as ISO 8859-1, so that the last
 * byte of such a blank can be missing.
 */
/** Strips the characters that some application strips from values. Takes linear time. */
final class Blanks {

  private static final Pattern BLANKS =
      Pattern.compile(
          "(?:[\\p{Z}\\p{Cf}\\s\\x00\\x1c-\\x1f\\x85\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2065\\u2800"
              + "\\u3164\\uffa0\\x{1d159}]"
              + "|\\xc2(?:[\\x85\\xa0]|\\z)|\\xe1\\x9a\\x80|\\xe2\\x80(?:[\\x80-\\x8a\\xa8\\xa9\\xaf]|\\z)"
              + "|\\xe2\\x81\\x9f|\\xe3\\x80\\x80)++");

  private Blanks() {}

  static String stripped(String text) {
    int start = 0;
    int end = text.length();
    Matcher blanks = BLANKS.matcher(text);
    while (blanks.find()) {
      if (blanks.start() == 0) {
        start = blanks.end();
      }
      if (blanks.end() == text.length()) {
        end = Math.max(start, blanks.start());
      }
    }
    return text.substring(start, end);
  }

  static List<String> strippedOf(List<String> texts) {
    return texts.stream().map(Blanks::stripped).toList();
  }
}
