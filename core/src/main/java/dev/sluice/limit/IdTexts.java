package dev.sluice.limit;

import java.util.Locale;

/**
 * What the id formats share: the bound on an id's length, and how one is shown in a message. For
 * those who write an {@link IdFormat} of their own.
 *
 * <p>Pure and thread-safe.
 */
public final class IdTexts {

  private static final int SHOWN = 80;

  /** Letters and marks that are drawn as nothing: joiners, fillers, a braille cell without dots. */
  private static final String BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0";

  private IdTexts() {}

  /**
   * Refuses an id that is empty, or longer than {@link IdFormat#MAX_LENGTH}.
   *
   * @param text the id as somebody wrote it
   * @param expected what it should be, for the message
   * @throws InvalidIdException if it is
   */
  public static void requireLength(String text, String expected) {
    if (text.isEmpty()) {
      throw new InvalidIdException("the id is empty, expected " + expected);
    }
    if (text.length() > IdFormat.MAX_LENGTH) {
      throw new InvalidIdException(
          "the id has %s characters, expected %s of at most %s"
              .formatted(text.length(), expected, IdFormat.MAX_LENGTH));
    }
  }

  /**
   * A text in quotes, printable and short, so that it can't forge a line of a log.
   *
   * @param text anything that came from outside
   * @return at most the first 80 characters, in quotes; quotes, backslashes and what {@link
   *     #isInvisible} are escaped
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
   * A text without what {@link #isInvisible}, for messages that people read: it can neither forge a
   * line of a log nor reorder one.
   *
   * @param text anything that came from outside
   * @return the text, what is invisible escaped as {@code \u202e}
   */
  public static String printable(String text) {
    if (text.codePoints().noneMatch(IdTexts::isInvisible)) {
      return text;
    }
    StringBuilder printable = new StringBuilder(text.length() + 16);
    text.codePoints().forEach(c -> append(c, printable));
    return printable.toString();
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
   * Whether a character shows nothing of its own, or changes how others are shown: controls, line
   * and paragraph separators, marks that reverse the direction of writing, spaces other than the
   * plain one, fillers, and what Unicode has not assigned.
   *
   * @param codePoint the character
   * @return true if it should not stand in a log as it is
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

  /**
   * The canonical text; refuses, in strict mode, a text that was not canonical already.
   *
   * @param text the id as somebody wrote it
   * @param canonical its canonical text
   * @param what the format's name, for the message
   * @param strictness whether the two may differ
   * @return {@code canonical}
   * @throws InvalidIdException if they differ and must not
   */
  public static String canonical(
      String text, String canonical, String what, Strictness strictness) {
    if (canonical.equals(text)) {
      return text;
    }
    if (strictness == Strictness.STRICT) {
      throw new InvalidIdException(
          "invalid %s, %s is not in canonical form (%s)"
              .formatted(what, quote(text), quote(canonical)));
    }
    return canonical;
  }
}
