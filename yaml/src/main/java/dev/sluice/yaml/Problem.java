// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.Comparator;

/**
 * A mistake or a warning about a place in a limit file. Problems are ordered by file, line and
 * column. Immutable and thread-safe.
 *
 * @param file the file as the caller named it
 * @param line the line, from 1; always 1 for a problem with the whole file
 * @param column the column in characters, from 1
 * @param severity whether the problem prevents a load
 * @param message one line of text with what was found and what was expected
 */
public record Problem(String file, int line, int column, Severity severity, String message)
    implements Comparable<Problem> {

  private static final Comparator<Problem> ORDER =
      Comparator.comparing(Problem::file)
          .thenComparingInt(Problem::line)
          .thenComparingInt(Problem::column)
          .thenComparing(Problem::severity)
          .thenComparing(Problem::message);

  @Override
  public int compareTo(Problem other) {
    return ORDER.compare(this, other);
  }

  /** Formats the problem as {@code file:line:column: message}, with "warning:" for a warning. */
  @Override
  public String toString() {
    return "%s:%s:%s: %s%s"
        .formatted(file, line, column, severity == Severity.WARNING ? "warning: " : "", message);
  }
}
