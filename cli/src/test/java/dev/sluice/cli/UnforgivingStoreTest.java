// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.cli.ActCommand.UnforgivingStore;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UnforgivingStoreTest {

  private final BucketStore memory = BucketStore.inMemory(() -> 1_000_000_000_000L);

  private static Limits hourly(long count) {
    return Limits.builder(Catalogue.of(LimitName.builder(1, "Calls").build()))
        .limit("Calls", Quota.burst(10).refill(count, Duration.ofHours(1)))
        .build();
  }

  /** A check tells what the command's own spend would. */
  @Test
  void debt_isToldAsItIs_byACheckAndBySpendsAlike() {
    assertThat(Limiter.of(hourly(10), memory).spend("Calls", "a", 10).allowed()).isTrue();
    Limiter command = Limiter.of(hourly(20), new UnforgivingStore(memory));
    for (Decision decision :
        List.of(
            command.check("Calls", "a"),
            command.spend("Calls", "a"),
            command.spend("Calls", "a"))) {
      assertThat(decision.denied()).isTrue();
      assertThat(decision.retryIn()).isEqualTo(Duration.ofMinutes(33));
    }
  }
}
