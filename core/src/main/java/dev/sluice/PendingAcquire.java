// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Ending;
import dev.sluice.WaitQueues.Place;
import dev.sluice.WaitQueues.Turn;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.LimitName;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The result of a spend that may wait.
 *
 * @param queues where to wait
 * @param places the tokens taken; empty if the spend was denied or nothing limits it
 * @param askedNanos the time of the queues' clock when the store was asked
 * @param observer notified of the wait
 */
record PendingAcquire(
    Decision decision,
    WaitQueues queues,
    List<Place> places,
    long askedNanos,
    LimiterObserver observer) {

  /** The shortest time between two checks of the clock, which may be slower than the system's. */
  private static final long LOOK_AGAIN_NANOS = 1_000_000;

  /** Throws, before any token is taken, if the caller was interrupted. */
  static void requireNotInterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("interrupted before asking for tokens; no tokens were taken");
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
    WatchedWait wait = WatchedWait.begin(observer, places, queues::nowNanos);
    Turn turn = queues.enter(places, askedNanos, parking.wakeUp());
    long leftNanos = turn.hasCome() ? 0 : queues.leftNanos(turn);
    while (!turn.hasCome()) {
      parking.park(turn, leftNanos);
      if (turn.hasCome()) {
        break;
      }
      if (Thread.interrupted()) {
        if (queues.giveUp(turn)) {
          wait.givenUp();
          throw new InterruptedException(
              "interrupted while waiting; the tokens are given back unless another caller took tokens after it");
        }
        // The caller's turn has come, so it is too late to give up.
        Thread.currentThread().interrupt();
        break;
      }
      queues.look(turn);
      leftNanos = Math.max(queues.leftNanos(turn), LOOK_AGAIN_NANOS);
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
    WatchedWait wait = WatchedWait.begin(observer, places, queues::nowNanos);
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
            queues.leave(turn);
          }
        });
    Turn turn = queues.enter(places, askedNanos, () -> answer.complete(decision));
    entered.set(turn);
    if (turn.hasCome()) {
      answer.complete(decision);
    }
    if (answer.isCompletedExceptionally()) {
      queues.leave(turn);
    }
  }

  /** Reports the begin of one caller's wait to an observer, and once its end. Thread-safe. */
  private static final class WatchedWait {

    private final LimiterObserver observer;
    private final List<LimitName> limits;
    private final LongSupplier clock;
    private final long startNanos;
    private final AtomicBoolean over = new AtomicBoolean();

    private WatchedWait(LimiterObserver observer, List<LimitName> limits, LongSupplier clock) {
      this.observer = observer;
      this.limits = limits;
      this.clock = clock;
      this.startNanos = clock.getAsLong();
    }

    /**
     * Reports the begin of a wait.
     *
     * @param places the places that the caller took; some may need no wait
     * @param clock the clock that the caller waits by
     */
    static WatchedWait begin(LimiterObserver observer, List<Place> places, LongSupplier clock) {
      List<LimitName> limits =
          observer == Engine.NOBODY
              ? List.of()
              : places.stream()
                  .filter(p -> p.waitNanos() > 0)
                  .map(p -> p.limit)
                  .distinct()
                  .toList();
      WatchedWait wait = new WatchedWait(observer, limits, clock);
      limits.forEach(observer::waits);
      return wait;
    }

    void passed() {
      end(Ending.PASSED);
    }

    void givenUp() {
      end(Ending.GIVEN_UP);
    }

    private void end(Ending ending) {
      if (!limits.isEmpty() && !over.getAndSet(true)) {
        long waitedNanos = Math.max(clock.getAsLong() - startNanos, 0);
        limits.forEach(limit -> observer.waited(limit, ending, waitedNanos));
      }
    }
  }
}
