// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown if limit files cannot be loaded. Lists every mistake of all files. An operator must
 * correct the files.
 */
public final class LimitFilesException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient List<Problem> problems;

  /**
   * Makes the exception.
   *
   * @param problems the mistakes, at least one
   */
  public LimitFilesException(List<Problem> problems) {
    super(problems.stream().map(Problem::toString).collect(Collectors.joining("\n")));
    this.problems = List.copyOf(problems);
  }

  /**
   * Returns the mistakes.
   *
   * @return the mistakes, at least one, sorted by file, line and column
   */
  public List<Problem> problems() {
    return problems;
  }
}
