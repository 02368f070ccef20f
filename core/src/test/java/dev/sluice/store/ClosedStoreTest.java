// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.FailureRule;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ClosedStoreTest {

  private static final Quota TEN = Quota.per(10, Duration.ofMinutes(1));
  private static final LimitName CALLS = LimitName.builder(1, "Calls").build();
  private static final Limits LIMITS =
      Limits.builder(Catalogue.of(CALLS)).limit("Calls", TEN).build();

  /** It went on granting, while an application believed that it had ended. */
  @Test
  void closedMemoryStore_refusesEveryCharge() {
    BucketStore store = BucketStore.inMemory();
    Limiter limiter = Limiter.of(LIMITS, store);
    Limit limit = limiter.limit("Calls");
    assertThat(limit.trySpend("a")).isTrue();
    store.close();
    store.close();

    assertThatThrownBy(() -> limit.trySpend("a"))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> limiter.spend("Calls", "a")).isInstanceOf(StoreException.class);
    assertThatThrownBy(() -> limiter.check("Calls", "a")).isInstanceOf(StoreException.class);
  }

  /** The memory of open reservations asks the closed store for its time. */
  @Test
  void reserve_beforeAndAfterTheStoreIsClosed_isDecidedByTheFailureRule() {
    BucketStore store = BucketStore.inMemory();
    Limiter limiter =
        Limiter.builder(new CurrentLimits(LIMITS), store).onFailure(FailureRule.allow()).build();
    Reservation open = limiter.reserve("Calls", "a");
    store.close();
    for (int i = 0; i < 3; i++) {
      Reservation after = limiter.reserve("Calls", "a");
      assertThat(after.decision().degraded()).isTrue();
    }
    open.close();
  }

  @Test
  void closedMemoryStore_canBeSaved(@TempDir Path folder) throws IOException {
    MemoryStore store = MemoryStore.builder().build();
    assertThat(Limiter.of(LIMITS, store).limit("Calls").trySpend("a")).isTrue();
    store.close();
    store.save(folder.resolve("buckets"));
    assertThat(store.nowNanos()).isEmpty();
    assertThat(folder.resolve("buckets")).isNotEmptyFile();
  }

  /** It failed at the first spend only. */
  @Test
  void limiterWithoutLimitsOrStore_isRefusedAtOnce() {
    assertThatThrownBy(() -> Limiter.of((Limits) null, BucketStore.inMemory()))
        .isInstanceOf(NullPointerException.class)
        .hasMessageContaining("limits");
    assertThatThrownBy(() -> Limiter.of((CurrentLimits) null, BucketStore.inMemory()))
        .isInstanceOf(NullPointerException.class)
        .hasMessageContaining("limits");
    assertThatThrownBy(() -> Limiter.of(LIMITS, null))
        .isInstanceOf(NullPointerException.class)
        .hasMessageContaining("store");
  }

  @Test
  void denial_saysWhatTheLimitIs_andNotWhatWasAskedBefore() {
    assertThat(CALLS.denial(TEN, "a")).isEqualTo("denied: at most 10 per 1m (Calls)");
    assertThat(CALLS.denial(Quota.burst(10).refill(1, Duration.ofMinutes(90)), "a"))
        .isEqualTo("denied: at most 1 per 1h30m, 10 at once (Calls)");
    assertThatThrownBy(() -> Limit.of(TEN).spend("a", 11))
        .hasMessageContaining("cost 11 exceeds the burst (10) of the limit");
  }
}
