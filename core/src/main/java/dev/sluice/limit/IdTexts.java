package dev.sluice.limit;

/**
 * What the id formats share: the bound on an id's length, and how a text that somebody wrote is
 * shown in a message. Pure and thread-safe.
 */
public final class IdTexts {

  private static final int SHOWN = 80;

  private IdTexts() {}

  static void requireLength(String text, String expected) {
    if (text.isEmpty()) {
      throw new InvalidIdException("the id is empty, expected " + expected);
    }
    if (text.length() > IdFormat.MAX_LENGTH) {
      throw new InvalidIdException(
          "the id has %d characters, expected %s of at most %d"
              .formatted(text.length(), expected, IdFormat.MAX_LENGTH));
    }
  }

  /**
   * The text in quotes, printable and short, so that it can't forge a line of a log.
   *
   * @param text what somebody wrote
   * @return its first 80 characters, those that can't be printed as {@code \\u} and four digits
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
        quoted.append("\\u%04x".formatted((int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append(text.length() > SHOWN ? "…\"" : "\"").toString();
  }

  /** Refuses, in strict mode, a text that was not canonical already. */
  static String canonical(String text, String canonical, String what, Strictness strictness) {
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
