package dev.sluice.server.wire;

/** Shows a piece of somebody's input in a message: short, in quotes, in one printable line. */
final class Quoted {

  private static final int SHOWN = 60;

  private Quoted() {}

  static String of(String text) {
    return '"' + printable(text) + '"';
  }

  static String printable(String text) {
    StringBuilder shown = new StringBuilder();
    for (int i = 0; i < text.length() && i < SHOWN; i++) {
      char c = text.charAt(i);
      int type = Character.getType(c);
      boolean hidden =
          Character.isISOControl(c)
              || Character.isSurrogate(c)
              || type == Character.FORMAT
              || type == Character.LINE_SEPARATOR
              || type == Character.PARAGRAPH_SEPARATOR;
      shown.append(hidden ? "\\u%04x".formatted((int) c) : Character.toString(c));
    }
    return shown.append(text.length() > SHOWN ? "…" : "").toString();
  }
}
