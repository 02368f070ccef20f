// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitOverride;
import java.util.ArrayList;
import java.util.List;

/**
 * The content of the table at one read.
 *
 * @param overrides the overrides that hold
 * @param bad the enabled rows that can't be overrides
 */
public record TableContent(List<LimitOverride> overrides, List<BadRow> bad) {

  /**
   * Takes copies.
   *
   * @param overrides the overrides that hold
   * @param bad the enabled rows that can't be overrides
   */
  public TableContent {
    overrides = List.copyOf(overrides);
    bad = List.copyOf(bad);
  }

  /** Tells the rows that can be overrides of the names that there are from those that can't. */
  static TableContent of(List<OverrideRow> rows, Catalogue catalogue) {
    List<LimitOverride> overrides = new ArrayList<>(rows.size());
    List<BadRow> bad = new ArrayList<>();
    for (OverrideRow row : rows) {
      try {
        overrides.add(row.check(catalogue));
      } catch (IllegalArgumentException e) {
        bad.add(BadRow.of(row.bucketKey(), e));
      }
    }
    return new TableContent(overrides, bad);
  }
}
