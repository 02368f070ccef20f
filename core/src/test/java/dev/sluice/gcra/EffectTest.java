// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect.Op;
import org.junit.jupiter.api.Test;

class EffectTest {

  private static final long NOW = 1_000;
  private static final long OFFSET = 50;

  private static long refunded(long tatNanos, long refundNanos, long untilNanos) {
    return new Effect(Op.REFUND, refundNanos, OFFSET, untilNanos)
        .tatAfterNanos(NOW, tatNanos, true);
  }

  @Test
  void roomNanos_ofADebt_countsInWhole_unlessItIsForgiven() {
    assertThat(Effect.of(Op.SPEND, 10, OFFSET).roomNanos(NOW, NOW + 100)).isEqualTo(-60);
    assertThat(Effect.of(Op.CHECK, 10, OFFSET).roomNanos(NOW, NOW + 100)).isEqualTo(-60);
    assertThat(Effect.of(Op.FORGIVE, 10, OFFSET).roomNanos(NOW, NOW + 100)).isEqualTo(-10);
  }

  @Test
  void fits_exactly_passes() {
    Effect spend = Effect.of(Op.SPEND, 10, OFFSET);
    assertThat(spend.passes(NOW, NOW + 40)).isTrue();
    assertThat(spend.tatAfterNanos(NOW, NOW + 40, true)).isEqualTo(NOW + 50);
    assertThat(spend.passes(NOW, NOW + 41)).isFalse();
    assertThat(spend.tatAfterNanos(NOW, NOW + 41, true)).isEqualTo(NOW + 41);
  }

  @Test
  void spend_ofNothing_writesNothing() {
    Effect nothing = Effect.of(Op.SPEND, 0, OFFSET);
    assertThat(nothing.tatAfterNanos(NOW, 900, true)).isEqualTo(900);
    assertThat(nothing.tatAfterNanos(NOW, Gcra.NO_TAT, true)).isEqualTo(Gcra.NO_TAT);
  }

  @Test
  void refund_neverOverfills() {
    assertThat(refunded(NOW + 30, 20, Effect.NO_END)).isEqualTo(NOW + 10);
    assertThat(refunded(NOW + 30, 30, Effect.NO_END)).isEqualTo(NOW);
    assertThat(refunded(NOW + 30, 31, Effect.NO_END)).isEqualTo(NOW);
    assertThat(refunded(900, 10, Effect.NO_END)).as("already full").isEqualTo(900);
  }

  @Test
  void refund_withAnEnd_givesBackWhatIsLeftUntilThen() {
    assertThat(refunded(NOW + 30, 20, NOW + 20)).isEqualTo(NOW + 10);
    assertThat(refunded(NOW + 30, 20, NOW + 5)).isEqualTo(NOW + 25);
    assertThat(refunded(NOW + 30, 20, NOW)).isEqualTo(NOW + 30);
    assertThat(refunded(NOW + 30, 20, NOW - 1)).isEqualTo(NOW + 30);
  }

  @Test
  void withdrawal_ofASpendThatAnotherFollowed_doesNothing() {
    Effect withdrawal = new Effect(Op.WITHDRAW, 20, OFFSET, NOW + 30);
    assertThat(withdrawal.tatAfterNanos(NOW, NOW + 30, true)).isEqualTo(NOW + 10);
    assertThat(withdrawal.tatAfterNanos(NOW, NOW + 31, true)).isEqualTo(NOW + 31);
    assertThat(withdrawal.tatAfterNanos(NOW, NOW + 30, false)).isEqualTo(NOW + 30);
  }

  @Test
  void reset_inABatchThatIsDenied_leavesTheBucket() {
    assertThat(Effect.RESET.tatAfterNanos(NOW, NOW + 30, true)).isEqualTo(Gcra.NO_TAT);
    assertThat(Effect.RESET.tatAfterNanos(NOW, NOW + 30, false)).isEqualTo(NOW + 30);
  }

  @Test
  void forgiving_emptiesABucketInDebt_andSpendsInABucketThatIsNot() {
    Effect forgive = Effect.of(Op.FORGIVE, 10, OFFSET);
    assertThat(forgive.tatAfterNanos(NOW, NOW + 100, true)).isEqualTo(NOW + 50);
    assertThat(forgive.tatAfterNanos(NOW, NOW + 51, true)).isEqualTo(NOW + 50);
    assertThat(forgive.tatAfterNanos(NOW, NOW + 50, true)).isEqualTo(NOW + 50);
    assertThat(forgive.tatAfterNanos(NOW, NOW + 30, true)).isEqualTo(NOW + 40);
  }

  @Test
  void operations_sayWhatTheyMayDo() {
    assertThat(Op.values()).filteredOn(Op::votes).containsExactly(Op.CHECK, Op.SPEND, Op.FORGIVE);
    assertThat(Op.values()).filteredOn(op -> !op.writes()).containsExactly(Op.CHECK);
    assertThat(Op.values())
        .filteredOn(Op::loosens)
        .containsExactly(Op.FORGIVE, Op.REFUND, Op.RESET, Op.WITHDRAW);
    assertThat(Op.values()).filteredOn(Op::hasEnd).containsExactly(Op.REFUND, Op.WITHDRAW);
  }
}
