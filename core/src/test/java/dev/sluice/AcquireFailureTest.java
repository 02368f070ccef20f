package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Waiting where the store can not decide, and where it fails later. */
class AcquireFailureTest {

  private static final long START = 1_700_000_000_000_000_000L;
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final LimitName NAME =
      LimitName.builder(1, "Outbound").longestWait(Duration.ofHours(1)).build();

  private final AtomicLong now = new AtomicLong(START);
  private boolean isDown;

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
      };

  private Limiter limiter(FailureRule rule) {
    Limits limits =
        Limits.builder(Catalogue.of(NAME))
            .limit("Outbound", Quota.per(4, Duration.ofSeconds(4)))
            .build();
    return Limiter.builder(new CurrentLimits(limits), store).time(now::get).onFailure(rule).build();
  }

  private static CompletableFuture<Decision> acquire(Limiter limiter) {
    return limiter.async().acquire("Outbound", "x", 1, MINUTE).toCompletableFuture();
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
        .as("behind the third, which moved up")
        .isEqualTo(Duration.ofSeconds(8));
    assertThat(third).isNotDone();
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
