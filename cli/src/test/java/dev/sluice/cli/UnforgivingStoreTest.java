// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.cli.ActCommand.UnforgivingStore;
import dev.sluice.gcra.Effect;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.StoreException;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UnforgivingStoreTest {

  private static final Charge SPEND = charge("1:a", Effect.Op.SPEND);

  private final BucketStore memory = BucketStore.inMemory();
  private final BucketStore store = new UnforgivingStore(memory);

  private static Charge charge(String key, Effect.Op op) {
    return new Charge(key, op, 1_000_000_000L, 10_000_000_000L, Effect.NO_END);
  }

  @Test
  void forgive_isRefused_andNothingIsCharged() {
    Charge forgive = charge("1:b", Effect.Op.FORGIVE);

    assertThatExceptionOfType(StoreException.class)
        .isThrownBy(() -> store.charge(List.of(SPEND, forgive)))
        .withMessage("a command forgives no debts; nothing was charged")
        .matches(StoreException::chargedNothing);
    assertThat(memory.liveBuckets()).hasValue(0);
  }

  @Test
  void spend_isChargedByTheStoreBehind() {
    assertThat(store.charge(List.of(SPEND))).hasSize(1);
    assertThat(memory.liveBuckets()).hasValue(1);
  }
}
