// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.store.BucketTable.Spin;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiting for another thread: each time is counted, and a thread that waits for long parks. */
class SpinTest {

  @ParameterizedTest
  @ValueSource(ints = {0, 63, 64, 127, 128, 140, 1_000_000})
  void once_countsItself(int spins) {
    assertThat(Spin.once(spins)).isEqualTo(spins + 1);
  }

  @Test
  void once_inALongWait_parksAndComesBack() {
    AtomicBoolean over = new AtomicBoolean();
    FutureTask<Integer> waiting =
        new FutureTask<>(
            () -> {
              int spins = 0;
              while (!over.get() && spins < 10_000_000) { // hours, for one that parks
                spins = Spin.once(spins);
              }
              return spins;
            });
    Thread waiter = new Thread(waiting);
    waiter.start();
    Parked.await(waiter);
    assertThat(waiter.isAlive()).isTrue();
    over.set(true);
    assertThat(waiting)
        .succeedsWithin(Duration.ofSeconds(30))
        .satisfies(spins -> assertThat(spins).isGreaterThanOrEqualTo(128));
  }
}
