// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;
import java.util.List;

/**
 * The settings that were made at run time. Immutable.
 *
 * @param overrides each id of a limit once
 * @param penalties each id of a limit once
 */
record Kept(List<LimitOverride> overrides, List<Penalty> penalties) {

  static final Kept NOTHING = new Kept(List.of(), List.of());

  Kept {
    overrides = List.copyOf(overrides);
    penalties = List.copyOf(penalties);
  }
}
