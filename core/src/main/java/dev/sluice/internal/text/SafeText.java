// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.util.Locale;

/**
 * Escapes untrusted text for a message, a log or a page, so that the text can neither start a
 * forged line nor change the order in which a line is shown.
 */
public final class SafeText {

  private static final int SHOWN = 80;

  /**
   * Invisible characters that Unicode counts as letters or marks: joiners, fillers, the empty
   * braille cell.
   */
  private static final String BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0";

  private SafeText() {}

  /**
   * Returns a text in quotes, printable and short, so that the text cannot forge a log line.
   *
   * @return at most the first 80 characters, in quotes; quotes, backslashes and {@linkplain
   *     #isInvisible invisible} characters are escaped
   */
  public static String quote(String text) {
    int end = Math.min(text.length(), SHOWN);
    if (end < text.length() && Character.isHighSurrogate(text.charAt(end - 1))) {
      end--;
    }
    StringBuilder quoted = new StringBuilder(end + 2).append('"');
    text.substring(0, end)
        .codePoints()
        .forEach(
            c -> {
              if (c == '"' || c == '\\') {
                quoted.append('\\');
              }
              append(c, quoted);
            });
    return quoted.append(end < text.length() ? "…\"" : "\"").toString();
  }

  /**
   * Returns a text in which {@linkplain #isInvisible invisible} characters are escaped.
   *
   * @return the text, with each invisible character in a form such as {@code \u202e}
   */
  public static String printable(String text) {
    if (text.codePoints().noneMatch(SafeText::isInvisible)) {
      return text;
    }
    StringBuilder printable = new StringBuilder(text.length() + 16);
    text.codePoints().forEach(c -> append(c, printable));
    return printable.toString();
  }

  /**
   * Returns a text as one line: spaces are joined, spaces and full stops at the end are removed,
   * and {@linkplain #isInvisible invisible} characters are escaped.
   */
  public static String line(String text) {
    return printable(text.replaceAll("\\s+", " ").replaceAll("[. ]+$", ""));
  }

  private static void append(int c, StringBuilder target) {
    if (!isInvisible(c)) {
      target.appendCodePoint(c);
    } else if (Character.isBmpCodePoint(c)) {
      target.append(String.format(Locale.ROOT, "\\u%04x", c));
    } else {
      target.append(String.format(Locale.ROOT, "\\U%08x", c));
    }
  }

  /**
   * Returns whether a character is invisible or changes how other characters are shown: a control
   * character, a line or paragraph separator, a mark that changes the direction of writing, a space
   * other than the ASCII space, a blank letter such as the Hangul filler, or an unassigned code
   * point.
   */
  public static boolean isInvisible(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED ->
          true;
      case Character.SPACE_SEPARATOR -> codePoint != ' ';
      default -> BLANKS.indexOf(codePoint) >= 0 || isVariationSelector(codePoint);
    };
  }

  private static boolean isVariationSelector(int c) {
    return (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xE0100 && c <= 0xE01EF);
  }
}
