// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitOverride;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * The content of the table at one read.
 *
 * @param overrides the overrides of valid enabled rows, including overrides that have ended
 * @param bad the enabled rows that are not valid overrides
 */
public record TableContent(List<LimitOverride> overrides, List<BadRow> bad) {

  /**
   * Copies the lists.
   *
   * @param overrides the overrides of valid enabled rows; the list is copied
   * @param bad the enabled rows that are not valid overrides; the list is copied
   */
  public TableContent {
    overrides = List.copyOf(overrides);
    bad = List.copyOf(bad);
  }

  /**
   * Returns the overrides that have not ended.
   *
   * @param now the current time
   * @return the overrides in force
   */
  public List<LimitOverride> living(Instant now) {
    return overrides.stream().filter(one -> !one.isEndedAt(now)).toList();
  }

  /** Separates the valid overrides of the catalogue's limits from the other rows. */
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
