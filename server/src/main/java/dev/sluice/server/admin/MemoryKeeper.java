// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.limit.Catalogue;
import java.util.function.BooleanSupplier;

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
  boolean alone(BooleanSupplier change) {
    return change.getAsBoolean(); // no other process has it
  }

  @Override
  void save(Kept all, Catalogue names) {
    kept = all;
  }
}
