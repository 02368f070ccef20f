// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The places in the code where the scheduler may stop a thread, by number. For one thread. */
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

  /** Returns a hash of a place that does not depend on the order in which classes are loaded. */
  int hash(int site) {
    return site < 0 ? 0 : hashes[site];
  }

  /** Describes a place: class, method, line and the access. */
  String name(int site) {
    return site < 0 ? "its start" : names.get(site);
  }
}
