// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.PendingAcquire.Parking;
import dev.sluice.WaitQueues.Place;
import dev.sluice.WaitQueues.Turn;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;

/** A caller that waits on its own thread: how long it sleeps, and what wakes it. */
final class PendingAcquireTest {

  private static final long START = 1_700_000_000_000_000_000L;
  private static final long OFFSET = 1_000;
  private static final long SECOND = 1_000_000_000L;
  private static final LimitName CALLS =
      LimitName.builder(1, "Calls").longestWait(Duration.ofDays(1)).build();
  private static final Decision DECISION =
      Limiter.of(BucketStore.inMemory(() -> START))
          .spend(Transaction.of(CALLS, Quota.per(1, Duration.ofSeconds(1)), "x"));

  private final HandClock clock = new HandClock(START);
  private final List<Charge> withdrawn = new ArrayList<>();
  private final List<String> heard = new ArrayList<>();
  private final WaitQueues queues =
      new WaitQueues(clock, () -> OptionalLong.of(clock.nanos), withdrawn::addAll, key -> false);
  private final LimiterObserver observer =
      new LimiterObserver() {
        @Override
        public void waits(LimitName limit) {
          heard.add("waits");
        }

        @Override
        public void waited(LimitName limit, Ending ending, long waitedNanos) {
          heard.add(ending + " " + waitedNanos);
        }
      };

  /** A thread that sleeps as a test says. */
  private final class Sleeper implements Parking {
    private final List<Long> slept = new ArrayList<>();
    private final LongConsumer sleep;

    Sleeper(LongConsumer sleep) {
      this.sleep = sleep;
    }

    @Override
    public <T> T await(CompletableFuture<T> future) {
      throw new AssertionError("a grant asks no store");
    }

    @Override
    public Runnable wakeUp() {
      return () -> {}; // told on a thread of an alarm
    }

    @Override
    public void park(Object why, long nanos) {
      assertThat(slept.size()).as("it does not sleep for ever").isLessThan(10);
      slept.add(nanos);
      sleep.accept(nanos);
    }
  }

  private PendingAcquire grant(Place... places) {
    return new PendingAcquire(DECISION, queues, List.of(places), queues.asks(), observer);
  }

  private static Place place(long waitNanos) {
    return new Place("1:x", CALLS, 100, OFFSET, START + waitNanos + OFFSET, START);
  }

  @Test
  void await_ofNothing_doesNotSleep() throws InterruptedException {
    Sleeper sleeper = new Sleeper(nanos -> {});
    grant().await(sleeper);
    grant(place(0)).await(sleeper);
    assertThat(sleeper.slept).isEmpty();
    assertThat(heard).isEmpty();
  }

  @Test
  void await_sleepsForTheRest_andLooksAgainWhereItWokeEarly() throws InterruptedException {
    Sleeper sleeper = new Sleeper(nanos -> clock.nanos += Math.min(nanos, SECOND));
    grant(place(3 * SECOND - 5)).await(sleeper);
    assertThat(sleeper.slept).containsExactly(3 * SECOND - 5, 2 * SECOND - 5, SECOND - 5);
    assertThat(heard).containsExactly("waits", "PASSED " + (3 * SECOND - 5));
    assertThat(withdrawn).isEmpty();
  }

  @Test
  void await_looksAwayForAMillisecondAtLeast() throws InterruptedException {
    Sleeper sleeper = new Sleeper(nanos -> clock.nanos += Math.min(nanos, 70));
    grant(place(100)).await(sleeper);
    assertThat(sleeper.slept).containsExactly(100L, 1_000_000L);
  }

  /** Another thread looks at the clock, and lets this one pass before it wakes. */
  @Test
  void await_whoseTurnComesWhileItSleeps_passes() throws InterruptedException {
    Turn other = queues.enter(List.of(place(2 * SECOND)), queues.asks(), () -> {});
    Sleeper sleeper =
        new Sleeper(
            nanos -> {
              clock.nanos += nanos;
              queues.look(other);
              Thread.currentThread().interrupt();
            });
    grant(place(SECOND)).await(sleeper);
    assertThat(Thread.interrupted()).as("the interrupt is for later").isTrue();
    assertThat(heard).containsExactly("waits", "PASSED " + SECOND);
  }

  @Test
  void await_interrupted_givesBack() {
    Sleeper sleeper = new Sleeper(nanos -> Thread.currentThread().interrupt());
    assertThatThrownBy(() -> grant(place(SECOND)).await(sleeper))
        .isInstanceOf(InterruptedException.class)
        .hasMessage(
            "interrupted while waiting; the tokens are given back unless another caller has taken tokens since");
    assertThat(heard).containsExactly("waits", "GIVEN_UP 0");
    assertThat(withdrawn).hasSize(1);
    assertThat(Thread.interrupted()).isFalse();
  }

  /** A thread that sleeps for an hour, until somebody wakes it. */
  @Test
  void parking_ofThreads_sleepsUntilWoken() throws Exception {
    CompletableFuture<Runnable> wakeUp = new CompletableFuture<>();
    Thread sleeper =
        new Thread(
            () -> {
              wakeUp.complete(Parking.OF_THREADS.wakeUp());
              Parking.OF_THREADS.park(this, Duration.ofHours(1).toNanos());
            });
    sleeper.start();
    Runnable wake = wakeUp.get();
    while (sleeper.getState() != Thread.State.TIMED_WAITING) {
      assertThat(sleeper.isAlive()).as("asleep, or on its way").isTrue();
      Thread.onSpinWait();
    }
    wake.run();
    sleeper.join(Duration.ofSeconds(30).toMillis());
    assertThat(sleeper.isAlive()).isFalse();
  }
}
