// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

/** What a store need not say itself, and the stores in memory. */
class BucketStoreTest {

  private static final long NOW = 1_700_000_000_000_000_000L;
  private static final long SECOND = 1_000_000_000;
  private static final BucketStore.Tentative NOTHING_TO_FOLLOW =
      charge -> {
        throw new AssertionError("nothing is taken before the verdict");
      };

  private final BucketStore store = charges -> List.of(new Reading(NOW, charges.size()));

  private static Charge spend(String key) {
    return new Charge(key, Op.SPEND, SECOND, 3 * SECOND, Effect.NO_END);
  }

  @Test
  void defaults_knowNothing() {
    assertThat(store.forOneCall()).isSameAs(store);
    assertThat(store.clockSkewNanos()).isZero();
    assertThat(store.nowNanos()).isEmpty();
    assertThat(store.liveBuckets()).isEmpty();
    assertThat(store.maxLiveBuckets()).isEmpty();
  }

  @Test
  void defaults_chargeAsTheOneVerbDoes() throws Exception {
    List<Charge> charges = List.of(spend("1:a"), spend("1:b"));
    List<Reading> readings = List.of(new Reading(NOW, 2));
    assertThat(store.chargeAsync(charges).toCompletableFuture().get()).isEqualTo(readings);
    assertThat(store.charge(charges, NOTHING_TO_FOLLOW)).isEqualTo(readings);
    assertThat(store.chargeAsync(charges, NOTHING_TO_FOLLOW).toCompletableFuture().get())
        .isEqualTo(readings);
  }

  @Test
  void chargeAsync_failure_failsTheStage() {
    StoreException failure = new StoreException("too slow");
    assertThat(failure.chargedNothing()).as("nobody knows").isFalse();
    BucketStore failing =
        charges -> {
          throw failure;
        };
    assertThatThrownBy(() -> failing.chargeAsync(List.of()).toCompletableFuture().get())
        .isInstanceOf(ExecutionException.class)
        .hasCause(failure);
  }

  @Test
  void requireDifferentKeys_namesTheOneThatIsThereTwice() {
    BucketStore.requireDifferentKeys(List.of(spend("1:a")));
    BucketStore.requireDifferentKeys(List.of(spend("1:a"), spend("1:b")));
    assertThatThrownBy(() -> BucketStore.requireDifferentKeys(List.of(spend("1:a"), spend("1:a"))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("the bucket 1:a twice");
  }

  @Test
  void inMemory_onTheSystemsTime_spends() {
    BucketStore memory = BucketStore.inMemory();
    assertThat(memory.charge(List.of(spend("1:a"))).get(0).tatNanos()).isZero();
    assertThat(memory.liveBuckets()).hasValue(1);
  }

  @Test
  void inMemory_onAGivenClock_goesByIt() {
    BucketStore memory = BucketStore.inMemory(() -> NOW);
    assertThat(memory.nowNanos()).hasValue(NOW);
    assertThat(memory.charge(List.of(spend("1:a")))).containsExactly(new Reading(NOW, 0));
  }

  @Test
  void inMemory_withABound_keepsToIt() {
    BucketStore memory = BucketStore.inMemory(() -> NOW, 1);
    assertThat(memory.maxLiveBuckets()).hasValue(1);
    assertThat(memory.charge(List.of(spend("1:a")))).containsExactly(new Reading(NOW, 0));
    assertThatThrownBy(() -> memory.charge(List.of(spend("1:b"))))
        .isInstanceOf(StoreException.class);
  }
}
