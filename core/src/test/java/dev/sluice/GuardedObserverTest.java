// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An observer that throws takes no decision from a caller: what was charged was charged. */
final class GuardedObserverTest {

  private static final Logger LOG = Logger.getLogger("dev.sluice");
  private static final Limits LIMITS =
      Limits.builder(
              Catalogue.of(
                  LimitName.builder(1, "Calls")
                      .id(IdFormat.string())
                      .longestWait(Duration.ofDays(1))
                      .build()))
          .limit("Calls", Quota.per(10, Duration.ofHours(1)))
          .build();

  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(LIMITS), BucketStore.inMemory(() -> 0))
          .observer(
              new LimiterObserver() {
                @Override
                public void decided(Act act, Decision decision, long elapsedNanos) {
                  throw new NoClassDefFoundError("metrics");
                }

                @Override
                public void stored(
                    Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
                  throw new IllegalStateException("metrics");
                }

                @Override
                public void waits(LimitName limit) {
                  throw new IllegalStateException("metrics");
                }

                @Override
                public void waited(LimitName limit, Ending ending, long waitedNanos) {
                  throw new IllegalStateException("metrics");
                }
              })
          .build();

  @BeforeEach
  void quiet() {
    LOG.setLevel(Level.OFF);
  }

  @AfterEach
  void loud() {
    LOG.setLevel(null);
  }

  @Test
  void observerThatThrows_leavesEachCallerItsAnswer() {
    assertThat(limiter.spend("Calls", "x").remaining()).isEqualTo(9);
    assertThat(limiter.limit("Calls").trySpend("x")).isTrue();
    assertThat(limiter.async().spend("Calls", "x").toCompletableFuture().join().remaining())
        .isEqualTo(7);
    try (Reservation held = limiter.reserve("Calls", "x")) {
      held.cancel();
    }
    assertThat(limiter.refund("Calls", "x", 1).remaining()).isEqualTo(8);
    limiter.reset("Calls", "x");
    assertThat(limiter.check("Calls", "x", 0).remaining()).isEqualTo(10);
    assertThat(limiter.openReservations().inFlight()).isZero();
  }

  @Test
  void observerThatThrows_keepsNoTokensOfThoseWhoWaitInVain() throws Exception {
    assertThat(limiter.acquire("Calls", "x", 10, Duration.ofHours(1)).allowed()).isTrue();
    CompletableFuture<Decision> waits =
        limiter.async().acquire("Calls", "x", 1, Duration.ofHours(1)).toCompletableFuture();
    Decision refused = limiter.acquire("Calls", "x", 10, Duration.ofMinutes(1));

    assertThat(waits.cancel(false)).isTrue();

    assertThat(refused.denied()).isTrue();
    assertThat(limiter.check("Calls", "x", 0).resetIn()).isEqualTo(Duration.ofHours(1));
  }

  /** Returns the lines that are logged. */
  private static List<LogRecord> logged(Runnable action) {
    List<LogRecord> lines = new ArrayList<>();
    Handler kept =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            lines.add(line);
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    LOG.setLevel(Level.WARNING);
    LOG.setUseParentHandlers(false);
    LOG.addHandler(kept);
    try {
      action.run();
    } finally {
      LOG.removeHandler(kept);
      LOG.setUseParentHandlers(true);
    }
    return lines;
  }

  @Test
  void observerThatThrows_isLoggedOnce_whateverItIsToldFirst() {
    for (Consumer<LimiterObserver> told : ToldObserver.everything()) {
      List<String> heard = new ArrayList<>();
      LimiterObserver guarded = new GuardedObserver(ToldObserver.throwing(heard::add));
      assertThat(logged(() -> told.accept(guarded))).hasSize(1);
      assertThat(logged(() -> told.accept(guarded))).isEmpty();
      assertThat(heard).hasSize(2);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void observer_isToldEverything_andItsFirstFailureIsLogged(boolean throwing) {
    List<String> heard = new ArrayList<>();
    LimiterObserver guarded =
        new GuardedObserver(
            throwing ? ToldObserver.throwing(heard::add) : ToldObserver.of(heard::add));
    List<LogRecord> lines =
        logged(() -> ToldObserver.everything().forEach(told -> told.accept(guarded)));
    assertThat(heard)
        .containsExactly(
            "decided 1",
            "spent 2",
            "stored 3",
            "settledEarly 4",
            "settlementLost",
            "settled 7",
            "waits Calls",
            "waited 5",
            "quotaFailed java.lang.IllegalStateException: 6");
    assertThat(lines).hasSize(throwing ? 1 : 0);
    assertThat(lines)
        .allSatisfy(
            line -> {
              assertThat(line.getMessage())
                  .startsWith("an observer of the limiter threw an exception");
              assertThat(line.getThrown()).hasMessage("metrics");
            });
  }
}
