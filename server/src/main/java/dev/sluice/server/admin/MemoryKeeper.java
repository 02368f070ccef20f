// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.limit.Catalogue;

/** Keeps nothing beyond the life of the process. */
final class MemoryKeeper extends ListKeeper {

  private Kept kept = Kept.NOTHING;

  @Override
  public String place() {
    return "memory";
  }

  @Override
  public boolean hasChanged() {
    return false;
  }

  @Override
  public Kept load(Catalogue names) {
    return kept;
  }

  @Override
  void save(Kept all, Catalogue names) {
    kept = all;
  }
}
