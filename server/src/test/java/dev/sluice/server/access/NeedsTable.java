// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.server.access.Needs.Permission;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The table of {@link Needs}, for tests of other packages. */
public final class NeedsTable {

  private NeedsTable() {}

  /** The paths of all routes. */
  public static Set<String> paths() {
    return Needs.ROUTES.stream()
        .map(Needs.Route::path)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Whether nobody may ask there without a role. */
  public static boolean needsARole(String path) {
    return Needs.ofRoute(path, true) != Permission.NOTHING;
  }

  /** The names of all commands. */
  public static Set<String> commands() {
    return Needs.COMMANDS.stream()
        .map(Needs.Command::name)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The table as the docs print it. */
  public static String markdown() {
    return Needs.markdown();
  }
}
