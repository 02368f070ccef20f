// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.util.Collection;
import java.util.List;

/** The names that a benchmark was given on its command line. Stateless. */
public final class Names {

  private static final int WRONG_INPUT = 2;

  private Names() {}

  /**
   * Ends the process with 2 where a name is unknown: nothing would be tried for it, and every
   * promise kept.
   *
   * @param benchmark whose names they are
   * @param wanted the names, none for all
   * @param known the names that there are
   */
  public static void requireKnown(String benchmark, List<String> wanted, Collection<String> known) {
    for (String name : wanted) {
      if (!known.contains(name)) {
        System.err.printf(
            "sluice prove %s: found %s, expected %s%n", benchmark, name, String.join(", ", known));
        System.exit(WRONG_INPUT);
      }
    }
  }
}
