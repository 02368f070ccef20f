// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Charge;
import org.junit.jupiter.api.Test;

/** A charge is its effect, and decides as that does. */
class ChargeTest {

  private static final long NOW = 1_000;

  @Test
  void parts_areThoseOfItsEffect() {
    Charge charge = new Charge("1:a", Op.REFUND, 3, 10, 7);
    assertThat(charge.effect()).isEqualTo(new Effect(Op.REFUND, 3, 10, 7));
    assertThat(charge.op()).isEqualTo(Op.REFUND);
    assertThat(charge.incrementNanos()).isEqualTo(3);
    assertThat(charge.offsetNanos()).isEqualTo(10);
    assertThat(charge.untilNanos()).isEqualTo(7);
  }

  @Test
  void spend_passesWhileItFits() {
    Charge charge = new Charge("1:a", Op.SPEND, 3, 10, Effect.NO_END);
    assertThat(charge.passes(NOW, NOW + 7)).isTrue();
    assertThat(charge.passes(NOW, NOW + 8)).isFalse();
    assertThat(charge.tatAfterNanos(NOW, Gcra.NO_TAT, true)).isEqualTo(NOW + 3);
    assertThat(charge.tatAfterNanos(NOW, NOW + 7, false)).isEqualTo(NOW + 7);
  }
}
