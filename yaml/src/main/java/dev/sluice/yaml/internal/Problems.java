// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.Severity;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/*
 * A configured path can lead to the wrong file, for example a list of passwords. Messages about a
 * file appear in logs and can be read by everybody over HTTP. So a message quotes the file's text
 * only if the file is recognized as a Sluice file: it contains the name of a limit, or a map with
 * several known fields. Whether a file is recognized is known only after the whole file was read,
 * so each problem that quotes text has a second message without the text. An unknown key is also
 * quoted if its map has one known field, because the keys of a map with a known field are not
 * secrets.
 */
/**
 * Collects all problems of one file, so that one run reports all of them. Replaces unprintable
 * characters in messages. Not thread-safe.
 */
public final class Problems {

  /**
   * The largest number of mistakes that are kept if a file is completely wrong, and the largest
   * number of warnings.
   */
  public static final int MOST = 10_000;

  /** Matches messages that quote a text, or show a number of four or more digits. */
  private static final Pattern SHOWN_TEXT = Pattern.compile("\"|[0-9]{4}");

  private static final int FIELDS_TO_RECOGNIZE = 2;
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cc}\\p{Zl}\\p{Zp}]+");
  private static final Pattern KEY = Pattern.compile(".{0,3}|[\\p{L}\\p{N}_. -]{1,64}");
  private static final Pattern NUMBER = Pattern.compile("[-+]?[0-9]{1,80}");

  private final String file;
  private final @Nullable IntFunction<String> places;
  private final List<Told> found = new ArrayList<>();
  private final Map<Severity, Integer> counts = new EnumMap<>(Severity.class);
  private boolean mistaken;
  private boolean recognized;

  /**
   * A problem with two texts: one can quote the file, and one does not.
   *
   * @param problem the problem, which can quote text of the file
   * @param withoutText the same problem without text of the file; null if the problem quotes no
   *     text
   */
  private record Told(Problem problem, @Nullable Problem withoutText) {}

  public Problems(String file) {
    this(file, null);
  }

  /**
   * Makes a collector.
   *
   * @param places for properties, returns the name of a property by its line number; null for a
   *     file
   */
  public Problems(String file, @Nullable IntFunction<String> places) {
    this.file = file;
    this.places = places;
  }

  /** Returns a node's line; a message about another file also shows the node's file name. */
  public String place(Node node, Problems message) {
    if (places != null) {
      return places.apply(node.line());
    }
    return (message == this ? "line " : file + ":") + node.line();
  }

  public String place(Node node) {
    return file + ":" + node.line();
  }

  public String file() {
    return file;
  }

  /**
   * Allows messages to quote text of the file. Call this method if the file is recognized as a
   * Sluice file, or if only the person who named the file sees the messages.
   */
  public void recognized() {
    recognized = true;
  }

  /**
   * Recognizes the file if at least two fields of a map, and at least half of its fields, are
   * known. Call this method for each map of the file.
   *
   * @param map the map
   * @param known the fields that the map may have
   */
  public void recognize(Node.Mapping map, Collection<String> known) {
    long hits = map.entries().stream().filter(one -> known.contains(one.key().text())).count();
    recognized |= hits >= FIELDS_TO_RECOGNIZE && hits >= map.entries().size() - hits;
  }

  /** Adds a mistake whose message quotes no text of the file. */
  void mistake(int line, int column, String message) {
    mistake(line, column, message, null);
  }

  /**
   * Adds a mistake that can quote text of the file.
   *
   * @param withoutText the message if the file is not recognized as a Sluice file
   */
  void mistake(int line, int column, String message, @Nullable String withoutText) {
    mistaken = true;
    add(line, column, Severity.MISTAKE, message, withoutText);
  }

  /**
   * Adds a mistake, which prevents loading. The message can quote text of the file.
   *
   * @param node the node with the mistake
   * @param message what was found, and what was expected
   */
  public void mistake(Node node, String message) {
    String withoutText =
        "found %s that does not belong here; it is not shown, because this may be the wrong file"
            .formatted(size(node));
    boolean showsText = SHOWN_TEXT.matcher(message).find();
    mistake(node.line(), node.column(), message, showsText ? withoutText : null);
  }

  /** Adds a mistake in a node. The message quotes no text of the file. */
  public void mistakeWithoutText(Node node, String message) {
    mistake(node.line(), node.column(), message, null);
  }

  /**
   * Adds the mistake that a key is unknown. Quotes the key if the key resembles a known key, or if
   * the map also has a known key.
   *
   * @param key the unknown key
   * @param message what was found and expected, with one {@code %s} for the key
   * @param map the map that has the key
   * @param known the keys that the map may have
   */
  public void unknownKey(
      Node.Scalar key, String message, Node.Mapping map, Collection<String> known) {
    boolean isOurs = map.entries().stream().anyMatch(one -> known.contains(one.key().text()));
    unknownKey(key, message, known, suggestion(key, known), isOurs);
  }

  /** Returns "did you mean" with the nearest known key; empty after many problems. */
  public String suggestion(Node.Scalar key, Collection<String> known) {
    return found.size() < MOST ? Suggestion.didYouMean(key.text(), known) : "";
  }

  /** Adds the mistake that a key is unknown, with a suggestion from the caller. */
  public void unknownKey(
      Node.Scalar key, String message, Collection<String> known, String suggestion) {
    unknownKey(key, message, known, suggestion, false);
  }

  private void unknownKey(
      Node.Scalar key,
      String message,
      Collection<String> known,
      String suggestion,
      boolean isShown) {
    String meant = suggestion.isEmpty() ? sharingWords(key.text(), known) : suggestion;
    String shown = message.replace("%s", showKey(key)) + meant;
    String hidden = message.replace("%s", "(not shown, because this may be the wrong file)");
    boolean mayHide = meant.isEmpty() && !isShown;
    mistake(key.line(), key.column(), shown, mayHide ? hidden : null);
  }

  /** Suggests a known key with more or fewer words, such as tokens for tokens-file. */
  private static String sharingWords(String key, Collection<String> known) {
    return known.stream()
        .filter(one -> key.startsWith(one + "-") || one.startsWith(key + "-"))
        .min(
            Comparator.comparingInt((String one) -> Math.abs(one.length() - key.length()))
                .thenComparing(Comparator.naturalOrder()))
        .map("; did you mean \"%s\"?"::formatted)
        .orElse("");
  }

  /** Adds a mistake in the whole file, at line 1. */
  public void mistake(String message) {
    mistake(1, 1, message);
  }

  /**
   * Adds the mistake "found X, expected Y", with the text of the node as X.
   *
   * @param node the wrong node
   * @param expected what was expected
   */
  public void wrong(Node node, String expected) {
    String end = ", expected " + expected;
    mistake(node.line(), node.column(), "found " + show(node) + end, "found " + size(node) + end);
  }

  /**
   * Adds the mistake that a node is not the expected list or map. The node's text is not quoted,
   * since the file can be the wrong file, such as a list of passwords.
   *
   * @param node the wrong node
   * @param expected what was expected
   */
  public void wrongKind(Node node, String expected) {
    String end = ", expected " + expected;
    if (node instanceof Node.Scalar scalar && !scalar.isNull()) {
      String number = "found " + scalar.text();
      String text = "found a text" + end;
      boolean isNumber = NUMBER.matcher(scalar.text()).matches();
      boolean isShort = isNumber && !SHOWN_TEXT.matcher(number).find();
      mistake(node.line(), node.column(), isNumber ? number + end : text, isShort ? null : text);
    } else {
      mistakeWithoutText(node, "found " + show(node) + end);
    }
  }

  /**
   * Returns a key as messages show it. The key's text is quoted only if it has the form of a key.
   *
   * @param key the key
   * @return the key's text in quotes, or the length of the text
   */
  public static String showKey(Node.Scalar key) {
    return KEY.matcher(key.text()).matches() ? SafeText.quote(key.text()) : size(key);
  }

  /** Describes a node without its text. */
  private static String size(Node node) {
    return node instanceof Node.Scalar scalar && !scalar.isNull()
        ? "a text of %s character%s"
            .formatted(scalar.text().length(), scalar.text().length() == 1 ? "" : "s")
        : show(node);
  }

  /**
   * Adds a warning. The file is loaded, but its content is probably not what its author intended.
   *
   * @param node the node with the problem
   * @param message what was found, and what was expected
   */
  public void warning(Node node, String message) {
    add(node.line(), node.column(), Severity.WARNING, message, null);
  }

  private void add(
      int line, int column, Severity severity, String text, @Nullable String withoutText) {
    int count = counts.merge(severity, 1, Integer::sum);
    if (count <= MOST) {
      found.add(
          new Told(
              problem(line, column, severity, text),
              withoutText == null ? null : problem(line, column, severity, withoutText)));
    } else if (count == MOST + 1) {
      String more = "found more problems, which are not listed";
      found.add(new Told(problem(line, column, severity, more), null));
    }
  }

  /** Creates a problem. A file cannot forge log lines with unprintable characters. */
  private Problem problem(int line, int column, Severity severity, String text) {
    return new Problem(file, line, column, severity, UNPRINTABLE.matcher(text).replaceAll(" "));
  }

  /**
   * Reads a file that is embedded as a text in this file, as in a Kubernetes ConfigMap. Problems of
   * the embedded file show the embedded file's name and lines. YAML aliases are allowed in the
   * embedded file.
   *
   * @param <T> the type of the result
   * @param name the name of the embedded file, as messages show it
   * @param text the content
   * @param reader reads the content and adds its problems; returns null after a mistake
   * @return the reader's result; null after a mistake
   */
  public <T> @Nullable T embedded(
      String name, String text, BiFunction<Node, Problems, @Nullable T> reader) {
    Problems own = new Problems(name);
    NodeReader.Content content = NodeReader.read(text, true, own);
    Node root = content.root();
    if (root == null && !own.mistaken) {
      own.mistake("found an empty file");
    }
    T read = root == null ? null : reader.apply(root, own);
    mistaken |= own.mistaken;
    found.addAll(own.found);
    return own.mistaken ? null : read;
  }

  /**
   * Returns whether a mistake was added.
   *
   * @return true if there is at least one mistake; false if there are only warnings or no problems
   */
  public boolean mistaken() {
    return mistaken;
  }

  /** Returns all problems. */
  public List<Problem> found() {
    List<Problem> shown = new ArrayList<>(found.size());
    for (Told one : found) {
      Problem hidden = one.withoutText;
      shown.add(recognized || hidden == null ? one.problem : hidden);
    }
    return shown;
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
