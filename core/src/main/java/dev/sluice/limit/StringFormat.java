package dev.sluice.limit;

/** Any text, taken as it is. What could be written in two ways as bytes is refused. */
final class StringFormat implements IdFormat {

  static final StringFormat INSTANCE = new StringFormat();

  private StringFormat() {}

  @Override
  public String name() {
    return "string";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdTexts.requireLength(text, "a text");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c == 0x7f) {
        throw new InvalidIdException(
            "invalid string, %s has the control character U+%04X at position %d"
                .formatted(IdTexts.quote(text), (int) c, i + 1));
      }
      if (Character.isSurrogate(c)) {
        // Lone surrogates all become "?" in UTF-8: different ids would share a bucket.
        if (i + 1 == text.length() || !Character.isSurrogatePair(c, text.charAt(i + 1))) {
          throw new InvalidIdException(
              "invalid string, found half of a surrogate pair at position %d, expected Unicode text"
                  .formatted(i + 1));
        }
        i++;
      }
    }
    return text;
  }

  @Override
  public boolean isCanonical(byte[] ascii, int length) {
    for (int i = 0; i < length; i++) {
      if (ascii[i] < ' ' || ascii[i] == 0x7f) {
        return false;
      }
    }
    return length > 0 && length <= MAX_LENGTH;
  }
}
