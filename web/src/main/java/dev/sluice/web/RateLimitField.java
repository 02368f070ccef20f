// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads a {@code RateLimit} field: a List of Items with parameters, as in RFC 9651. The field comes
 * from an untrusted server. If the field violates a rule of the RFC, the whole field is ignored, as
 * the RFC requires. Each object reads one field, on one thread.
 */
final class RateLimitField {

  /** The largest number of digits of an Integer in a structured field (RFC 9651, section 3.3.1). */
  private static final int MOST_DIGITS = 15;

  private static final String TOKEN = "!#$%&'*+-.^_`|~:/";

  private final String text;
  private int at;

  private RateLimitField(String text) {
    this.text = text;
  }

  /** Thrown if the field violates RFC 9651. */
  private static final class UnreadableException extends Exception {
    private static final long serialVersionUID = 1;
  }

  /**
   * Returns the longest effective window ({@code t}) whose available quota ({@code r}) is 0.
   *
   * @return seconds; 0 if there is no such window, -1 if the field cannot be read
   */
  static long longestWaitSeconds(String text) {
    try {
      return new RateLimitField(text).read();
    } catch (UnreadableException e) {
      return -1;
    }
  }

  private long read() throws UnreadableException {
    long longest = 0;
    skipSpace();
    while (at < text.length()) {
      bareItem();
      Map<String, String> parameters = parameters();
      if (number(parameters.get("r")) == 0) {
        longest = Math.max(longest, number(parameters.get("t")));
      }
      skipSpace();
      if (at < text.length()) {
        expect(',');
        skipSpace();
        require(at < text.length()); // RFC 9651: no comma ends a list
      }
    }
    return longest;
  }

  private static long number(@Nullable String value) {
    return value == null ? -1 : wholeNumber(value);
  }

  /** Returns the whole number in a text, -1 if the text is not a whole number or is negative. */
  static long wholeNumber(String text) {
    if (text.isEmpty() || text.length() > MOST_DIGITS) {
      return -1;
    }
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return -1;
      }
    }
    return Long.parseLong(text);
  }

  private Map<String, String> parameters() throws UnreadableException {
    Map<String, String> parameters = new HashMap<>();
    while (at < text.length() && text.charAt(at) == ';') {
      at++;
      while (at < text.length() && text.charAt(at) == ' ') {
        at++;
      }
      String key = key();
      boolean hasValue = at < text.length() && text.charAt(at) == '=';
      if (hasValue) {
        at++;
      }
      parameters.put(key, hasValue ? bareItem() : "?1");
    }
    return parameters;
  }

  private String key() throws UnreadableException {
    int start = at;
    while (at < text.length() && isKeyCharacter(text.charAt(at))) {
      at++;
    }
    require(at > start && (isLower(text.charAt(start)) || text.charAt(start) == '*'));
    return text.substring(start, at);
  }

  /** Reads an item; returns its text if the item can be a number, otherwise an empty text. */
  @CanIgnoreReturnValue
  private String bareItem() throws UnreadableException {
    require(at < text.length());
    char first = text.charAt(at);
    if (first == '"') {
      skipString();
      return "";
    }
    if (first == ':') {
      int end = text.indexOf(':', at + 1);
      require(end > 0);
      at = end + 1;
      return "";
    }
    int start = at;
    if (first == '?') {
      at++;
    }
    while (at < text.length() && isTokenCharacter(text.charAt(at))) {
      at++;
    }
    require(at > start);
    return text.substring(start, at);
  }

  private void skipString() throws UnreadableException {
    at++;
    while (at < text.length() && text.charAt(at) != '"') {
      char c = text.charAt(at);
      require(c >= ' ' && c <= '~');
      if (c == '\\') {
        at++;
        require(at < text.length() && (text.charAt(at) == '"' || text.charAt(at) == '\\'));
      }
      at++;
    }
    expect('"');
  }

  private void expect(char c) throws UnreadableException {
    require(at < text.length() && text.charAt(at) == c);
    at++;
  }

  private static void require(boolean rule) throws UnreadableException {
    if (!rule) {
      throw new UnreadableException();
    }
  }

  private void skipSpace() {
    while (at < text.length() && (text.charAt(at) == ' ' || text.charAt(at) == '\t')) {
      at++;
    }
  }

  private static boolean isLower(char c) {
    return c >= 'a' && c <= 'z';
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isKeyCharacter(char c) {
    return isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*';
  }

  private static boolean isTokenCharacter(char c) {
    return isLower(c) || isDigit(c) || (c >= 'A' && c <= 'Z') || TOKEN.indexOf(c) >= 0;
  }
}
