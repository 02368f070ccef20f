// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Seeds;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The lab's GCRA is the limiter that users have, not another one like it. */
final class ProductGcraTest {

  @Test
  void decisions_areThoseOfTheLimiter_onRandomTraffic() {
    Seeds.run(
        100,
        random -> {
          int burst = 1 + random.nextInt(20);
          Quota quota = Quota.of(burst, 1 + random.nextInt(20), Duration.ofSeconds(7));
          ManualTime time = new ManualTime(0);
          Limiter limiter =
              Limiter.of(
                  Limits.builder(Catalogue.samples()).limit("ApiCallsPerKey", quota).build(),
                  BucketStore.inMemory(time));
          SimulatedLimiter lab = Algorithm.GCRA.start(quota, Drip.HEALTHY);
          for (int i = 0; i < 500; i++) {
            time.advanceNanos((long) (random.nextDouble() * 3 * quota.intervalNanos()));
            int bucket = random.nextInt(3);
            long cost = random.nextInt(burst + 1);
            Decision expected = limiter.spend("ApiCallsPerKey", "key-" + bucket, cost);
            Verdict verdict = lab.decide(bucket, cost, time.nanos());
            assertThat(verdict.admitted()).isEqualTo(expected.allowed());
            assertThat(verdict.retryAfterNanos())
                .isEqualTo(expected.allowed() ? 0 : expected.retryInNanos());
            assertThat((long) (burst - verdict.level() + 1e-9)).isEqualTo(expected.remaining());
          }
        });
  }
}
