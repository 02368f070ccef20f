// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

  private static Effect upTo(long incrementNanos, long offsetNanos, long intervalNanos) {
    return new Effect(Op.SPEND_UP_TO, incrementNanos, offsetNanos, intervalNanos);
  }

  @Test
  void spendUpTo_takesTheWholeTokensThatFit() {
    Effect upTo = upTo(30, OFFSET, 10);
    assertThat(upTo.tatAfterNanos(NOW, Gcra.NO_TAT, true)).as("all").isEqualTo(NOW + 30);
    assertThat(upTo.tatAfterNanos(NOW, NOW + 20, true)).as("just all").isEqualTo(NOW + 50);
    assertThat(upTo.tatAfterNanos(NOW, NOW + 21, true)).as("two of 29").isEqualTo(NOW + 41);
    assertThat(upTo.tatAfterNanos(NOW, NOW + 40, true)).as("the last").isEqualTo(NOW + 50);
    assertThat(upTo.asSpend(NOW, NOW + 21)).isEqualTo(Effect.of(Op.SPEND, 20, OFFSET));
  }

  @Test
  void spendUpTo_withoutAWholeToken_isADenialOfOne() {
    Effect upTo = upTo(30, OFFSET, 10);
    for (long aheadNanos : new long[] {41, 50, 51, 1_000, Long.MAX_VALUE}) {
      long tatNanos = NOW + aheadNanos;
      assertThat(upTo.passes(NOW, tatNanos)).as("%s", aheadNanos).isFalse();
      assertThat(upTo.tatAfterNanos(NOW, tatNanos, false)).isEqualTo(tatNanos);
      assertThat(upTo.asSpend(NOW, tatNanos)).isEqualTo(Effect.of(Op.SPEND, 10, OFFSET));
      assertThat(upTo.roomNanos(NOW, tatNanos))
          .isEqualTo(Effect.of(Op.SPEND, 10, OFFSET).roomNanos(NOW, tatNanos));
    }
  }

  @Test
  void spendUpTo_ofTheLargestNumbers_doesNotOverflow() {
    Effect upTo = upTo(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
    assertThat(upTo.tatAfterNanos(NOW, Gcra.NO_TAT, true)).isEqualTo(NOW + upTo.offsetNanos());
    assertThat(upTo.passes(NOW, NOW + 1)).isFalse();
    assertThat(upTo(Long.MAX_VALUE - 1, Long.MAX_VALUE - 1, 2).asSpend(NOW, NOW + 1))
        .isEqualTo(Effect.of(Op.SPEND, Long.MAX_VALUE - 3, Long.MAX_VALUE - 1));
  }

  @Test
  void spendUpTo_lessThanOneToken_isRefused() {
    for (long intervalNanos : new long[] {0, Effect.NO_END, 31}) {
      assertThatThrownBy(() -> upTo(30, OFFSET, intervalNanos))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("emission interval of " + intervalNanos + " ns");
    }
  }

  @Test
  void operations_sayWhatTheyMayDo() {
    assertThat(Op.values())
        .filteredOn(Op::votes)
        .containsExactly(Op.CHECK, Op.SPEND, Op.FORGIVE, Op.SPEND_UP_TO);
    assertThat(Op.values()).filteredOn(op -> !op.writes()).containsExactly(Op.CHECK);
    assertThat(Op.values())
        .filteredOn(Op::loosens)
        .containsExactly(Op.FORGIVE, Op.REFUND, Op.RESET, Op.WITHDRAW);
    assertThat(Op.values())
        .filteredOn(Op::hasEnd)
        .containsExactly(Op.REFUND, Op.WITHDRAW, Op.SPEND_UP_TO);
  }
}
