// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.gcra.Quota;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a limiter does when its store does not answer. */
class FailingStoreTest {

  private final BrokenAtWill store = new BrokenAtWill();
  private final Limiter limiter =
      Limiter.of(Bench.limits(Quota.per(10, Duration.ofSeconds(1))), store);

  /** A memory store whose connection can be cut. */
  private static final class BrokenAtWill implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory(new ManualTime());
    private boolean broken;

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (broken) {
        throw new StoreException("cut");
      }
      return memory.charge(charges);
    }
  }

  @Test
  void spend_storeDown_throws() {
    store.broken = true;
    assertThatThrownBy(() -> limiter.spend(Bench.A, Bench.ID).orThrow())
        .isInstanceOf(StoreException.class);
  }

  @Test
  void async_storeDown_failsTheStage() {
    store.broken = true;
    assertThatThrownBy(() -> limiter.async().spend(Bench.A, Bench.ID).toCompletableFuture().get())
        .hasCauseInstanceOf(StoreException.class);
  }

  /** Whether the lost call gave anything back is unknown: a second one could give it twice. */
  @Test
  void cancel_storeDown_throwsAndIsNotTriedAgain() {
    Reservation reservation = limiter.reserve(Bench.A, Bench.ID, 4);
    store.broken = true;
    assertThatThrownBy(reservation::cancel).isInstanceOf(StoreException.class);
    store.broken = false;
    reservation.cancel();
    assertThat(limiter.check(Bench.A, Bench.ID, 0)).hasRemaining(6);
  }

  @Test
  void cancelAsync_storeDown_failsTheStage() {
    Reservation reservation = limiter.reserve(Bench.A, Bench.ID, 4);
    store.broken = true;
    assertThatThrownBy(() -> reservation.cancelAsync().toCompletableFuture().get())
        .hasCauseInstanceOf(StoreException.class);
  }

  @Test
  void spend_disabledLimit_doesNotAskTheStore() {
    store.broken = true;
    assertThat(limiter.spend(Bench.OFF, Bench.ID)).isAllowed();
  }
}
