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
   * @return at most the first 80 characters, in quotes, control characters escaped
   */
  public static String quote(String text) {
    StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
    for (int i = 0; i < text.length() && i < SHOWN; i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (Character.isISOControl(c)
          || Character.getType(c) == Character.FORMAT
          || Character.getType(c) == Character.LINE_SEPARATOR
          || Character.getType(c) == Character.PARAGRAPH_SEPARATOR) {
        quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append(text.length() > SHOWN ? "…\"" : "\"").toString();
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
