// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.WaitQueues.Place;
import dev.sluice.WaitQueues.Turn;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Alarms and withdrawals, on a clock that a test moves. */
final class WaitQueuesAlarmTest {

  private static final long START = 1_700_000_000_000_000_000L; // of both clocks
  private static final long OFFSET = 1_000;
  private static final long HOUR = Duration.ofHours(1).toNanos();
  private static final LimitName LIMIT =
      LimitName.builder(1, "A").longestWait(Duration.ofDays(1)).build();

  private final HandClock clock = new HandClock(START);
  private final List<List<Charge>> withdrawals = new ArrayList<>();
  private final List<String> come = new ArrayList<>();
  private @Nullable StoreException refusal;
  private boolean isLowering;

  private final WaitQueues queues =
      new WaitQueues(
          clock,
          () -> OptionalLong.of(clock.nanos),
          charges -> {
            withdrawals.add(charges);
            if (refusal != null) {
              throw refusal;
            }
          },
          key -> isLowering);

  /** A place of 100 ns in the bucket 1:a, whose turn comes at that time after the start. */
  private static Place place(long turnNanos) {
    return new Place("1:a", LIMIT, 100, OFFSET, START + turnNanos + OFFSET, START);
  }

  @CanIgnoreReturnValue
  private Turn waits(String name, long turnNanos) {
    return queues.enter(List.of(place(turnNanos)), queues.asks(), () -> come.add(name));
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
    assertThat(queues.size()).isZero();
  }

  @Test
  void giveUp_theOnlyOne_leavesNoAlarm() {
    Turn turn = waits("only", HOUR);
    assertThat(queues.giveUp(turn)).isTrue();
    assertThat(clock.set()).isEmpty();
    assertThat(queues.size()).isZero();
    assertThat(queues.giveUp(turn)).as("a second time").isFalse();
    assertThat(withdrawals).hasSize(1);
  }

  @Test
  void giveUp_aTurnThatHasCome_isRefused() {
    Turn turn = waits("only", HOUR);
    clock.pass(START + HOUR);
    assertThat(come).containsExactly("only");
    assertThat(queues.giveUp(turn)).isFalse();
    assertThat(withdrawals).isEmpty();
  }

  /** Its tokens are there, and nobody wants them: the store takes them back. */
  @Test
  void leave_aTurnThatHasCome_withdraws() {
    Turn turn = waits("only", HOUR);
    clock.pass(START + HOUR);
    queues.leave(turn);
    assertThat(withdrawals).hasSize(1);
    assertThat(withdrawals.get(0))
        .extracting(Charge::key, Charge::incrementNanos, Charge::untilNanos)
        .containsExactly(tuple("1:a", 100L, START + HOUR + OFFSET));
    assertThat(queues.size()).isZero();
  }

  /** Its alarm is late, and somebody gives up in between. */
  @Test
  void giveUp_whileTheBucketIsLowered_letsThosePassWhoseTurnItIs() {
    isLowering = true;
    Turn leaving = waits("leaving", HOUR);
    Turn behind = waits("behind", HOUR + 100);
    clock.nanos = START + HOUR + 100;
    assertThat(queues.giveUp(leaving)).isTrue();
    assertThat(behind.hasCome()).isTrue();
    assertThat(withdrawals).isEmpty();
    assertThat(come).isEmpty();
    clock.pass(START + HOUR + 100);
    assertThat(come).containsExactly("behind");
  }

  @Test
  void giveUp_whileTheBucketIsLowered_withdrawsNothing() {
    isLowering = true;
    Turn leaving = waits("leaving", HOUR);
    waits("behind", HOUR + 100);
    assertThat(queues.giveUp(leaving)).isTrue();
    assertThat(queues.size()).isOne();
    assertThat(withdrawals).isEmpty();
  }

  /** A store that is closed, say: what was taken stays taken, and the place is free. */
  @Test
  void giveUp_aStoreThatRefuses_leavesNoPlace() {
    refusal = new StoreException("closed");
    Turn leaving = waits("leaving", HOUR);
    Turn behind = waits("behind", HOUR + 150);
    assertThat(queues.giveUp(leaving)).isTrue();
    assertThat(queues.size()).isOne();
    assertThat(queues.leftNanos(behind)).isEqualTo(HOUR + 150);
    clock.pass(START + HOUR);
    assertThat(come).isEmpty();
    assertThat(clock.set()).containsExactly(START + HOUR + 150);
  }

  /** Of two buckets, this process lowered one since the caller asked. */
  @Test
  void giveUp_aBucketThatWasLoweredSince_staysSpent() {
    Place other = new Place("1:b", LIMIT, 100, OFFSET, START + HOUR + OFFSET, START);
    Turn leaving = queues.enter(List.of(place(HOUR), other), queues.asks(), () -> {});
    queues.lowered("1:a", 0);
    assertThat(queues.giveUp(leaving)).isTrue();
    assertThat(withdrawals).hasSize(1);
    assertThat(withdrawals.get(0)).extracting(Charge::key).containsExactly("1:b");
    assertThat(queues.size()).isZero();
  }

  /** The store decides whether others took tokens behind it; those keep their time. */
  @Test
  void giveUp_amongOthers_withdrawsAndMovesNobody() {
    waits("first", HOUR);
    Turn leaving = waits("leaving", HOUR + 100);
    Turn last = waits("last", HOUR + 200);
    assertThat(queues.giveUp(leaving)).isTrue();
    assertThat(withdrawals).hasSize(1);
    assertThat(queues.leftNanos(last)).isEqualTo(HOUR + 200);
    clock.pass(START + HOUR + 200);
    clock.pass(START + HOUR + 200);
    assertThat(come).containsExactlyInAnyOrder("first", "last");
  }

  /** The answer to the first one took 1,000 ns, and that to the other one took none. */
  @Test
  void enter_aSlowAnswer_passesNoLaterThanTheOneBehind() {
    Turn behind = waits("behind", HOUR + 100);
    Turn first = slow("first", HOUR);
    assertThat(queues.leftNanos(first)).isEqualTo(HOUR + 100 - 1_000);
    clock.pass(START + HOUR + 99);
    assertThat(come).isEmpty();
    clock.pass(START + HOUR + 100);
    clock.pass(START + HOUR + 100);
    assertThat(come).containsExactlyInAnyOrder("first", "behind");
    assertThat(behind.hasCome()).isTrue();
  }

  @Test
  void enter_behindSlowAnswers_hurriesThemAll() {
    Turn first = slow("first", HOUR);
    Turn second = slow("second", HOUR + 100);
    clock.nanos = START;
    waits("behind", HOUR + 200);
    clock.pass(START + HOUR + 200);
    assertThat(first.hasCome()).isTrue();
    assertThat(second.hasCome()).isTrue();
  }

  /** A place whose wait is counted from 1,000 ns after the decision. */
  private Turn slow(String name, long turnNanos) {
    clock.nanos = START + 1_000;
    return queues.enter(List.of(place(turnNanos)), clock.nanos, () -> come.add(name));
  }
}
