// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.text.SafeText;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Collects the problems of one file, so that all of them are told in one run. Messages are made
 * printable. Not thread-safe.
 */
public final class Problems {

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

  /**
   * Adds a mistake: nothing is loaded while it stands.
   *
   * @param node where it stands
   * @param message what was found, and what was expected
   */
  public void mistake(Node node, String message) {
    mistake(node.line(), node.column(), message);
  }

  /** A mistake of the file as a whole. */
  void mistake(String message) {
    mistake(1, 1, message);
  }

  /**
   * Adds the mistake that a node is not what it should be; shows the node.
   *
   * @param node what was found
   * @param expected what should stand there
   */
  public void wrong(Node node, String expected) {
    mistake(node, "found " + show(node) + ", expected " + expected);
  }

  /**
   * Adds the error that a node is neither a list nor a map. A text in its place may be anything:
   * the file may be another one than its author thought, such as a list of passwords. It is not
   * shown.
   *
   * @param node what was found
   * @param expected what should stand there
   */
  public void wrongKind(Node node, String expected) {
    boolean text =
        node instanceof Node.Scalar scalar
            && !scalar.isNull()
            && !NUMBER.matcher(scalar.text()).matches();
    mistake(node, "found " + (text ? "a text" : show(node)) + ", expected " + expected);
  }

  /**
   * Returns a key as a message shows it: only if it looks like one, for the same reason.
   *
   * @param key the key
   * @return its text in quotes, or its length
   */
  public static String showKey(Node.Scalar key) {
    return KEY.matcher(key.text()).matches()
        ? SafeText.quote(key.text())
        : "a text of %s characters".formatted(key.text().length());
  }

  /**
   * Adds a warning: the file loads, but probably does not say what its author meant.
   *
   * @param node where it stands
   * @param message what was found, and what was expected
   */
  public void warning(Node node, String message) {
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

  /**
   * Whether there is a mistake.
   *
   * @return false if there are warnings at most
   */
  public boolean mistaken() {
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
