// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.LimiterObserver.Ending;
import dev.sluice.WaitQueues.Place;
import dev.sluice.WaitQueues.Turn;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.LimitName;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The result of a spend whose caller is allowed to wait for the tokens.
 *
 * @param queues the queues in which the caller waits
 * @param places the tokens that the spend took; empty if it was denied or no limit applies
 * @param askedNanos the time before the store call, by the clock of the queues
 * @param observer the observer that is told when the wait starts and ends
 */
record PendingAcquire(
    Decision decision,
    WaitQueues queues,
    List<Place> places,
    long askedNanos,
    LimiterObserver observer) {

  /** The shortest time between two checks of the clock. */
  private static final long LOOK_AGAIN_NANOS = 1_000_000;

  /** Throws an exception if the calling thread was interrupted before any token was taken. */
  static void requireNotInterrupted() throws InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException(
          "interrupted before the store was called; no tokens were taken");
    }
  }

  /**
   * Blocks the caller's thread until the caller's tokens have refilled.
   *
   * @param parking the object that blocks and wakes the thread
   * @throws InterruptedException if the thread was interrupted before its tokens had refilled
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
              "interrupted while waiting; the tokens are given back unless another caller has taken tokens since");
        }
        // The tokens have refilled, so it is too late to give them back.
        Thread.currentThread().interrupt();
        break;
      }
      queues.look(turn);
      leftNanos = Math.max(queues.leftNanos(turn), LOOK_AGAIN_NANOS);
    }
    wait.passed();
  }

  void giveUp() {
    CompletableFuture<Decision> nobody = new CompletableFuture<>();
    nobody.cancel(false);
    complete(nobody);
  }

  /** Completes a future when the tokens have refilled; if the future fails, gives them back. */
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

  /** Reports the start and the end of one caller's wait to an observer. Thread-safe. */
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
     * Reports the start of a wait.
     *
     * @param places the tokens taken from each bucket; tokens that were already in the bucket need
     *     no wait
     * @param clock the clock that measures the wait
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

  /**
   * Blocks and wakes the threads of callers; a simulator has its own implementation. Thread-safe.
   */
  interface Parking {

    Parking OF_THREADS =
        new Parking() {
          @Override
          public <T> T await(CompletableFuture<T> future)
              throws InterruptedException, ExecutionException {
            return future.get();
          }

          @Override
          public Runnable wakeUp() {
            Thread caller = Thread.currentThread();
            return () -> LockSupport.unpark(caller);
          }

          @Override
          public void park(Object why, long nanos) {
            LockSupport.parkNanos(why, nanos);
          }
        };

    <T> T await(CompletableFuture<T> future) throws InterruptedException, ExecutionException;

    /** Returns a task that any thread can run to wake up the calling thread from {@link #park}. */
    Runnable wakeUp();

    /**
     * Blocks the calling thread until it is woken up or interrupted, or until the time is over. Can
     * return earlier.
     *
     * @param why the object that thread dumps show as the reason for blocking
     */
    void park(Object why, long nanos);
  }
}
