// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The values of an entry or a header that a rule is for. Each {@code *} stands for any text, also
 * for none; {@code \*} is a star and {@code \\} a backslash. Immutable and thread-safe.
 *
 * @param pieces the texts before, between and behind the stars; a single one is the only value
 */
public record ValuePattern(List<String> pieces) {

  /** The pattern of all values. */
  public static final ValuePattern ANY = new ValuePattern(List.of("", ""));

  /** No pattern has this character, so only a star matches it. */
  private static final String FRESH = "\uffff";

  /**
   * Makes a pattern.
   *
   * @param pieces copied; at least one
   */
  public ValuePattern {
    pieces = List.copyOf(pieces);
  }

  /**
   * Returns the pattern of a single value.
   *
   * @param value the value, whose stars are characters like others
   * @return the pattern
   */
  public static ValuePattern literal(String value) {
    return new ValuePattern(List.of(value));
  }

  /**
   * Returns the pattern of a value whose stars stand for any text, without escapes.
   *
   * @param value such as {@code api/*}
   * @return the pattern
   */
  public static ValuePattern ofStars(String value) {
    return new ValuePattern(List.of(value.split("\\*", -1)));
  }

  /** Reads a pattern as a rule has it. */
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
   * Returns whether it is for more than one value.
   *
   * @return false for a single value
   */
  public boolean isOpen() {
    return pieces.size() > 1;
  }

  /** The single value of a pattern that is not open. */
  String value() {
    return pieces.get(0);
  }

  /**
   * Returns whether it is for a value.
   *
   * @param value the value
   * @return whether it is
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
   * Returns whether it is for each value of another pattern.
   *
   * @param other the other pattern
   * @return whether it is
   */
  public boolean covers(ValuePattern other) {
    return matches(String.join(FRESH, other.pieces));
  }

  /**
   * Returns whether there is a value that both patterns are for.
   *
   * @param other the other pattern
   * @return whether there is one
   */
  public boolean meets(ValuePattern other) {
    if (!isOpen() || !other.isOpen()) {
      return isOpen() ? matches(other.value()) : other.matches(value());
    }
    // What stands between the first and the last star of one can stand in a star of the other.
    String begin = pieces.get(0);
    String its = other.pieces.get(0);
    String end = pieces.get(pieces.size() - 1);
    String itsEnd = other.pieces.get(other.pieces.size() - 1);
    return (begin.startsWith(its) || its.startsWith(begin))
        && (end.endsWith(itsEnd) || itsEnd.endsWith(end));
  }

  /** As a rule has it. */
  @Override
  public String toString() {
    return pieces.stream()
        .map(piece -> piece.replace("\\", "\\\\").replace("*", "\\*"))
        .collect(Collectors.joining("*"));
  }
}
