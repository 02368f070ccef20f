// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The places in the code where a thread may be stopped, by number. For one thread. */
final class Sites {

  private final List<String> names = new ArrayList<>();
  private int[] hashes = new int[256];

  int add(String name) {
    int site = names.size();
    names.add(name);
    hashes = site < hashes.length ? hashes : Arrays.copyOf(hashes, 2 * hashes.length);
    hashes[site] = name.hashCode();
    return site;
  }

  /** A number that does not depend on the order in which classes are loaded. */
  int hash(int site) {
    return site < 0 ? 0 : hashes[site];
  }

  /** A class, a method, a line and what is done there. */
  String name(int site) {
    return site < 0 ? "its start" : names.get(site);
  }
}
