// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Where a bucket finds room, at the bound and on crowded lines, beside segments that are locked.
 */
class TableRoomTest {

  private static final long SECOND = 1_000_000_000;
  private static final long NOW = 1_700_000_000 * SECOND;
  private static final long EVERY = 1_000_000; // nanoseconds between two segments
  private static final int SEGMENTS = 64; // of a small table
  private static final Duration LONG = Duration.ofSeconds(30);

  private long nowNanos = NOW;

  private BucketTable table(long bound) {
    return new BucketTable(() -> nowNanos, bound, 0, 3, 5);
  }

  private static long place(int segment) {
    return Directory.place(segment * Directory.ENTRIES / SEGMENTS, 0);
  }

  private static Segment segment(BucketTable table, int segment) {
    return table.segmentAt(Directory.entryOf(place(segment)));
  }

  /** A charge of a bucket that has room for an hour. */
  @CanIgnoreReturnValue
  private static Reading charge(BucketTable table, Op act, int segment, long tag, long nanos) {
    return table.charge(
        tag,
        place(segment),
        act == Op.RESET ? Effect.RESET : Effect.of(act, nanos, 3_600 * SECOND),
        null,
        (id, effect, atNanos, tatNanos) -> new Reading(atNanos, tatNanos));
  }

  private static void spend(BucketTable table, int segment, long tag, long nanos) {
    Reading found = charge(table, Op.SPEND, segment, tag, nanos);
    assertThat(found.tatNanos() - found.nowNanos()).isLessThan(3_600 * SECOND - nanos);
  }

  private static void assertFull(BucketTable table, int segment, long tag) {
    assertThatThrownBy(() -> spend(table, segment, tag, SECOND))
        .hasMessageContaining("memory store full");
  }

  // TableCleaner after each kind of act

  @ParameterizedTest
  @ValueSource(
      strings = {"a new bucket", "a spend", "a refund", "a spend after a reset", "a batch"})
  void acts_thatWrite_tidyASegmentEach(String act) {
    BucketTable table = table(1_000);
    spend(table, SEGMENTS - 1, 9, 1);
    spend(table, 1, 9, 1_000 * SECOND);
    for (int i = 0; i <= SEGMENTS; i++) {
      nowNanos += EVERY;
      switch (act) {
        case "a new bucket" -> spend(table, 1 + i % 62, 10 + i / 62, 1_000 * SECOND);
        case "a spend" -> spend(table, 1, 9, SECOND);
        case "a refund" -> charge(table, Op.REFUND, 1, 9, SECOND);
        case "a spend after a reset" -> {
          charge(table, Op.RESET, 1, 9, 0);
          spend(table, 1, 9, SECOND);
        }
        default -> {
          Charge refund = new Charge("", Op.REFUND, 1, SECOND, Effect.NO_END);
          assertThat(
                  new TableBatch(table, List.of(refund), new long[] {9}, new long[] {place(1)})
                      .charge())
              .hasSize(1);
        }
      }
    }
    assertThat(segment(table, SEGMENTS - 1).tagged()).isZero();
    assertThat(segment(table, 1).tagged()).isPositive();
  }

  @Test
  void slots_areCountedInAllSegments() {
    BucketTable table = table(1_000);
    assertThat(table.slots()).isZero();
    spend(table, 0, 1, SECOND);
    assertThat(table.slots()).isEqualTo(4);
    spend(table, SEGMENTS - 1, 1, SECOND);
    assertThat(table.slots()).isEqualTo(8);
  }

  @Test
  void tag_isNeverThatOfAnEmptySlot() {
    assertThat(BucketTable.tag(0)).isEqualTo(1);
    assertThat(BucketTable.tag(-5)).isEqualTo(-5);
    BucketTable table = table(1_000);
    spend(table, 0, 0, SECOND);
    assertThat(charge(table, Op.CHECK, 0, 0, 0).tatNanos()).isEqualTo(NOW + SECOND);
    assertThat(table.tagged()).isEqualTo(1);
  }

  // Crowded lines

  @Test
  void newBucket_whereNoNumberOfLinesWouldDo_isRefused() {
    BucketTable table = table(1_000);
    for (long tag = 1; tag <= 4; tag++) {
      spend(table, 0, tag, SECOND); // these share both lines, however many there are
    }
    assertThatThrownBy(() -> spend(table, 0, 5, SECOND))
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.chargedNothing()).isTrue())
        .hasMessageContaining("too many keys need the same slots as this bucket");
    assertThat(table.tagged()).isEqualTo(4);
    nowNanos += SECOND;
    spend(table, 0, 5, SECOND);
  }

  // Restoring

  @Test
  void restore_whatNoTableHas_isLeftOut() {
    BucketTable table = table(1_000);
    table.restore(place(0), 0, NOW + SECOND, NOW);
    table.restore(place(0), 1, SlotArray.LOCKED, NOW);
    table.restore(place(0), 2, NOW, NOW);
    assertThat(table.tagged()).isZero();
    table.restore(place(0), 3, NOW + 1, NOW);
    assertThat(table.tagged()).isEqualTo(1);
    assertThat(charge(table, Op.CHECK, 0, 3, 0).tatNanos()).isEqualTo(NOW + 1);
  }

  @Test
  void restore_aBucketTwice_isRefused() {
    BucketTable table = table(1_000);
    for (long tag = 1; tag <= 2; tag++) {
      table.restore(place(0), tag, NOW + 1, NOW);
    }
    for (long tag = 1; tag <= 2; tag++) {
      long twice = tag;
      assertThatThrownBy(() -> table.restore(place(0), twice, NOW + 1, NOW))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("a bucket twice");
    }
    assertThat(segment(table, 0).tryLock()).isTrue();
  }

  @Test
  void restore_overTheBound_isRefused() {
    BucketTable table = table(1);
    table.restore(place(0), 1, NOW + 1, NOW);
    assertThatThrownBy(() -> table.restore(place(0), 2, NOW + 1, NOW))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("memory store full: 1 live buckets");
    assertThat(segment(table, 0).tryLock()).isTrue();
  }

  @Test
  void restore_tooManyOnOneLine_isRefused() {
    BucketTable table = table(1_000);
    for (long tag = 1; tag <= 4; tag++) {
      table.restore(place(0), tag, NOW + 1, NOW);
    }
    assertThatThrownBy(() -> table.restore(place(0), 5, NOW + 1, NOW))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "more buckets in one line of slots than a table of this program can contain");
    assertThat(segment(table, 0).tryLock()).isTrue();
  }

  @Test
  void restored_buckets_makeRoomWhenTheyAreFull() {
    BucketTable table = table(2);
    table.restore(place(0), 1, NOW + SECOND, NOW);
    table.restore(place(1), 1, NOW + 2 * SECOND, NOW);
    assertFull(table, 2, 1);
    nowNanos += SECOND;
    spend(table, 2, 1, SECOND);
    assertFull(table, 2, 2);
  }

  // At the bound

  @Test
  void refund_ofOneBucket_makesRoomTheEarlier() {
    BucketTable table = table(2);
    spend(table, 0, 1, 3 * SECOND);
    spend(table, 1, 1, 3 * SECOND);
    assertFull(table, 2, 1);
    charge(table, Op.REFUND, 0, 1, SECOND);
    nowNanos += 2 * SECOND;
    spend(table, 2, 1, SECOND);
    assertFull(table, 2, 2);
  }

  /** Else a flood that is refused would make each caller look for the dead. */
  @Test
  void newBucket_thatIsRefused_tellsNoDeath() {
    BucketTable table = table(1);
    spend(table, 0, 1, 10 * SECOND);
    assertFull(table, 1, 1);
    assertFull(table, 0, 2);
    assertThat(segment(table, 1).earliestExpiry().mayBeBy(Long.MAX_VALUE)).isFalse();
    assertThat(segment(table, 0).earliestExpiry().nanos()).isEqualTo(NOW + 10 * SECOND);
  }

  @Test
  void bucket_thatIsSpentFromAgain_makesNoRoomAtItsFirstDeath() {
    BucketTable table = table(1);
    spend(table, 0, 1, SECOND);
    spend(table, 0, 1, SECOND);
    nowNanos += SECOND;
    assertFull(table, 1, 1);
    nowNanos += SECOND;
    spend(table, 1, 1, SECOND);
  }

  @Test
  void look_thatFindsOne_knowsWhenTheOthersDie() {
    BucketTable table = table(3);
    spend(table, 0, 1, SECOND);
    spend(table, 1, 1, 2 * SECOND);
    spend(table, 2, 1, 3 * SECOND);
    nowNanos += SECOND;
    spend(table, 3, 1, 100 * SECOND);
    for (int segment = 4; segment <= 5; segment++) {
      assertFull(table, segment, 1);
      nowNanos += SECOND;
      spend(table, segment, 1, 100 * SECOND);
    }
    assertFull(table, 6, 1);
  }

  /** One look frees the slots of one segment: a batch may need more, and asks again. */
  @Test
  void batch_ofTwoNewBuckets_findsTheRoomOfTwoSegments() {
    BucketTable table = table(2);
    spend(table, 0, 1, SECOND);
    spend(table, 1, 1, SECOND);
    nowNanos += SECOND;
    Charge spend = new Charge("", Op.SPEND, SECOND, SECOND, Effect.NO_END);
    TableBatch batch =
        new TableBatch(
            table, List.of(spend, spend), new long[] {1, 1}, new long[] {place(2), place(3)});
    assertThat(batch.charge()).containsOnly(new Reading(nowNanos, 0)).hasSize(2);
    assertThat(table.tagged()).isEqualTo(2);
  }

  /** Each is the first of its segment, with the first slot. */
  @Test
  void buckets_ofABatch_makeRoomWhenTheyAreFull() {
    BucketTable table = table(2);
    Charge spend = new Charge("", Op.SPEND, SECOND, SECOND, Effect.NO_END);
    TableBatch batch =
        new TableBatch(
            table, List.of(spend, spend), new long[] {1, 1}, new long[] {place(2), place(3)});
    assertThat(batch.charge()).hasSize(2);
    assertFull(table, 4, 1);
    nowNanos += SECOND;
    spend(table, 4, 1, SECOND);
    spend(table, 5, 1, SECOND);
    assertFull(table, 6, 1);
  }

  // Beside other threads' locks

  @Test
  void upkeep_besideALockedSegment_passesIt() {
    BucketTable table = table(1_000);
    spend(table, 1, 1, 1);
    spend(table, 2, 1, 1);
    assertThat(segment(table, 1).tryLock()).isTrue();
    for (int i = 0; i < 2; i++) {
      nowNanos += EVERY;
      table.cleaner().now(nowNanos);
    }
    assertThat(segment(table, 1).tagged()).isEqualTo(1);
    assertThat(segment(table, 2).tagged()).isZero();
    assertThat(segment(table, 1).tryLock()).as("it is still the other's").isFalse();
  }

  /** The look passes a segment whose buckets live, while another thread may change them. */
  @Test
  void look_besideALockedSegment_isToldLaterOfItsDeath() {
    BucketTable table = table(2);
    spend(table, 0, 1, SECOND);
    spend(table, 1, 1, 2 * SECOND);
    nowNanos += SECOND;
    assertThat(segment(table, 1).tryLock()).isTrue();
    spend(table, 2, 1, 100 * SECOND);
    segment(table, 1).unlock();
    nowNanos += SECOND;
    spend(table, 3, 1, 100 * SECOND);
    assertFull(table, 4, 1);
  }

  @Test
  void look_besideALockedSegment_goesOnToTheNext() {
    BucketTable table = table(2);
    spend(table, 0, 1, SECOND);
    spend(table, 1, 1, SECOND);
    nowNanos += SECOND;
    assertThat(segment(table, 0).tryLock()).isTrue();
    spend(table, 2, 1, 100 * SECOND);
    assertThat(segment(table, 1).tagged()).isZero();
    segment(table, 0).unlock();
    spend(table, 3, 1, 100 * SECOND);
    assertThat(segment(table, 0).tagged()).isZero();
    assertFull(table, 4, 1);
  }

  /** Nobody is told that the table is full while a dead bucket's segment is another thread's. */
  @Test
  void newBucket_besideTheOnlyDeadOne_waitsForItsSegment() {
    BucketTable table = table(1);
    spend(table, 0, 1, SECOND);
    nowNanos += SECOND;
    assertThat(segment(table, 0).tryLock()).isTrue();
    FutureTask<Reading> spending = new FutureTask<>(() -> charge(table, Op.SPEND, 2, 1, SECOND));
    Thread spender = new Thread(spending);
    spender.start();
    Parked.await(spender);
    segment(table, 0).unlock();
    assertThat(spending).succeedsWithin(LONG).isEqualTo(new Reading(nowNanos, 0));
    assertThat(segment(table, 0).tagged()).isZero();
  }

  @Test
  void newBucket_besideASegmentThatMayFree_waitsForIt() {
    BucketTable table = table(1);
    spend(table, 0, 1, SECOND);
    table.cleaner().diesAt(place(5), NOW); // or at any time: nobody knows
    assertThat(segment(table, 0).tryLock()).isTrue();
    FutureTask<Reading> spending = new FutureTask<>(() -> charge(table, Op.SPEND, 2, 1, SECOND));
    Thread spender = new Thread(spending);
    spender.start();
    Parked.await(spender);
    segment(table, 0).unlock();
    assertThat(spending).failsWithin(LONG).withThrowableThat().withMessageContaining("full");
  }

  @Test
  void newBucket_besideALockedSlot_waitsForIt() {
    BucketTable table = table(1);
    spend(table, 0, 1, SECOND);
    nowNanos += SECOND;
    long[] slots = segment(table, 0).slots();
    assertThat(SlotArray.tryLock(slots, 0)).isEqualTo(NOW + SECOND);
    FutureTask<Reading> spending = new FutureTask<>(() -> charge(table, Op.SPEND, 2, 1, SECOND));
    Thread spender = new Thread(spending);
    spender.start();
    Parked.await(spender);
    SlotArray.unlock(slots, 0, NOW + SECOND);
    assertThat(spending).succeedsWithin(LONG).isEqualTo(new Reading(nowNanos, 0));
  }

  @Test
  void newBucket_besideAReservation_waitsUntilItIsSettled() {
    BucketTable table = table(1);
    assertThat(table.bucketCount().tryReserve(1)).isTrue();
    FutureTask<Reading> spending = new FutureTask<>(() -> charge(table, Op.SPEND, 2, 1, SECOND));
    Thread spender = new Thread(spending);
    spender.start();
    Parked.await(spender);
    table.bucketCount().settle(1, 0);
    assertThat(spending).succeedsWithin(LONG).isEqualTo(new Reading(nowNanos, 0));
  }

  @Test
  void live_besideALockedSlot_waitsForIt() {
    BucketTable table = table(1_000);
    spend(table, 0, 1, SECOND);
    spend(table, 5, 1, SECOND);
    long[] slots = segment(table, 5).slots();
    assertThat(SlotArray.tryLock(slots, 0)).isEqualTo(NOW + SECOND);
    FutureTask<List<long[]>> reading = new FutureTask<>(table::live);
    Thread reader = new Thread(reading);
    reader.start();
    Parked.await(reader);
    SlotArray.unlock(slots, 0, NOW + 2 * SECOND);
    assertThat(reading)
        .succeedsWithin(LONG)
        .satisfies(
            live -> {
              assertThat(live).hasSize(SEGMENTS);
              assertThat(live.get(0)).containsExactly(place(0), 1, NOW + SECOND);
              assertThat(live.get(4)).isEmpty();
              assertThat(live.get(5)).containsExactly(place(5), 1, NOW + 2 * SECOND);
            });
    for (int segment = 0; segment < SEGMENTS; segment++) {
      assertThat(segment(table, segment).tryLock()).isTrue();
    }
  }

  @Test
  void charge_besideALockedSlot_waitsForIt() {
    BucketTable table = table(1_000);
    spend(table, 0, 1, SECOND);
    long[] slots = segment(table, 0).slots();
    assertThat(SlotArray.tryLock(slots, 0)).isEqualTo(NOW + SECOND);
    FutureTask<Reading> refunding = new FutureTask<>(() -> charge(table, Op.REFUND, 0, 1, SECOND));
    Thread refunder = new Thread(refunding);
    refunder.start();
    Parked.await(refunder);
    SlotArray.unlock(slots, 0, NOW + 2 * SECOND);
    assertThat(refunding).succeedsWithin(LONG).isEqualTo(new Reading(nowNanos, NOW + 2 * SECOND));
    assertThat(SlotArray.tatNanos(slots, 0)).isEqualTo(NOW + SECOND);
  }

  @Test
  void newBucket_besideALockedSlotOnItsLine_waitsForIt() {
    BucketTable table = table(1_000);
    for (long tag = 1; tag <= 4; tag++) {
      spend(table, 0, tag << 61, SECOND); // with other lines to go to
    }
    long[] slots = segment(table, 0).slots();
    assertThat(SlotArray.tryLock(slots, 0)).isEqualTo(NOW + SECOND);
    FutureTask<Reading> spending =
        new FutureTask<>(() -> charge(table, Op.SPEND, 0, 5L << 61, SECOND));
    Thread spender = new Thread(spending);
    spender.start();
    Parked.await(spender);
    assertThat(segment(table, 0).slots()).as("not rebuilt").isSameAs(slots);
    SlotArray.unlock(slots, 0, NOW + SECOND);
    assertThat(spending).succeedsWithin(LONG).isEqualTo(new Reading(nowNanos, 0));
    assertThat(table.tagged()).isEqualTo(5);
  }
}
