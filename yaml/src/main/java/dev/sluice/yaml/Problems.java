package dev.sluice.yaml;

import dev.sluice.text.SafeText;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Collects the problems of one file. Not thread-safe. */
final class Problems {

  /** A file that is wrong throughout should not fill the memory with messages. */
  static final int MOST = 10_000;

  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Zl}\\p{Zp}]+");
  private static final Pattern KEY = Pattern.compile(".{0,3}|[\\p{L}\\p{N}_. -]{1,64}");
  private static final Pattern NUMBER = Pattern.compile("[-+]?[0-9]{1,80}");

  private final String file;
  private final List<Problem> found = new ArrayList<>();
  private boolean mistaken;

  Problems(String file) {
    this.file = file;
  }

  void mistake(int line, int column, String message) {
    mistaken = true;
    add(line, column, Severity.MISTAKE, message);
  }

  void mistake(Node node, String message) {
    mistake(node.line(), node.column(), message);
  }

  /** A mistake of the file as a whole. */
  void mistake(String message) {
    mistake(1, 1, message);
  }

  void wrong(Node node, String expected) {
    mistake(node, "found " + show(node) + ", expected " + expected);
  }

  /**
   * The same where a list or a map should stand. A text in its place may be anything: the file may
   * be another one than its author thought, such as a list of passwords. It is not shown.
   */
  void wrongKind(Node node, String expected) {
    boolean text =
        node instanceof Node.Scalar scalar
            && !scalar.isNull()
            && !NUMBER.matcher(scalar.text()).matches();
    mistake(node, "found " + (text ? "a text" : show(node)) + ", expected " + expected);
  }

  /** A key as a message shows it: only if it looks like one, for the same reason. */
  static String showKey(Node.Scalar key) {
    return KEY.matcher(key.text()).matches()
        ? SafeText.quote(key.text())
        : "a text of %s characters".formatted(key.text().length());
  }

  void warning(Node node, String message) {
    add(node.line(), node.column(), Severity.WARNING, message);
  }

  private void add(int line, int column, Severity severity, String text) {
    // Parsers quote what they found as it is; nothing in a file may forge a line of a log.
    String message = UNPRINTABLE.matcher(text).replaceAll(" ");
    if (found.size() < MOST) {
      found.add(new Problem(file, line, column, severity, message));
    } else if (found.size() == MOST) {
      found.add(
          new Problem(
              file, line, column, Severity.MISTAKE, "found more problems, which are not listed"));
      mistaken = true;
    }
  }

  boolean mistaken() {
    return mistaken;
  }

  List<Problem> found() {
    return found;
  }

  private static String show(Node node) {
    if (node instanceof Node.Scalar scalar) {
      if (scalar.isNull()) {
        return scalar.text().isEmpty() ? "nothing" : scalar.text();
      }
      String text = SafeText.quote(scalar.text());
      if (scalar.plain()) {
        return NUMBER.matcher(scalar.text()).matches() ? scalar.text() : text;
      }
      return "the text " + text;
    }
    return node instanceof Node.Mapping ? "a map" : "a list";
  }
}
