// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.Base64;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Splits an Authorization header into scheme and credentials, in linear time. */
final class Credentials {

  /** The characters that some application accepts as a space, for a character class of a regex. */
  static final String BLANK = "\\s\\p{Cntrl}\u0085\u00a0";

  private static final Pattern FORM =
      Pattern.compile("([^%1$s]+)[%1$s]+(.*)".formatted(BLANK), Pattern.DOTALL);
  private static final Pattern NOT_BASE64 = Pattern.compile("[^A-Za-z0-9+/=]");

  private Credentials() {}

  static boolean areIn(String header) {
    return header.equalsIgnoreCase("Authorization")
        || header.equalsIgnoreCase("Proxy-Authorization");
  }

  /**
   * Returns a header in normalized form: the scheme with one capital letter, as in {@code Bearer},
   * one space, and the credentials. The credentials of {@code Basic} are decoded and encoded again,
   * since most applications decode them leniently.
   */
  static String canonical(String value) {
    String text = value.strip();
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      return scheme(text);
    }
    String scheme = scheme(form.group(1));
    return scheme + ' ' + (scheme.equals("Basic") ? basic(form.group(2)) : form.group(2));
  }

  /** Returns a text with the scheme at its beginning in normalized case, and the rest unchanged. */
  static String scheme(String text) {
    int end = text.indexOf(' ') < 0 ? text.length() : text.indexOf(' ');
    return text.isEmpty()
        ? text
        : text.substring(0, 1).toUpperCase(Locale.ROOT)
            + text.substring(1, end).toLowerCase(Locale.ROOT)
            + text.substring(end);
  }

  private static String basic(String credentials) {
    String base64 =
        NOT_BASE64.matcher(credentials.replace('-', '+').replace('_', '/')).replaceAll("");
    int end = base64.indexOf('=') < 0 ? base64.length() : base64.indexOf('=');
    if (base64.substring(end).chars().anyMatch(c -> c != '=')) {
      throw new UnusableRequestException("the credentials have a \"=\" before their end");
    }
    // A single Base64 character at the end encodes less than one byte.
    String whole = base64.substring(0, end % 4 == 1 ? end - 1 : end);
    return Base64.getEncoder().encodeToString(Base64.getDecoder().decode(whole));
  }
}
