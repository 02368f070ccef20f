// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A pattern for the values of an entry or a header. Each {@code *} matches any text, also the empty
 * text; {@code \*} is a literal star and {@code \\} a literal backslash.
 *
 * @param pieces the texts before, between and after the stars; a pattern with one piece is a
 *     literal value
 */
public record ValuePattern(List<String> pieces) {

  /** The pattern that matches all values. */
  public static final ValuePattern ANY = new ValuePattern(List.of("", ""));

  /** A character that occurs in no pattern, so that only a pattern's star matches it. */
  private static final String FRESH = "\uffff";

  /**
   * Makes a pattern.
   *
   * @param pieces the texts before, between and after the stars, at least one; copied
   */
  public ValuePattern {
    pieces = List.copyOf(pieces);
  }

  /**
   * Returns a pattern that matches a single value.
   *
   * @param value the value, in which a star has no special meaning
   * @return a pattern without stars
   */
  public static ValuePattern literal(String value) {
    return new ValuePattern(List.of(value));
  }

  /**
   * Returns a pattern in which each star matches any text. A backslash in the pattern has no
   * special meaning.
   *
   * @param value the pattern as text, such as {@code api/*}
   * @return the parsed pattern
   */
  public static ValuePattern ofStars(String value) {
    return new ValuePattern(List.of(value.split("\\*", -1)));
  }

  /** Parses a pattern in the syntax of rules. */
  static ValuePattern parse(String written) {
    List<String> pieces = new ArrayList<>();
    StringBuilder piece = new StringBuilder();
    for (int i = 0; i < written.length(); i++) {
      char c = written.charAt(i);
      char next = i + 1 < written.length() ? written.charAt(i + 1) : ' ';
      if (c == '*') {
        pieces.add(piece.toString());
        piece.setLength(0);
      } else if (c == '\\' && (next == '*' || next == '\\')) {
        piece.append(next);
        i++;
      } else {
        piece.append(c);
      }
    }
    pieces.add(piece.toString());
    return new ValuePattern(pieces);
  }

  /**
   * Returns whether the pattern has a star.
   *
   * @return false if the pattern is a literal value
   */
  public boolean isOpen() {
    return pieces.size() > 1;
  }

  String value() {
    return pieces.get(0);
  }

  /**
   * Returns whether the pattern matches a value.
   *
   * @param value the value of an entry or a header
   * @return true if the whole value matches
   */
  public boolean matches(String value) {
    int last = pieces.size() - 1;
    String begin = pieces.get(0);
    String end = pieces.get(last);
    if (last == 0) {
      return value.equals(begin);
    }
    int to = value.length() - end.length();
    int from = begin.length();
    if (from > to || !value.startsWith(begin) || !value.endsWith(end)) {
      return false;
    }
    for (int i = 1; i < last; i++) {
      String piece = pieces.get(i);
      int at = value.indexOf(piece, from);
      from = at + piece.length();
      if (at < 0 || from > to) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether the pattern matches every value that another pattern matches.
   *
   * @param other the other pattern
   * @return true if this pattern matches each value that the other pattern matches
   */
  public boolean covers(ValuePattern other) {
    return matches(other.sample());
  }

  /**
   * Returns one value that this pattern matches. Another pattern matches the sample value if and
   * only if the other pattern {@linkplain #covers covers} this pattern.
   *
   * @return this pattern with each star replaced by a character that occurs in no pattern
   */
  public String sample() {
    return String.join(FRESH, pieces);
  }

  /**
   * Returns whether there is a value that both patterns match.
   *
   * @param other the other pattern
   * @return true if at least one value matches both patterns
   */
  public boolean meets(ValuePattern other) {
    if (!isOpen() || !other.isOpen()) {
      return isOpen() ? matches(other.value()) : other.matches(value());
    }
    // A star of one pattern can match everything between the first and the last star of the other
    // pattern. Therefore at least one value matches both patterns if the texts before the first
    // stars agree, and the texts after the last stars agree.
    String begin = pieces.get(0);
    String its = other.pieces.get(0);
    String end = pieces.get(pieces.size() - 1);
    String itsEnd = other.pieces.get(other.pieces.size() - 1);
    return (begin.startsWith(its) || its.startsWith(begin))
        && (end.endsWith(itsEnd) || itsEnd.endsWith(end));
  }

  /** Returns the pattern in the syntax of rules. */
  @Override
  public String toString() {
    return pieces.stream()
        .map(piece -> piece.replace("\\", "\\\\").replace("*", "\\*"))
        .collect(Collectors.joining("*"));
  }
}
