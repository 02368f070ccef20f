// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds out whether a reload would drop all defaults, or all overrides, that a file held. */
final class EmptyReload {

  private EmptyReload() {}

  static List<Problem> problems(Limits before, Limits after, Snapshot files) {
    List<Problem> problems = new ArrayList<>();
    report(files.defaults(), "defaults", defaults(before), defaults(after), problems);
    report(files.overrides(), "overrides", overrides(before), overrides(after), problems);
    return problems;
  }

  private static void report(
      @Nullable FileContent file, String what, long before, long after, List<Problem> problems) {
    if (file != null && before > 0 && after == 0) {
      problems.add(
          new Problem(
              file.file(),
              1,
              1,
              Severity.MISTAKE,
              "there are no %s, so the limits stay as they are, with %s; restart to do without them"
                  .formatted(what, before)));
    }
  }

  private static long defaults(Limits limits) {
    return limits.configured().stream().filter(limits::hasDefault).count();
  }

  private static long overrides(Limits limits) {
    long count = 0;
    for (LimitName name : limits.catalogue().names()) {
      count += limits.overridesOf(name).size();
    }
    return count;
  }
}
