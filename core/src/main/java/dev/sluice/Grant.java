// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.WaitingRoom.Place;
import dev.sluice.WaitingRoom.Turn;
import dev.sluice.async.Stages;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The result of a spend that may wait.
 *
 * @param room where to wait
 * @param places the tokens taken; empty if the spend was denied or nothing limits it
 * @param askedNanos the time of the room's clock when the store was asked
 * @param observer notified of the wait
 */
record Grant(
    Decision decision,
    WaitingRoom room,
    List<Place> places,
    long askedNanos,
    LimiterObserver observer) {

  /** The shortest time between two checks of the clock, which may be slower than the system's. */
  private static final long LOOK_AGAIN_NANOS = 1_000_000;

  /** Throws, before any token is taken, if the caller was interrupted. */
  static void requireNotInterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before it asked for tokens; nothing was taken");
    }
  }

  /**
   * Waits on the caller's thread until its turn has come.
   *
   * @param parking how the thread waits
   * @throws InterruptedException if the caller was interrupted, and gave up
   */
  void await(Parking parking) throws InterruptedException {
    if (places.isEmpty()) {
      return;
    }
    WatchedWait wait = WatchedWait.begin(observer, places, room::nowNanos);
    Turn turn = room.enter(places, askedNanos, parking.wakeUp());
    long leftNanos = turn.hasCome() ? 0 : room.leftNanos(turn);
    while (!turn.hasCome()) {
      parking.park(turn, leftNanos);
      if (turn.hasCome()) {
        break;
      }
      if (Thread.interrupted()) {
        if (room.giveUp(turn)) {
          wait.givenUp();
          throw new InterruptedException(
              "interrupted while waiting; the tokens are given back if nobody took any behind them");
        }
        Thread.currentThread().interrupt(); // the turn has come at the same moment
        break;
      }
      room.look(turn);
      leftNanos = Math.max(room.leftNanos(turn), LOOK_AGAIN_NANOS);
    }
    wait.passed();
  }

  /** Withdraws the tokens, since nobody waits for them. */
  void giveUp() {
    CompletableFuture<Decision> nobody = new CompletableFuture<>();
    nobody.cancel(false);
    complete(nobody);
  }

  /** Completes a future when the turn has come; gives up if other code fails or cancels it. */
  void complete(CompletableFuture<Decision> answer) {
    if (places.isEmpty()) {
      answer.complete(decision);
      return;
    }
    WatchedWait wait = WatchedWait.begin(observer, places, room::nowNanos);
    AtomicReference<@Nullable Turn> entered = new AtomicReference<>();
    Stages.onEnd(
        answer,
        (value, failure) -> {
          if (failure == null) {
            wait.passed();
            return;
          }
          wait.givenUp();
          Turn turn = entered.get();
          if (turn != null) {
            room.leave(turn);
          }
        });
    Turn turn = room.enter(places, askedNanos, () -> answer.complete(decision));
    entered.set(turn);
    if (turn.hasCome()) {
      answer.complete(decision);
    }
    if (answer.isCompletedExceptionally()) {
      room.leave(turn);
    }
  }
}
