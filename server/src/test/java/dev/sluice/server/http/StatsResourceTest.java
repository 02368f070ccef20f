// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.micrometer.StoreMetrics;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.store.BucketStore.Observer.State;
import dev.sluice.wire.WireException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class StatsResourceTest {

  @ParameterizedTest
  @ValueSource(strings = {"redis", "postgres", "mariadb"})
  void breakers_areThoseOfTheStore_whateverItsKind(String kind) {
    MeterRegistry meters = new SimpleMeterRegistry();
    StoreMetrics watch = new StoreMetrics(meters, kind);
    watch.changed(kind + "-1", State.DOWN, "it does not answer");
    assertThat(StatsResource.breakers(meters))
        .singleElement()
        .satisfies(
            up -> {
              assertThat(up.getId().getTag("server")).isEqualTo(kind + "-1");
              assertThat(up.value()).isZero();
            });
  }

  @Test
  void steps_coverTheTimeAskedFor_evenRightAfterTheNewestBegan() {
    assertThat(StatsResource.steps(null)).isZero();
    assertThat(StatsResource.steps("5m")).isEqualTo(2);
    assertThat(StatsResource.steps("5m1s")).isEqualTo(3);
    assertThat(StatsResource.steps("24h")).isEqualTo(24 * 12 + 1).isEqualTo(RateHistory.DAY_STEPS);
    assertThatThrownBy(() -> StatsResource.steps("24h1s")).isInstanceOf(WireException.class);
  }
}
