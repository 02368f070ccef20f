package dev.sluice.postgres;

import dev.sluice.limit.LimitOverride;
import java.util.List;

/**
 * What a read of the table brought.
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
}
