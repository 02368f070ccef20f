package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.redis.RedisObserver.State;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class BreakerTest {

  private final List<State> states = new CopyOnWriteArrayList<>();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final Breaker breaker =
      new Breaker(
          "there",
          3,
          1_000_000,
          () -> CompletableFuture.completedFuture("PONG"),
          timer,
          new RedisObserver() {
            @Override
            public void changed(String server, State state, String reason) {
              states.add(state);
            }
          });

  @AfterEach
  void stop() {
    breaker.close();
    timer.shutdownNow();
  }

  private void failTimes(int times) {
    for (int i = 0; i < times; i++) {
      breaker.failed("no answer");
    }
  }

  private void comeBack() {
    failTimes(3);
    await().until(() -> states.contains(State.ASKED));
    states.clear();
  }

  @Test
  void failed_rightAfterItCameBack_givesUpAtOnce() {
    comeBack();
    failTimes(1);
    assertThat(states).startsWith(State.GIVEN_UP);
  }

  @Test
  void failed_afterItCameBackAndAnswered_countsFromTheBeginning() {
    comeBack();
    breaker.answered();
    failTimes(2);
    assertThat(states).isEmpty();
    failTimes(1);
    assertThat(states).startsWith(State.GIVEN_UP);
  }
}
