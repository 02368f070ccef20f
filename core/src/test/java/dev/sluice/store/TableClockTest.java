// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Reading;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * When the table reads the clock, and what others do just after: the clock of these tests lets them
 * act between a reading and its use.
 */
class TableClockTest {

  private static final long SECOND = 1_000_000_000;
  private static final long NOW = 1_700_000_000 * SECOND;
  private static final int BURST = 3;
  private static final long TAG = 7; // the first bucket of a segment has its first slot

  private long nowNanos = NOW;
  private int readings;
  private int actAt; // the reading after which the others act
  private @Nullable Runnable others;
  private final BucketTable table = new BucketTable(this::read, 1_000, 3_600 * SECOND, 3, 5);

  private long read() {
    long readNanos = nowNanos;
    readings++;
    Runnable act = others;
    if (act != null && readings == actAt) {
      others = null;
      act.run();
    }
    return readNanos;
  }

  /** Lets others act after a reading of the clock, counted from now on. */
  private void after(int reading, Runnable act) {
    readings = 0;
    actAt = reading;
    others = act;
  }

  /** Charges so many tokens of the bucket; a reset needs none. */
  @CanIgnoreReturnValue
  private Reading charge(Op act, int tokens) {
    return table.charge(
        TAG,
        0,
        act == Op.RESET ? Effect.RESET : Effect.of(act, tokens * SECOND, BURST * SECOND),
        null,
        (id, effect, atNanos, tatNanos) -> new Reading(atNanos, tatNanos));
  }

  private long tatNanos() {
    return charge(Op.CHECK, 1).tatNanos();
  }

  /** By the first reading of the clock a token is missing that has refilled by now. */
  @Test
  void spendUpTo_takesWhatHasRefilledByNow() {
    charge(Op.SPEND, BURST);
    nowNanos += SECOND;
    after(1, () -> nowNanos += SECOND);
    Effect upTo = new Effect(Op.SPEND_UP_TO, BURST * SECOND, BURST * SECOND, SECOND);
    Effect spent =
        table.charge(TAG, 0, upTo, null, (id, effect, at, tat) -> effect.asSpend(at, tat));
    assertThat(spent).isEqualTo(Effect.of(Op.SPEND, 2 * SECOND, BURST * SECOND));
    assertThat(tatNanos()).isEqualTo(nowNanos + BURST * SECOND);
  }

  @Test
  void acts_thatFit_readTheClockOnce() {
    charge(Op.SPEND, 1);
    readings = 0;
    charge(Op.SPEND, 1);
    assertThat(readings).isEqualTo(1);
    charge(Op.CHECK, 1);
    assertThat(readings).as("just fits").isEqualTo(2);
    charge(Op.SPEND_ONLY, 1);
    assertThat(readings).as("just fits").isEqualTo(3);
    assertThat(tatNanos()).isEqualTo(NOW + BURST * SECOND);
  }

  @Test
  void act_thatDoesNotFit_goesByALaterClock() {
    charge(Op.SPEND, 3);
    after(1, () -> nowNanos += SECOND);
    assertThat(charge(Op.CHECK, 1)).isEqualTo(new Reading(NOW + SECOND, NOW + 3 * SECOND));
    after(1, () -> nowNanos += SECOND);
    assertThat(charge(Op.SPEND, 2)).isEqualTo(new Reading(NOW + 2 * SECOND, NOW + 3 * SECOND));
    assertThat(tatNanos()).isEqualTo(NOW + 5 * SECOND);
  }

  @Test
  void spend_besideAReset_goesByAClockThatWasReadAfterIt() {
    charge(Op.SPEND, 3);
    after(
        1,
        () -> {
          nowNanos += SECOND;
          charge(Op.RESET, 0);
        });
    assertThat(charge(Op.SPEND, 1)).isEqualTo(new Reading(NOW + SECOND, 0));
    assertThat(tatNanos()).isEqualTo(NOW + 2 * SECOND);
  }

  @Test
  void refund_besideTheFirstSpend_isDecidedOnAgain() {
    charge(Op.SPEND, 1);
    BucketTable fresh = new BucketTable(this::read, 1_000);
    Effect spend = Effect.of(Op.SPEND, 2 * SECOND, BURST * SECOND);
    Effect refund = Effect.of(Op.REFUND, SECOND, BURST * SECOND);
    after(2, () -> assertThat(on(fresh, spend)).isEqualTo(new Reading(NOW, 0)));
    assertThat(on(fresh, refund)).isEqualTo(new Reading(NOW, NOW + 2 * SECOND));
    assertThat(on(fresh, spend)).isEqualTo(new Reading(NOW, NOW + SECOND));
  }

  private static Reading on(BucketTable other, Effect effect) {
    return other.charge(
        TAG, 0, effect, null, (id, its, atNanos, tatNanos) -> new Reading(atNanos, tatNanos));
  }

  /** The clock steps back here: the bucket would be less full than it was. */
  @Test
  void spendOfNothing_leavesAFullBucketUnwritten() {
    charge(Op.SPEND, 1);
    nowNanos = NOW + 10 * SECOND;
    assertThat(charge(Op.SPEND, 0)).isEqualTo(new Reading(nowNanos, 0));
    nowNanos = NOW + 2 * SECOND;
    assertThat(tatNanos()).isZero();
    nowNanos = NOW;
    assertThat(tatNanos()).isEqualTo(NOW + SECOND);
  }

  @Test
  void reset_forgetsAFullBucketToo() {
    charge(Op.SPEND, 1);
    nowNanos = NOW + 10 * SECOND;
    charge(Op.RESET, 0);
    nowNanos = NOW;
    assertThat(tatNanos()).isZero();
  }

  @Test
  void check_locksNoSegment() {
    Segment segment = table.segmentAt(0);
    long before = segment.version();
    readings = 0;
    assertThat(charge(Op.CHECK, 1)).isEqualTo(new Reading(NOW, 0));
    assertThat(charge(Op.RESET, 0)).isEqualTo(new Reading(NOW, 0));
    assertThat(readings).isEqualTo(2);
    assertThat(segment.version()).isEqualTo(before);
    assertThat(table.tagged()).isZero();
  }

  /** Another thread makes a bucket in the segment: slots may change hands. */
  @Test
  void denial_besideALockedSegment_isAnsweredAndChangesNothing() {
    charge(Op.SPEND, 3);
    assertThat(table.segmentAt(0).tryLock()).isTrue();
    long[] before = table.segmentAt(0).slots().clone();
    assertThat(charge(Op.SPEND, 1)).isEqualTo(new Reading(NOW, NOW + 3 * SECOND));
    assertThat(charge(Op.CHECK, 1)).isEqualTo(new Reading(NOW, NOW + 3 * SECOND));
    assertThat(table.segmentAt(0).slots()).containsExactly(before);
  }

  @Test
  void clock_thatFailsAtANewBucket_leavesNothingLocked() {
    after(1, () -> nowNanos = -1);
    assertThatThrownBy(() -> charge(Op.SPEND, 1)).hasMessageContaining("the clock returned -1 ns");
    nowNanos = NOW;
    assertThat(table.segmentAt(0).tryLock()).isTrue();
    table.segmentAt(0).unlock();
    assertThat(charge(Op.SPEND, 1)).isEqualTo(new Reading(NOW, 0));
  }

  @Test
  void clock_thatFailsAfterAReset_leavesTheBucketUnlocked() {
    charge(Op.SPEND, 1);
    charge(Op.RESET, 0);
    after(1, () -> nowNanos = -1);
    assertThatThrownBy(() -> charge(Op.SPEND, 1)).hasMessageContaining("the clock returned -1 ns");
    assertThat(SlotArray.tatNanos(table.segmentAt(0).slots(), 0)).isZero();
    nowNanos = NOW;
    assertThat(charge(Op.SPEND, 1)).isEqualTo(new Reading(NOW, 0));
    assertThat(tatNanos()).isEqualTo(NOW + SECOND);
  }
}
