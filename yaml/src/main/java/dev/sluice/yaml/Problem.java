// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.Comparator;

/**
 * One thing that is wrong or doubtful in a limit file.
 *
 * <p>Sorted by file, line and column. Immutable and thread-safe.
 *
 * @param file the file as the caller named it
 * @param line from 1; 1 where the whole file is meant
 * @param column in characters, from 1
 * @param severity whether it stops a load
 * @param message what was found, what was expected; one line
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

  /** As compilers print it: {@code file:line:column: message}, a warning marked as such. */
  @Override
  public String toString() {
    return "%s:%s:%s: %s%s"
        .formatted(file, line, column, severity == Severity.WARNING ? "warning: " : "", message);
  }
}
