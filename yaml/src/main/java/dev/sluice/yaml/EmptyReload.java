// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds out whether a reload would drop all defaults that a file held. A file of overrides says on
 * purpose that there are none ({@code []}); an empty one is a mistake.
 */
final class EmptyReload {

  private EmptyReload() {}

  static List<Problem> problems(Limits before, Limits after, Snapshot files) {
    List<Problem> problems = new ArrayList<>();
    long had = defaults(before);
    if (had > 0 && defaults(after) == 0) {
      problems.add(
          new Problem(
              files.firstFile(),
              1,
              1,
              Severity.MISTAKE,
              "found no defaults, so the current ones (%s) stay in force; to remove them, restart"
                  .formatted(had)));
    }
    return problems;
  }

  private static long defaults(Limits limits) {
    return limits.configured().stream().filter(limits::hasDefault).count();
  }
}
