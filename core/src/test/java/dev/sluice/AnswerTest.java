// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class AnswerTest {

  private static final long NOW = 1_000;

  /** Five tokens of 10 ns. */
  private static final Quota FIVE = Quota.burst(5).refill(1, Duration.ofNanos(10));

  private static Answer ofSpend(long offsetNanos, long aheadNanos) {
    return Answer.ofSpend(Effect.of(Op.SPEND, 20, offsetNanos), FIVE, NOW, NOW + aheadNanos);
  }

  private static Answer answer(boolean allowed, long remaining, long retryIn, long resetIn) {
    return new Answer(allowed, remaining, retryIn, resetIn, NOW);
  }

  @Test
  void ofSpend_thatFits_saysWhenTheSameFitsAgain() {
    assertThat(ofSpend(50, 0)).isEqualTo(answer(true, 3, 0, 20));
    assertThat(ofSpend(50, 20)).isEqualTo(answer(true, 1, 10, 40));
    assertThat(ofSpend(50, 30)).as("exactly").isEqualTo(answer(true, 0, 20, 50));
  }

  @Test
  void ofSpend_thatDoesNotFit_saysWhenItDoes() {
    assertThat(ofSpend(50, 31)).isEqualTo(answer(false, 1, 1, 31));
    assertThat(ofSpend(50, 50)).isEqualTo(answer(false, 0, 20, 50));
  }

  /** Until its own tokens are there, and then as long as the same takes again. */
  @Test
  void ofSpend_thatMayWait_isAllowedAheadOfItsTime() {
    assertThat(ofSpend(70, 30)).isEqualTo(answer(true, 0, 20, 50));
    assertThat(ofSpend(70, 40)).isEqualTo(answer(true, 0, 30, 60));
    assertThat(ofSpend(70, 50)).as("the longest wait").isEqualTo(answer(true, 0, 40, 70));
    assertThat(ofSpend(70, 51)).isEqualTo(answer(false, 0, 21, 51));
  }

  @Test
  void ofRefund_isAllowed_whereSomethingIsGivenBack() {
    Effect refund = Effect.of(Op.REFUND, 20, 50);
    assertThat(Answer.ofRefund(refund, FIVE, NOW, NOW + 30)).isEqualTo(answer(true, 4, 0, 10));
    assertThat(Answer.ofRefund(refund, FIVE, NOW, NOW + 10)).isEqualTo(answer(true, 5, 0, 0));
    assertThat(Answer.ofRefund(refund, FIVE, NOW, NOW)).isEqualTo(answer(false, 5, 0, 0));
  }

  @Test
  void ofPenalty_lastsAsLongAsThePenalty_orAsTheBucketIsShort() {
    Effect spend = Effect.of(Op.SPEND, 20, 50);
    assertThat(Answer.ofPenalty(NOW + 90, spend, FIVE, NOW, NOW + 40))
        .isEqualTo(answer(false, 0, 90, 90));
    assertThat(Answer.ofPenalty(NOW + 5, spend, FIVE, NOW, NOW + 40))
        .isEqualTo(answer(false, 0, 10, 40));
    Effect look = Effect.of(Op.CHECK, 0, 50);
    assertThat(Answer.ofPenalty(NOW + 90, look, FIVE, NOW, NOW + 40))
        .isEqualTo(answer(true, 0, 0, 90));
  }

  @Test
  void isStricterThan_aDenialFirst_thenTheLongerWait_thenTheFewerTokens() {
    Answer denied = answer(false, 9, 1, 1);
    Answer slow = answer(true, 2, 5, 5);
    Answer tight = answer(true, 1, 4, 4);
    Answer loose = answer(true, 2, 4, 4);
    assertThat(denied.isStricterThan(slow)).isTrue();
    assertThat(slow.isStricterThan(denied)).isFalse();
    assertThat(slow.isStricterThan(tight)).isTrue();
    assertThat(tight.isStricterThan(slow)).isFalse();
    assertThat(tight.isStricterThan(loose)).isTrue();
    assertThat(loose.isStricterThan(tight)).isFalse();
    assertThat(tight.isStricterThan(tight)).isFalse();
  }
}
