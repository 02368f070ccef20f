// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Place.Line;
import dev.sluice.Place.State;
import dev.sluice.limit.LimitName;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** When the turn of a place comes, what is left of it, and what places learn from each other. */
final class PlaceTest {

  private static final LimitName LIMIT =
      LimitName.builder(1, "A").longestWait(Duration.ofDays(1)).build();
  private static final long OFFSET = 1_000;

  /** A place of 100 ns. */
  private static Place place(long endNanos, long nowNanos) {
    return new Place("1:a", LIMIT, 100, OFFSET, endNanos, nowNanos);
  }

  @Test
  void seenAt_translatesToTheClockHere() {
    Place place = place(7_000, 5_000);
    place.seenAt(90, 60);
    assertThat(place.waitNanos()).isEqualTo(1_000);
    assertThat(place.turnAtNanos).isEqualTo(90 + 1_000);
    assertThat(place.isOver(60 + 2_000 - 1)).isFalse();
    assertThat(place.isOver(60 + 2_000)).isTrue();
  }

  @Test
  void seenAt_aTurnBeyondTheLastInstant_neverComes() {
    Place place = place(7_000, 5_000);
    place.seenAt(Long.MAX_VALUE - 1_000, 0);
    assertThat(place.turnAtNanos).isEqualTo(Long.MAX_VALUE);
    place.seenAt(Long.MAX_VALUE - 999, 0);
    assertThat(place.turnAtNanos).isEqualTo(Long.MAX_VALUE);
  }

  @Test
  void shrink_leavesWhatWouldNotBeRefilledYet() {
    Place place = place(7_000, 5_000);
    place.seenAt(0, 0);
    assertThat(place.shrink(1_960)).isTrue();
    assertThat(place.startNanos()).isEqualTo(7_000 - 40);
    assertThat(place.shrink(1_990)).isTrue();
    assertThat(place.withdrawal().incrementNanos()).isEqualTo(10);
    assertThat(place.shrink(2_000)).as("at its end").isFalse();
    assertThat(place.shrink(2_500)).isFalse();
  }

  @Test
  void moveUp_movesTheEndAndTheTurn_byBothClocks() {
    Place place = place(7_000, 5_000);
    place.seenAt(90, 60);
    place.moveUp(300);
    assertThat(place.endNanos).isEqualTo(6_700);
    assertThat(place.turnAtNanos).isEqualTo(90 + 700);
    assertThat(place.isOver(60 + 1_700 - 1)).isFalse();
    assertThat(place.isOver(60 + 1_700)).isTrue();
  }

  private static Place entered(Line line, long endNanos, long nowNanos, long notBeforeNanos) {
    Place place = place(endNanos, nowNanos);
    place.state = State.WAITING;
    place.seenAt(notBeforeNanos, notBeforeNanos);
    line.add(place);
    return place;
  }

  /** The clock here is ahead of the store's: by 200 as the slow answer says, and by 100. */
  @Test
  void add_aLaterPlaceWithAFasterAnswer_teachesTheEarlierOne() {
    Line line = new Line("1:a");
    Place slow = entered(line, 7_000, 5_000, 5_200);
    assertThat(slow.turnAtNanos).isEqualTo(6_200);
    Place fast = entered(line, 7_100, 5_010, 5_110);
    assertThat(fast.turnAtNanos).isEqualTo(6_200);
    assertThat(slow.turnAtNanos).isEqualTo(6_100);
  }

  @Test
  void add_aPlaceOfTheSameInstant_teachesToo() {
    Line line = new Line("1:a");
    Place slow = entered(line, 7_000, 5_000, 5_200);
    Place fast = entered(line, 7_100, 5_000, 5_100);
    assertThat(fast.behind).isNull();
    assertThat(slow.turnAtNanos).isEqualTo(6_100);
  }

  @Test
  void add_aLaterPlaceWithASlowerAnswer_teachesNothing() {
    Line line = new Line("1:a");
    Place fast = entered(line, 7_000, 5_000, 5_100);
    Place slow = entered(line, 7_100, 5_010, 5_300);
    assertThat(fast.turnAtNanos).isEqualTo(6_100);
    assertThat(slow.turnAtNanos).isEqualTo(6_390);
    assertThat(line.first()).isSameAs(fast);
  }

  /** One whose tokens were there is taught no instant of its future. */
  @Test
  void add_besideOneWhoseTurnHasCome_leavesThatInThePast() {
    Line line = new Line("1:a");
    Place come = entered(line, 5_500, 5_000, 5_200);
    assertThat(come.waitNanos()).isZero();
    Place fast = entered(line, 7_100, 5_010, 5_110);
    assertThat(fast.before).isSameAs(come);
    assertThat(come.turnAtNanos).isEqualTo(5_500 - OFFSET + 100);
  }
}
