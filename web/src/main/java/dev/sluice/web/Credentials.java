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

  /** What is not printable ASCII at both ends, such as a no-break space, also as UTF-8 bytes. */
  private static final Pattern NOT_ASCII_ENDS =
      Pattern.compile("^[^\\x21-\\x7e]++|(?<=[\\x21-\\x7e])[^\\x21-\\x7e]++$");

  /** The token that Rails reads from {@code Token token="t1", n="x"} or {@code Bearer "t1"}. */
  private static final Pattern TOKEN =
      Pattern.compile("^[,;\\s]*+(?:token=)?+\"?+([^,;\t]*+).*", Pattern.DOTALL);

  private static final Pattern TOKEN_NAME = Pattern.compile("^(Token|Bearer) (?:token=)?+\"?+");

  /** What can separate several tokens, or parameters from a token. */
  static final Pattern SEPARATOR = Pattern.compile("[,;\t]");

  private static final Pattern SEPARATOR_OR_BLANK = Pattern.compile("[,;%s]".formatted(BLANK));

  /** A blank in a token: passport-jwt reads the token before it. */
  private static final Pattern BLANK_IN_TOKEN =
      Pattern.compile("[^,;%1$s][%1$s&&[^\t]]++[^,;%1$s]".formatted(BLANK));

  /** Laravel reads what follows the last "Bearer ", and jwt-auth what follows the last "bearer". */
  private static final Pattern SECOND_BEARER =
      Pattern.compile(
          ".+bearer(?:[%s]|ey).*".formatted(BLANK), Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  /** A JSON Web Token; its header, a JSON object, begins with "ey" in Base64. */
  private static final Pattern JWT = Pattern.compile("(ey[^.]*\\..*\\.)([^.]*)", Pattern.DOTALL);

  private Credentials() {}

  static boolean areIn(String header) {
    return header.equalsIgnoreCase("Authorization")
        || header.equalsIgnoreCase("Proxy-Authorization");
  }

  /**
   * Returns a header in normalized form: the scheme with one capital letter, as in {@code Bearer},
   * one space, and the credentials. Base64 that most applications decode leniently is decoded and
   * encoded again: the credentials of {@code Basic}, and the signature of a JSON Web Token. The
   * rest of such a token is signed as it is written.
   */
  static String canonical(String value) {
    String text = trimmed(value);
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      return scheme(text);
    }
    if (SECOND_BEARER.matcher(text).matches()) {
      throw new UnusableRequestException("the credentials have a second scheme Bearer");
    }
    String scheme = scheme(form.group(1));
    String credentials = trimmed(form.group(2));
    return switch (scheme) {
      case "Basic" ->
          "Basic " + Base64.getEncoder().encodeToString(decoded(unseparated(credentials)));
      case "Bearer" -> "Bearer " + bearer(credentials);
      case "Token" -> "Token " + token(credentials);
      default -> scheme + ' ' + resigned(credentials);
    };
  }

  /**
   * Returns the first of several tokens in a {@linkplain #canonical normalized} header. Fly.io
   * sends several tokens with commas; Rails reads only the text before the first separator.
   */
  static String firstToken(String value) {
    return value.startsWith("Bearer ") && SEPARATOR.matcher(value).find()
        ? "Bearer " + token(value.substring("Bearer ".length()))
        : value;
  }

  private static String trimmed(String text) {
    return NOT_ASCII_ENDS.matcher(text).replaceAll("");
  }

  /** Returns one token in normalized form, and several tokens as they are written. */
  private static String bearer(String credentials) {
    if (BLANK_IN_TOKEN.matcher(credentials).find()) {
      throw new UnusableRequestException("the credentials contain a blank");
    }
    return SEPARATOR.matcher(credentials).find() ? resigned(credentials) : token(credentials);
  }

  private static String unseparated(String credentials) {
    if (SEPARATOR_OR_BLANK.matcher(credentials).find()) {
      throw new UnusableRequestException("the credentials contain a comma, a semicolon or a blank");
    }
    return credentials;
  }

  private static String token(String credentials) {
    return resigned(withoutQuote(trimmed(TOKEN.matcher(credentials).replaceFirst("$1"))));
  }

  private static String withoutQuote(String text) {
    return text.endsWith("\"") ? text.substring(0, text.length() - 1) : text;
  }

  private static String resigned(String token) {
    Matcher jwt = JWT.matcher(token);
    if (!jwt.matches()) {
      return token;
    }
    byte[] signature = decoded(unseparated(jwt.group(2)));
    return unseparated(jwt.group(1))
        + Base64.getUrlEncoder().withoutPadding().encodeToString(signature);
  }

  /** Returns a text that is compared with {@linkplain #canonical headers} or their beginnings. */
  static String comparable(String text) {
    String scheme = scheme(text);
    Matcher name = TOKEN_NAME.matcher(scheme);
    return name.find() ? withoutQuote(name.replaceFirst("$1 ")) : scheme;
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

  private static byte[] decoded(String credentials) {
    String base64 =
        NOT_BASE64.matcher(credentials.replace('-', '+').replace('_', '/')).replaceAll("");
    int end = base64.indexOf('=') < 0 ? base64.length() : base64.indexOf('=');
    if (base64.substring(end).chars().anyMatch(c -> c != '=')) {
      throw new UnusableRequestException("the credentials have a \"=\" before their end");
    }
    // A single Base64 character at the end encodes less than one byte.
    String whole = base64.substring(0, end % 4 == 1 ? end - 1 : end);
    return Base64.getDecoder().decode(whole);
  }
}
