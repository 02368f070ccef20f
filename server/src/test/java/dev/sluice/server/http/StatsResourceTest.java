// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.server.stats.RateHistory;
import dev.sluice.wire.WireException;
import org.junit.jupiter.api.Test;

final class StatsResourceTest {

  @Test
  void steps_coverTheTimeAskedFor_evenRightAfterTheNewestBegan() {
    assertThat(StatsResource.steps(null)).isZero();
    assertThat(StatsResource.steps("5m")).isEqualTo(2);
    assertThat(StatsResource.steps("5m1s")).isEqualTo(3);
    assertThat(StatsResource.steps("24h")).isEqualTo(24 * 12 + 1).isEqualTo(RateHistory.DAY_STEPS);
    assertThatThrownBy(() -> StatsResource.steps("24h1s")).isInstanceOf(WireException.class);
  }
}
