// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.LimitName;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Alarms and holes, on a clock that a test moves: what rings, and what is given back. */
final class WaitingRoomAlarmTest {

  private static final long START = 1_700_000_000_000_000_000L; // of both clocks
  private static final long OFFSET = 1_000;
  private static final long HOUR = Duration.ofHours(1).toNanos();
  private static final LimitName LIMIT =
      LimitName.builder(1, "A").longestWait(Duration.ofDays(1)).build();

  private final HandClock clock = new HandClock(START);
  private final List<List<Charge>> withdrawals = new ArrayList<>();
  private final List<CompletableFuture<List<Reading>>> answers = new ArrayList<>();
  private final List<String> come = new ArrayList<>();
  private @Nullable StoreException refusal;
  private boolean isLowering;

  private final WaitingRoom room =
      new WaitingRoom(
          clock,
          () -> OptionalLong.of(clock.nanos),
          charges -> {
            withdrawals.add(charges);
            if (refusal != null) {
              throw refusal;
            }
            answers.add(new CompletableFuture<>());
            return answers.get(answers.size() - 1);
          },
          key -> isLowering);

  /** A place of 100 ns in the bucket 1:a, whose turn comes at that time after the start. */
  private static Place place(long turnNanos) {
    return new Place("1:a", LIMIT, 100, OFFSET, START + turnNanos + OFFSET, START);
  }

  @CanIgnoreReturnValue
  private Turn waits(String name, long turnNanos) {
    return room.enter(List.of(place(turnNanos)), room.asks(), () -> come.add(name));
  }

  private static Reading found(long turnNanos) {
    return new Reading(START, START + turnNanos + OFFSET);
  }

  @Test
  void enter_setsOneAlarm_forTheFirst() {
    waits("second", HOUR + 100);
    assertThat(clock.set()).containsExactly(START + HOUR + 100);
    waits("first", HOUR);
    assertThat(clock.set()).as("the later one is cancelled").containsExactly(START + HOUR);
    waits("third", HOUR + 200);
    assertThat(clock.set()).containsExactly(START + HOUR);
    clock.pass(START + HOUR);
    assertThat(come).containsExactly("first");
    assertThat(clock.set()).containsExactly(START + HOUR + 100);
    clock.pass(START + HOUR + 200);
    assertThat(come).as("one on this thread, the other by an alarm of its own").contains("third");
    clock.pass(START + HOUR + 200);
    assertThat(come).containsExactlyInAnyOrder("first", "second", "third");
    assertThat(clock.set()).isEmpty();
    assertThat(room.size()).isZero();
  }

  @Test
  void giveUp_theOnlyOne_leavesNoAlarm() {
    Turn turn = waits("only", HOUR);
    assertThat(room.giveUp(turn)).isTrue();
    answers.get(0).complete(List.of(found(HOUR)));
    assertThat(clock.set()).isEmpty();
    assertThat(room.size()).isZero();
    assertThat(room.giveUp(turn)).as("a second time").isFalse();
    assertThat(withdrawals).hasSize(1);
  }

  @Test
  void giveUp_aTurnThatHasCome_isRefused() {
    Turn turn = waits("only", HOUR);
    clock.pass(START + HOUR);
    assertThat(come).containsExactly("only");
    assertThat(room.giveUp(turn)).isFalse();
    assertThat(withdrawals).isEmpty();
  }

  /** Its tokens are there, and nobody wants them: the store takes them back. */
  @Test
  void leave_aTurnThatHasCome_givesBack() {
    Turn turn = waits("only", HOUR);
    clock.pass(START + HOUR);
    room.leave(turn);
    assertThat(withdrawals).hasSize(1);
    assertThat(withdrawals.get(0))
        .extracting(Charge::key, Charge::incrementNanos, Charge::untilNanos)
        .containsExactly(tuple("1:a", 100L, START + HOUR + OFFSET));
    answers.get(0).complete(List.of(found(HOUR)));
    assertThat(room.size()).isZero();
  }

  @Test
  void leave_whenAllIsRefilled_givesNothingBack() {
    Turn turn = waits("only", HOUR);
    clock.pass(START + HOUR + OFFSET);
    room.leave(turn);
    assertThat(withdrawals).isEmpty();
    assertThat(room.size()).isZero();
  }

  /** Its alarm is late, and somebody gives up in between. */
  @Test
  void giveUp_aFixedPlace_letsThosePassWhoseTurnItIs() {
    isLowering = true;
    Turn leaving = waits("leaving", HOUR);
    Turn behind = waits("behind", HOUR + 100);
    clock.nanos = START + HOUR + 100;
    assertThat(room.giveUp(leaving)).isTrue();
    assertThat(behind.hasCome()).isTrue();
    assertThat(withdrawals).isEmpty();
    assertThat(come).isEmpty();
    clock.pass(START + HOUR + 100);
    assertThat(come).containsExactly("behind");
  }

  @Test
  void giveUp_aFixedPlace_freesItAtOnce() {
    isLowering = true;
    Turn leaving = waits("leaving", HOUR);
    waits("behind", HOUR + 100);
    assertThat(room.giveUp(leaving)).isTrue();
    assertThat(room.size()).isOne();
    assertThat(withdrawals).isEmpty();
  }

  /** Nothing is left of the hole when the next one would move up into it. */
  @Test
  void giveUp_whatIsRefilled_movesNobodyUp() {
    Turn leaving = waits("leaving", HOUR);
    Turn behind = waits("behind", HOUR + 100);
    clock.nanos = START + HOUR + OFFSET;
    assertThat(room.giveUp(leaving)).isTrue();
    assertThat(withdrawals).isEmpty();
    assertThat(behind.hasCome()).isTrue();
    clock.pass(clock.nanos);
    assertThat(come).containsExactly("behind");
    assertThat(room.size()).isZero();
  }

  /** A hole that another process followed stays, and the next one from here moves up into it. */
  @Test
  void enter_directlyBehindAHole_movesUpIntoIt_andTheStoreIsAsked() {
    assertThat(room.giveUp(waits("leaving", HOUR))).isTrue();
    answers.get(0).complete(List.of(found(HOUR + 100)));
    assertThat(room.size()).as("the hole stays").isOne();
    assertThat(withdrawals).hasSize(1);
    Turn behind = waits("behind", HOUR + 100);
    assertThat(room.leftNanos(behind)).isEqualTo(HOUR);
    assertThat(withdrawals).as("the hole lies behind now").hasSize(2);
    assertThat(withdrawals.get(1).get(0).untilNanos()).isEqualTo(START + HOUR + 100 + OFFSET);
    answers.get(1).complete(List.of(found(HOUR + 100)));
    assertThat(room.size()).isOne();
  }

  @Test
  void enter_furtherBehindAHole_leavesIt() {
    assertThat(room.giveUp(waits("leaving", HOUR))).isTrue();
    answers.get(0).complete(List.of(found(HOUR + 100)));
    Turn behind = waits("behind", HOUR + 150);
    assertThat(room.leftNanos(behind)).isEqualTo(HOUR + 150);
    assertThat(withdrawals).hasSize(1);
    clock.pass(START + HOUR);
    assertThat(room.size()).as("the time of the hole is over").isOne();
    assertThat(come).isEmpty();
  }

  /** Two holes in a row, of which the earlier one is refilled before the other one closes. */
  @Test
  void giveUp_behindAHoleThatIsRefilled_removesThat() {
    assertThat(room.giveUp(waits("first", HOUR))).isTrue();
    answers.get(0).complete(List.of(found(HOUR + 100)));
    Turn second = room.enter(List.of(place(HOUR + 150)), room.asks(), () -> come.add("second"));
    Turn third = waits("third", HOUR + 250);
    clock.nanos = START + HOUR + OFFSET;
    assertThat(room.giveUp(second)).isTrue();
    clock.pass(clock.nanos);
    assertThat(third.hasCome()).isTrue();
    assertThat(come).containsExactly("third");
    answers.get(1).complete(List.of(found(HOUR + 250)));
    assertThat(room.size()).isZero();
  }

  /** The first of two holes is fixed since this process lowered the bucket; the second is not. */
  @Test
  void giveUp_behindAHoleThatIsFixed_removesThat() {
    Turn first = waits("first", HOUR);
    clock.nanos += 10;
    assertThat(room.giveUp(first)).isTrue();
    room.lowered("1:a", 0);
    clock.nanos += 10;
    Turn second = waits("second", HOUR + 100);
    assertThat(room.giveUp(second)).isTrue();
    answers.get(0).complete(List.of(found(HOUR + 100)));
    Turn third = waits("third", HOUR + 200);
    assertThat(room.size()).isEqualTo(3);
    answers.get(1).complete(List.of(found(HOUR + 200)));
    assertThat(room.size()).as("the third, and the second hole behind it").isEqualTo(2);
    assertThat(room.leftNanos(third)).isEqualTo(HOUR + 100);
    assertThat(withdrawals).hasSize(3);
  }

  /** A store that is closed, say: what was taken stays taken, and the place is free. */
  @Test
  void giveUp_aStoreThatRefuses_leavesNoPlace() {
    refusal = new StoreException("closed");
    Turn leaving = waits("leaving", HOUR);
    Turn behind = waits("behind", HOUR + 150);
    assertThat(room.giveUp(leaving)).isTrue();
    assertThat(room.size()).isOne();
    assertThat(room.leftNanos(behind)).isEqualTo(HOUR + 150);
    clock.pass(START + HOUR);
    assertThat(come).isEmpty();
    assertThat(clock.set()).containsExactly(START + HOUR + 150);
  }

  /** A hole has its time, too: nobody passes then, and the alarm of the next one is set. */
  @Test
  void hole_whoseTimeIsOver_makesRoomForTheNextAlarm() {
    Turn leaving = waits("leaving", HOUR);
    waits("behind", HOUR + 150);
    assertThat(room.giveUp(leaving)).isTrue();
    answers.get(0).complete(List.of(found(HOUR + 150)));
    assertThat(room.size()).isEqualTo(2);
    clock.pass(START + HOUR);
    assertThat(room.size()).isOne();
    assertThat(come).isEmpty();
    assertThat(clock.set()).containsExactly(START + HOUR + 150);
    clock.pass(START + HOUR + 150);
    assertThat(come).containsExactly("behind");
  }

  /** The race: the answer comes late, and the turn of the next one has come before its alarm. */
  @Test
  void withdrawn_lateAnswer_letsThosePassWhoseTurnItIs() {
    Turn leaving = waits("leaving", HOUR);
    Turn behind = waits("behind", HOUR + 150);
    assertThat(room.giveUp(leaving)).isTrue();
    clock.nanos = START + HOUR + 150;
    answers.get(0).complete(List.of(found(HOUR + 150)));
    assertThat(behind.hasCome()).isTrue();
  }
}
