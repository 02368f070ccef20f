// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitOverride;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** */
public record TableContent(List<LimitOverride> overrides, List<BadRow> bad) {

  /** Copies the lists. */
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
