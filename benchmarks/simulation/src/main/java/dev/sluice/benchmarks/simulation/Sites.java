// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.simulation;

import java.util.ArrayList;
import java.util.List;

/** The places in the code where a thread may be stopped, by number. For one thread. */
final class Sites {

  private final List<String> names = new ArrayList<>();

  int add(String name) {
    names.add(name);
    return names.size() - 1;
  }

  /** A class, a method, a line and what is done there. */
  String name(int site) {
    return site < 0 ? "its start" : names.get(site);
  }
}
