package dev.sluice.limit;

import dev.sluice.text.SafeText;

/**
 * Rules that id formats share: the bound on an id's length, and the refusal of an id that is not
 * canonical. For authors of an {@link IdFormat}.
 *
 * <p>Pure and thread-safe.
 */
public final class IdTexts {

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
              .formatted(what, SafeText.quote(text), SafeText.quote(canonical)));
    }
    return canonical;
  }
}
