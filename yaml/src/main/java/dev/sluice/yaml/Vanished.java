// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import java.util.List;
import java.util.stream.Collectors;

/** Finds the defaults that a reload would take away: a file that was cut looks like that. */
final class Vanished {

  private static final int SHOWN = 10;

  private Vanished() {}

  /** A warning that names them, none where every default is still there. */
  static List<Problem> warnings(Limits before, Limits after, Snapshot files) {
    FileContent file = files.defaults();
    List<String> names =
        before.configured().stream()
            .filter(name -> hasDefault(before, name) && !hasDefault(after, name))
            .map(LimitName::name)
            .toList();
    return file == null || names.isEmpty() ? List.of() : List.of(warning(file, names));
  }

  private static Problem warning(FileContent file, List<String> names) {
    String shown = names.stream().limit(SHOWN).collect(Collectors.joining(", "));
    return new Problem(
        file.file(),
        1,
        1,
        Severity.WARNING,
        "the default of %s%s is gone"
            .formatted(
                shown, names.size() > SHOWN ? " and " + (names.size() - SHOWN) + " more" : ""));
  }

  private static boolean hasDefault(Limits limits, LimitName name) {
    LimitName known = limits.catalogue().find(name.name());
    if (known == null) {
      return false;
    }
    Coverage coverage = limits.coverage(known);
    return coverage == Coverage.LIMITED || coverage == Coverage.UNLIMITED;
  }
}
