// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.PendingAcquire.Parking;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Waiting where the store cannot decide, and where it fails later. */
class AcquireFailureTest {

  private static final long START = 1_700_000_000_000_000_000L;
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final LimitName NAME =
      LimitName.builder(1, "Outbound").longestWait(Duration.ofHours(1)).build();

  private final AtomicLong now = new AtomicLong(START);
  private final CountDownLatch asked = new CountDownLatch(1);
  private boolean isDown;
  private volatile CompletableFuture<Void> answers = CompletableFuture.completedFuture(null);

  private final BucketStore store =
      new BucketStore() {
        private final BucketStore memory = BucketStore.inMemory(now::get);

        @Override
        public List<Reading> charge(List<Charge> charges) {
          if (isDown) {
            throw new StoreException("out of order");
          }
          return memory.charge(charges);
        }

        @Override
        public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
          CompletableFuture<Void> gate = answers;
          CompletableFuture<List<Reading>> charged = new CompletableFuture<>();
          try {
            charged.complete(charge(charges));
          } catch (StoreException e) {
            charged.completeExceptionally(e);
          }
          asked.countDown();
          return gate.thenCompose(open -> charged);
        }
      };

  private Limiter limiter(FailureRule rule) {
    Limits limits =
        Limits.builder(Catalogue.of(NAME))
            .limit("Outbound", Quota.per(4, Duration.ofSeconds(4)))
            .build();
    return Limiter.builder(new CurrentLimits(limits), store).time(now::get).onFailure(rule).build();
  }

  private static CompletableFuture<Decision> acquire(Limiter limiter) {
    return acquire(limiter.async());
  }

  private static CompletableFuture<Decision> acquire(AsyncLimiter limiter) {
    return limiter.acquire("Outbound", "x", 1, MINUTE).toCompletableFuture();
  }

  @Test
  void acquire_storeFailsWithoutARule_throws() {
    isDown = true;
    Limiter limiter = limiter(FailureRule.fail());
    assertThatThrownBy(() -> limiter.acquire("Outbound", "x", MINUTE).orThrow())
        .isInstanceOf(StoreException.class);
    assertThatThrownBy(() -> acquire(limiter).join())
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(StoreException.class);
  }

  @Test
  void acquire_storeFailsWithARule_doesNotWait() throws InterruptedException {
    isDown = true;
    Decision allowed = limiter(FailureRule.allow()).acquire("Outbound", "x", MINUTE);
    assertThat(allowed.allowed()).isTrue();
    assertThat(allowed.degraded()).isTrue();
    assertThat(limiter(FailureRule.deny()).acquire("Outbound", "x", MINUTE).denied()).isTrue();
  }

  @Test
  void acquire_storeFailsWithLocal_waitsForTheShare() {
    isDown = true;
    Limiter limiter = limiter(FailureRule.local(4)); // one token, each four seconds
    assertThat(acquire(limiter).join().allowed()).isTrue();
    CompletableFuture<Decision> second = acquire(limiter);
    CompletableFuture<Decision> third = acquire(limiter);
    assertThat(second).isNotDone();
    assertThat(second.cancel(false)).isTrue();
    assertThat(limiter.check("Outbound", "x").retryIn())
        .as("behind the third, which keeps its time")
        .isEqualTo(Duration.ofSeconds(12));
    assertThat(third).isNotDone();
  }

  /** Those who wait for the store's tokens and those who wait for a share's tokens, together. */
  @Test
  void acquire_whileAllPlacesAreTaken_isDeniedAtOnce() {
    CurrentLimits limits =
        new CurrentLimits(
            Limits.builder(Catalogue.of(NAME))
                .limit("Outbound", Quota.per(1, Duration.ofSeconds(4)))
                .build());
    FailureRules rules = new FailureRules(FailureRule.local(1), Map.of(), now::get, () -> 0, 9);
    Engine engine =
        new Engine(
            limits,
            store,
            Engine.NOBODY,
            rules,
            MissingDefault.REFUSE,
            now::get,
            Parking.OF_THREADS,
            2);
    AsyncLimiter limiter = new AsyncLimiter(limits, engine);
    assertThat(acquire(limiter).join().allowed()).isTrue();
    assertThat(acquire(limiter)).isNotDone();
    isDown = true;
    assertThat(acquire(limiter).join().degraded()).isTrue();
    CompletableFuture<Decision> last = acquire(limiter);
    assertThat(last).isNotDone();
    CompletableFuture<Decision> third = acquire(limiter);
    assertThat(third).isDone();
    assertThat(third.join().denied()).isTrue();
    assertThat(third.join().retryIn()).isEqualTo(Duration.ofSeconds(8));
    isDown = false;
    assertThat(acquire(limiter)).isDone();
    assertThat(last.cancel(false)).isTrue();
    assertThat(acquire(limiter)).isNotDone();
  }

  @Test
  void interrupt_whileTheStoreIsAsked_givesBackWhatItTook_whenItHasAnswered() throws Exception {
    Limiter limiter = limiter(FailureRule.fail());
    CompletableFuture<Void> late = new CompletableFuture<>();
    answers = late;
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    Thread caller =
        new Thread(
            () -> {
              try {
                var unused = limiter.acquire("Outbound", "x", MINUTE);
              } catch (InterruptedException | RuntimeException e) {
                thrown.complete(e);
              }
            });
    caller.start();
    asked.await();
    caller.interrupt();
    caller.join();
    answers = CompletableFuture.completedFuture(null);

    assertThat(thrown.join()).isInstanceOf(InterruptedException.class);
    assertThat(limiter.check("Outbound", "x", 0).remaining()).isEqualTo(3);
    late.complete(null);
    assertThat(limiter.check("Outbound", "x", 0).remaining()).isEqualTo(4);
  }

  @Test
  void cancel_whileTheStoreIsAsked_givesBackWhatItTook_whenItHasAnswered() {
    Limiter limiter = limiter(FailureRule.fail());
    CompletableFuture<Void> late = new CompletableFuture<>();
    answers = late;
    CompletableFuture<Decision> waits = acquire(limiter);
    answers = CompletableFuture.completedFuture(null);
    assertThat(waits.cancel(false)).isTrue();
    assertThat(limiter.check("Outbound", "x", 0).remaining()).isEqualTo(3);
    late.complete(null);
    assertThat(limiter.check("Outbound", "x", 0).remaining()).isEqualTo(4);
  }

  @Test
  void giveUp_storeFails_tokensStaySpentAndNobodyElseIsHeldUp() {
    Limiter limiter = limiter(FailureRule.fail());
    for (int i = 0; i < 4; i++) {
      assertThat(acquire(limiter).join().allowed()).isTrue();
    }
    CompletableFuture<Decision> leaving = acquire(limiter);
    CompletableFuture<Decision> behind = acquire(limiter);
    isDown = true;
    assertThat(leaving.cancel(false)).isTrue();
    isDown = false;
    assertThat(limiter.check("Outbound", "x").retryIn())
        .as("its token is lost")
        .isEqualTo(Duration.ofSeconds(3));
    assertThat(behind).isNotDone();
    assertThat(behind.cancel(false)).isTrue();
  }
}
