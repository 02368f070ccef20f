// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What an observer hears of those who wait: a beginning and one end for each limit. */
class WatchedWaitTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Limits LIMITS =
      Limits.builder(
              Catalogue.of(
                  LimitName.builder(1, "Calls").longestWait(Duration.ofHours(1)).build(),
                  LimitName.builder(2, "Orders").longestWait(Duration.ofHours(1)).build()))
          .limit("Calls", Quota.per(1, SECOND))
          .limit("Orders", Quota.per(1, Duration.ofSeconds(2)))
          .build();

  private final List<String> heard = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch waits = new CountDownLatch(1);
  private final Semaphore ends = new Semaphore(0);
  private final AtomicLong now = new AtomicLong(1_700_000_000_000_000_000L);
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(LIMITS), BucketStore.inMemory(now::get))
          .time(now::get)
          .observer(
              new LimiterObserver() {
                @Override
                public void waits(LimitName limit) {
                  heard.add("waits for " + limit);
                  waits.countDown();
                }

                @Override
                public void waited(LimitName limit, Ending ending, long waitedNanos) {
                  heard.add(ending + " " + limit + " " + Duration.ofNanos(waitedNanos));
                  ends.release();
                }
              })
          .build();

  /** The race: a caller that waits for an answer may go on before the observer has heard of it. */
  private void awaitEnds(int count) throws InterruptedException {
    assertThat(ends.tryAcquire(count, 60, TimeUnit.SECONDS)).isTrue();
  }

  private CompletableFuture<Decision> acquire(Duration maxWait) {
    return limiter.async().acquire("Calls", "x", 1, maxWait).toCompletableFuture();
  }

  @Test
  void acquire_whatIsThere_isNoWait() {
    assertThat(acquire(SECOND).join().allowed()).isTrue();

    assertThat(heard).isEmpty();
  }

  @Test
  void acquire_whoseTurnComes_hasPassed() throws Exception {
    assertThat(acquire(SECOND).join().allowed()).isTrue();
    CompletableFuture<Decision> second = acquire(SECOND);
    assertThat(heard).containsExactly("waits for Calls");

    now.addAndGet(SECOND.toNanos());

    assertThat(second.get(60, TimeUnit.SECONDS).allowed()).isTrue();
    awaitEnds(1);
    assertThat(heard).containsExactly("waits for Calls", "PASSED Calls PT1S");
  }

  @Test
  void acquire_cancelled_isGivenUpOnce() {
    assertThat(acquire(SECOND).join().allowed()).isTrue();
    CompletableFuture<Decision> second = acquire(SECOND);

    assertThat(second.cancel(false)).isTrue();
    assertThat(second.cancel(true)).isTrue();

    assertThat(heard).containsExactly("waits for Calls", "GIVEN_UP Calls PT0S");
  }

  @Test
  void acquire_interrupted_isGivenUp() throws Exception {
    assertThat(acquire(SECOND).join().allowed()).isTrue();
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    Thread caller =
        new Thread(
            () -> thrown.complete(catchThrowable(() -> limiter.acquire("Calls", "x", SECOND))));
    caller.start();
    assertThat(waits.await(60, TimeUnit.SECONDS)).isTrue();

    caller.interrupt();

    assertThat(thrown.get(60, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
    assertThat(heard).containsExactly("waits for Calls", "GIVEN_UP Calls PT0S");
  }

  @Test
  void acquire_tooLongAWait_isRefused_andAPlainSpendIsNot() {
    assertThat(acquire(SECOND).join().allowed()).isTrue();
    assertThat(acquire(Duration.ofMillis(999)).join().denied()).isTrue();
    assertThat(acquire(Duration.ZERO).join().denied()).isTrue();
    assertThat(limiter.spend("Calls", "x").denied()).isTrue();

    assertThat(heard).containsExactly("REFUSED Calls PT0S");
  }

  @Test
  void acquireBatch_waitsForTheLimitsThatAreShort_andIsRefusedByThoseThatDeny() throws Exception {
    assertThat(limiter.spend("Orders", "x").allowed()).isTrue();
    List<Transaction> batch =
        List.of(limiter.transaction("Calls", "x"), limiter.transaction("Orders", "x"));
    CompletableFuture<Decision> first =
        limiter.async().acquire(batch, Duration.ofSeconds(2)).toCompletableFuture();
    assertThat(limiter.async().acquire(batch, Duration.ofSeconds(3)).toCompletableFuture().join())
        .matches(Decision::denied);

    now.addAndGet(Duration.ofSeconds(2).toNanos());

    assertThat(first.get(60, TimeUnit.SECONDS).allowed()).isTrue();
    awaitEnds(2);
    assertThat(heard)
        .containsExactly("waits for Orders", "REFUSED Orders PT0S", "PASSED Orders PT2S");
  }
}
