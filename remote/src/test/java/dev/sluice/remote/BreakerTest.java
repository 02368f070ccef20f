// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import static dev.sluice.remote.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Observer.State;
import dev.sluice.store.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class BreakerTest {

  private static final AtomicInteger TESTS = new AtomicInteger();

  // Each test has a server of its own: a line of the test before may come late.
  private final String there = "server" + TESTS.incrementAndGet() + ".test";
  private final AtomicInteger probes = new AtomicInteger();
  private volatile int failingProbes;
  private final List<State> states = new CopyOnWriteArrayList<>();
  private final Timing timing = new SystemTiming("remote");
  private final Breaker breaker =
      new Breaker(
          there,
          3,
          1_000_000,
          this::probe,
          timing,
          new BucketStore.Observer() {
            @Override
            public void changed(String server, State state, String reason) {
              states.add(state);
            }
          },
          new StoreLog("remote"));

  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final List<List<State>> statesAtEachLine = new CopyOnWriteArrayList<>();
  private final Logger log = Logger.getLogger("dev.sluice.remote");
  private final Handler kept =
      new Handler() {
        @Override
        public void publish(LogRecord line) {
          String text = new SimpleFormatter().formatMessage(line);
          if (text.contains(there)) { // and no store of another test
            statesAtEachLine.add(List.copyOf(states));
            lines.add(text);
          }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  private CompletionStage<String> probe() {
    return probes.incrementAndGet() <= failingProbes
        ? CompletableFuture.failedFuture(new IllegalStateException("CLUSTERDOWN"))
        : CompletableFuture.completedFuture("PONG");
  }

  @BeforeEach
  void listen() {
    log.addHandler(kept);
  }

  @AfterEach
  void stop() {
    log.removeHandler(kept);
    breaker.close();
    timing.close();
  }

  private void failTimes(int times) {
    for (int i = 0; i < times; i++) {
      breaker.failed("no answer", timing.nanoTime());
    }
  }

  private void comeBack() {
    failTimes(3);
    await().until(() -> lines.size() == 2);
    states.clear();
  }

  /** A log on a slow disk delays no meter. */
  @Test
  void change_isToldToTheObserver_beforeTheLogIsWritten() {
    failTimes(3);
    await().until(() -> lines.size() == 2);
    assertThat(statesAtEachLine)
        .containsExactly(List.of(State.DOWN), List.of(State.DOWN, State.UP));
  }

  /** A server may be away for hours, and is probed all that time. */
  @Test
  void probesThatFail_areNotLogged() {
    failingProbes = 50;
    failTimes(3);
    await().until(() -> lines.size() == 2);
    assertThat(probes).hasValue(51);
    assertThat(lines)
        .containsExactly(
            "marked " + there + " down after 3 failures in a row: no answer",
            there + " answers again, and is called again");
    assertThat(states).containsExactly(State.DOWN, State.UP);
  }

  @Test
  void failed_rightAfterItCameBack_givesUpAtOnce() {
    comeBack();
    failTimes(1);
    assertThat(states).startsWith(State.DOWN);
    await().until(() -> lines.size() > 2);
    assertThat(lines)
        .startsWith(
            "marked " + there + " down after 3 failures in a row: no answer",
            there + " answers again, and is called again",
            "marked "
                + there
                + " down again, since the first call after the successful probe failed: no answer");
  }

  @Test
  void failed_afterItCameBackAndAnswered_countsFromTheBeginning() {
    comeBack();
    breaker.answered();
    failTimes(2);
    assertThat(states).isEmpty();
    failTimes(1);
    assertThat(states).startsWith(State.DOWN);
    await().until(() -> lines.size() > 2);
    assertThat(lines.get(2))
        .isEqualTo("marked " + there + " down after 3 failures in a row: no answer");
  }

  @Test
  void requireUp_whileItIsGivenUp_refusesWithTheReason() {
    failingProbes = Integer.MAX_VALUE;
    failTimes(2);
    breaker.requireUp();
    failTimes(1);
    assertThatThrownBy(breaker::requireUp)
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(there + " is marked down and was not called (no answer)");
    assertThat(breaker.server()).isEqualTo(there);
  }

  @Test
  void answered_betweenFailures_countsFromTheBeginning() {
    failTimes(2);
    breaker.answered();
    failTimes(2);
    assertThat(states).isEmpty();
  }

  /** One cut connection fails all that were on it. */
  @Test
  void failed_callsThatWereUnderWayTogether_countOnce() {
    long start = timing.nanoTime();
    for (int i = 0; i < 10; i++) {
      breaker.failed("no answer", start);
    }
    assertThat(states).isEmpty();
    failTimes(2);
    assertThat(states).startsWith(State.DOWN);
  }

  @Test
  void failed_firstAfterAnAnswer_countsHoweverEarlyItBegan() {
    long start = timing.nanoTime();
    failTimes(1);
    breaker.answered();
    breaker.failed("no answer", start);
    failTimes(2);
    assertThat(states).startsWith(State.DOWN);
  }

  @Test
  void failed_afterATrialOfOneFailure_saysAgainUntilACallIsAnswered() {
    Breaker strict =
        new Breaker(
            there,
            1,
            1_000_000,
            this::probe,
            timing,
            new BucketStore.Observer() {},
            new StoreLog("remote"));
    strict.failed("no answer", timing.nanoTime());
    await().until(() -> lines.size() == 2);
    strict.answered();
    strict.failed("no answer", timing.nanoTime());
    await().until(() -> lines.size() == 4);
    strict.failed("no answer", timing.nanoTime());
    await().until(() -> lines.size() == 6);
    strict.close();
    assertThat(List.of(lines.get(0), lines.get(2), lines.get(4)))
        .containsExactly(
            "marked " + there + " down after a failure: no answer",
            "marked " + there + " down after a failure: no answer",
            "marked "
                + there
                + " down again, since the first call after the successful probe failed: no answer");
  }

  @Test
  void probes_thatThrowOrGiveNothing_areFollowedByOthers() {
    AtomicInteger asked = new AtomicInteger();
    List<State> seen = new CopyOnWriteArrayList<>();
    Breaker odd =
        new Breaker(
            there,
            1,
            1_000_000,
            () -> oddProbe(asked.incrementAndGet()),
            timing,
            new BucketStore.Observer() {
              @Override
              public void changed(String server, State state, String reason) {
                seen.add(state);
              }
            },
            new StoreLog("remote"));
    odd.failed("no answer", timing.nanoTime());
    await().until(() -> seen.size() == 2);
    odd.close();
    assertThat(seen).containsExactly(State.DOWN, State.UP);
    assertThat(asked).hasValue(3);
  }

  @SuppressWarnings("NullAway") // as code outside of these checks may
  private static CompletionStage<String> oddProbe(int time) {
    return switch (time) {
      case 1 -> throw new NoClassDefFoundError("as the test wants");
      case 2 -> null;
      default -> CompletableFuture.completedFuture("PONG");
    };
  }
}
