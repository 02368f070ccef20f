// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The recipe "at most 10 in any minute" of docs/limit-files.md, against a client that comes when it
 * may.
 */
final class StrictLimitTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);

  @ParameterizedTest
  @CsvSource({"1, 9, 10", "5, 5, 10", "1, 6, 7", "3, 4, 7", "10, 10, 20", "10, 5, 15"})
  void anyMinute_letsThroughBurstAndCount_andNoMore(long burst, long count, int most) {
    ManualTime time = new ManualTime();
    Limiter limiter =
        Limiter.of(
            Limits.builder(Catalogue.samples())
                .limit("LoginsPerIPAddress", Quota.burst(burst).refill(count, MINUTE))
                .build(),
            BucketStore.inMemory(time));
    Deque<Instant> lastMinute = new ArrayDeque<>();
    int worst = 0;
    for (int attempt = 0; attempt < 1_000; attempt++) {
      var decision = limiter.spend("LoginsPerIPAddress", "192.0.2.7");
      if (decision.allowed()) {
        Instant now = decision.decidedAt();
        lastMinute.add(now);
        // Both ends count: a grant exactly a minute ago is still in the window.
        while (lastMinute.element().isBefore(now.minus(MINUTE))) {
          lastMinute.remove();
        }
        worst = Math.max(worst, lastMinute.size());
      }
      time.advance(decision.denied() ? decision.retryIn() : Duration.ZERO);
    }
    assertThat(worst).isEqualTo(most);
  }
}
