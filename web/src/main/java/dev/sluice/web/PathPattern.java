// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A pattern for the paths of a rule, such as {@code /login} or {@code /users/{user}/export}. In a
 * pattern, {@code *} stands for any single segment, and a final {@code **} for any number of
 * further segments.
 *
 * <p>A pattern has no percent escapes, since the paths of requests are decoded: {@code /a b} is for
 * {@code /a%20b}. Only a slash within a name is written {@code %2F}, and a percent sign {@code
 * %25}.
 *
 * <p>Empty segments are ignored, so that {@code /login/} and {@code //login} do not bypass a rule
 * on {@code /login}. Immutable and thread-safe.
 */
public final class PathPattern {

  private static final String NAME = "[A-Za-z][A-Za-z0-9_]*";

  /** A decoded path has no escape except {@code %2F}, a slash within a name; %25 writes "%". */
  private static final Pattern ESCAPE = Pattern.compile("%(?!2F|25)[0-9A-Fa-f]{2}");

  private final String text;
  private final List<String> segments;
  private final boolean open;
  private final boolean ignoresCase;
  private final Set<String> variables = new HashSet<>();

  private PathPattern(String text, List<String> segments, boolean open, boolean ignoresCase) {
    this.text = text;
    this.segments = segments;
    this.open = open;
    this.ignoresCase = ignoresCase;
  }

  /**
   * Reads a pattern.
   *
   * @param text the pattern, such as {@code /users/{user}/**}
   * @return the pattern
   * @throws IllegalArgumentException if the text is not a pattern
   */
  public static PathPattern parse(String text) {
    if (!text.startsWith("/")) {
      throw wrong(text, "a path that starts with \"/\"");
    }
    List<String> segments = segments(text);
    boolean open = !segments.isEmpty() && segments.get(segments.size() - 1).equals("**");
    List<String> written = open ? segments.subList(0, segments.size() - 1) : segments;
    List<String> decoded = written.stream().map(one -> one.replace("%25", "%")).toList();
    PathPattern pattern = new PathPattern(text, decoded, open, false);
    for (String segment : written) {
      if (isVariable(segment)) {
        String name = segment.substring(1, segment.length() - 1);
        if (!name.matches(NAME) || !pattern.variables.add(name)) {
          throw wrong(
              text, "each variable once, named by a letter and then letters, digits or \"_\"");
        }
      } else if (!segment.equals("*") && segment.matches(".*[*{}?].*")) {
        throw wrong(text, "\"*\" and {variables} as whole segments, and \"**\" as the last one");
      } else if (ESCAPE.matcher(segment).find()) {
        throw wrong(
            text,
            "decoded characters, such as \"a b\" for \"a%20b\"; a slash within a name is %2F, a percent sign %25");
      }
    }
    return pattern;
  }

  /**
   * Returns this pattern for paths {@linkplain RequestFacts#as in lower case}; the texts of the
   * pattern are converted to lower case too.
   *
   * @return a pattern for lower-case paths, with the same variables
   */
  public PathPattern ignoringCase() {
    List<String> lower = segments.stream().map(one -> isVariable(one) ? one : folded(one)).toList();
    PathPattern pattern = new PathPattern(text, lower, open, true);
    pattern.variables.addAll(variables);
    return pattern;
  }

  /**
   * Returns a text in lower case by Unicode's simple folding, which replaces each character by one
   * character.
   *
   * @param text a path, or a part of a path
   * @return a text for comparisons that ignore case
   */
  public static String folded(String text) {
    if (text.chars().noneMatch(c -> c >= 0x80 || (c >= 'A' && c <= 'Z'))) {
      return text; // nearly all texts are in lower case already
    }
    int[] folded =
        text.codePoints()
            .map(character -> Character.toLowerCase(Character.toUpperCase(character)))
            .toArray();
    return new String(folded, 0, folded.length);
  }

  private static IllegalArgumentException wrong(String text, String expected) {
    return new IllegalArgumentException(
        "path: found \"%s\", expected %s".formatted(text, expected));
  }

  /** Returns the parts of a path between its slashes. */
  static List<String> segments(String path) {
    List<String> segments = new ArrayList<>();
    for (int start = 0; start < path.length(); ) {
      int slash = path.indexOf('/', start);
      int end = slash < 0 ? path.length() : slash;
      if (end > start) {
        segments.add(path.substring(start, end));
      }
      start = end + 1;
    }
    return segments;
  }

  /**
   * Returns the names of the variables.
   *
   * @return the names, without braces
   */
  public Set<String> variables() {
    return Collections.unmodifiableSet(variables);
  }

  /**
   * Returns the first segment that all paths matching this pattern have, for an index of patterns.
   *
   * @return the segment, in lower case for a pattern that ignores case; null if the first segment
   *     can vary or be absent
   */
  public @Nullable String leadingSegment() {
    String first = segments.isEmpty() ? null : segments.get(0);
    return first == null || first.equals("*") || isVariable(first) ? null : first;
  }

  /**
   * Matches each of a request's {@linkplain WebRequest#paths paths} in order, and returns the
   * variables of the first path that matches. {@link Rules} do not stop at the first path that
   * matches: they charge a request for all its paths that match.
   *
   * @param facts the request
   * @return the values of the variables by name, null if no path matches
   */
  public @Nullable Map<String, String> match(RequestFacts facts) {
    for (List<String> path : facts.paths()) {
      Map<String, String> values = match(path);
      if (values != null) {
        return values;
      }
    }
    return null;
  }

  /** Returns the variables' values, null if the path does not match. */
  @Nullable Map<String, String> match(List<String> path) {
    if (open ? path.size() < segments.size() : path.size() != segments.size()) {
      return null;
    }
    Map<String, String> values = variables.isEmpty() ? Map.of() : new HashMap<>();
    for (int i = 0; i < segments.size(); i++) {
      String expected = segments.get(i);
      String found = path.get(i);
      if (isVariable(expected)) {
        values.put(expected.substring(1, expected.length() - 1), found);
      } else if (!expected.equals("*") && !expected.equals(found)) {
        return null;
      }
    }
    return values;
  }

  /**
   * Returns whether this pattern matches every path that another pattern matches.
   *
   * @param other the other pattern
   * @return false if the other pattern matches a path that this pattern does not match
   */
  public boolean covers(PathPattern other) {
    int size = segments.size();
    int otherSize = other.segments.size();
    if (open ? otherSize < size : other.open || otherSize != size) {
      return false;
    }
    for (int i = 0; i < size; i++) {
      String own = segments.get(i);
      String others = other.segments.get(i);
      boolean sameCase = ignoresCase || !other.ignoresCase;
      if (!own.equals("*")
          && !isVariable(own)
          && !(sameCase && own.equals(ignoresCase ? folded(others) : others))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isVariable(String segment) {
    return segment.startsWith("{") && segment.endsWith("}");
  }

  @Override
  public String toString() {
    return text;
  }
}
