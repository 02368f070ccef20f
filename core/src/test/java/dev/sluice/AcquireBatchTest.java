// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a batch that may wait says of its parts. */
class AcquireBatchTest {

  private static final long START = 1_700_000_000_000_000_000L;
  private static final LimitName FIRST = name(1, "First");
  private static final LimitName SECOND = name(2, "Second");

  private static LimitName name(int number, String name) {
    return LimitName.builder(number, name).longestWait(Duration.ofHours(1)).build();
  }

  @Test
  void acquire_deniedBatch_tellsAPartHowLongItWouldHaveWaited() throws InterruptedException {
    Quota oneASecond = Quota.per(4, Duration.ofSeconds(4));
    Limits limits =
        Limits.builder(Catalogue.of(FIRST, SECOND))
            .limit("First", oneASecond)
            .limit("Second", oneASecond)
            .build();
    Limiter limiter =
        Limiter.builder(new CurrentLimits(limits), BucketStore.inMemory(() -> START))
            .time(() -> START)
            .build();
    Transaction first = limiter.transaction("First", "x");
    Transaction second = limiter.transaction("Second", "x");
    assertThat(limiter.spend(List.of(first.withCost(4), second.withCost(4))).allowed()).isTrue();
    Decision denied = limiter.acquire(List.of(first, second.withCost(2)), Duration.ofSeconds(1));
    assertThat(denied.allowed()).as("the second part takes 2 s").isFalse();
    Decision part = denied.parts().get(0);
    assertThat(part.allowed()).isTrue();
    assertThat(part.retryIn()).isEqualTo(Duration.ofSeconds(1));
    assertThat(part.remaining()).isZero();
  }
}
