// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The domains of a configuration, each in a file of its own. Immutable and thread-safe.
 *
 * @param all in the order of the files
 */
record Domains(List<Domain> all) {

  /**
   * One domain.
   *
   * @param file the file's name, as messages show it
   * @param name what proxies call it, not empty
   * @param branches its descriptors
   */
  record Domain(String file, String name, List<Branch> branches) {}

  /** Null if no file has it. */
  @Nullable Domain find(String name) {
    return all.stream().filter(one -> one.name.equals(name)).findFirst().orElse(null);
  }

  Domains plus(Domains more) {
    List<Domain> both = new ArrayList<>(all);
    both.addAll(more.all);
    return new Domains(List.copyOf(both));
  }
}
