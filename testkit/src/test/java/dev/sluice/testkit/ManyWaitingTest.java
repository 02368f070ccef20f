// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Many callers wait at once, on the system's clock. */
@Timeout(60)
class ManyWaitingTest {

  private static final int CALLERS = 10_000;
  private static final int BUCKETS = 10;
  private static final long PATIENCE_SECONDS = 30;

  /** A thousand for each bucket, of which one passes each millisecond: all in a second. */
  private final Limit limit = Limit.of(Quota.per(1, Duration.ofMillis(1)));

  private static String id(int caller) {
    return "bucket-" + caller % BUCKETS;
  }

  static Stream<Arguments> crowds() {
    Stream<Arguments> platform = Stream.of(Arguments.of(false, 500));
    return Runtime.version().feature() >= 21
        ? Stream.concat(platform, Stream.of(Arguments.of(true, CALLERS)))
        : platform;
  }

  private static ExecutorService executor(boolean virtual, int threads)
      throws ReflectiveOperationException {
    return virtual
        ? (ExecutorService)
            Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
        : Executors.newFixedThreadPool(threads);
  }

  @ParameterizedTest(name = "virtual: {0}, {1} threads")
  @MethodSource("crowds")
  void acquire_manyThreadsOnTenBuckets_allPassAndNoneEarly(boolean virtual, int threads)
      throws Exception {
    ExecutorService executor = executor(virtual, threads);
    long start = System.nanoTime();
    List<Future<Boolean>> callers = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      String id = id(i);
      callers.add(executor.submit(() -> limit.acquire(id, 1, Duration.ofSeconds(20)).allowed()));
    }
    for (Future<Boolean> caller : callers) {
      assertThat(caller.get(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }
    executor.shutdown();
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isGreaterThanOrEqualTo(Duration.ofMillis(threads / BUCKETS - 1));
  }

  @Test
  void acquireAsync_tenThousand_holdNoThreadAndPassOneAMillisecond() throws Exception {
    long start = System.nanoTime();
    int before = Thread.activeCount();
    List<CompletableFuture<Long>> passed = new ArrayList<>();
    for (int i = 0; i < CALLERS; i++) {
      passed.add(
          limit
              .async()
              .acquire(id(i), Duration.ofSeconds(20))
              .thenApply(decision -> decision.allowed() ? System.nanoTime() : -1L)
              .toCompletableFuture());
    }
    assertThat(Thread.activeCount() - before)
        .as("threads for the timer and for alarms; a busy machine has several alarms at once")
        .isLessThan(CALLERS / 20);
    for (int i = 0; i < CALLERS; i++) {
      long atNanos = passed.get(i).get(PATIENCE_SECONDS, TimeUnit.SECONDS) - start;
      assertThat(atNanos)
          .as("caller %d, never early", i)
          .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(i / BUCKETS));
    }
  }

  @Test
  void cancel_tenThousandFromTheLast_leavesTheBucketsAsTheyWere() {
    List<CompletableFuture<?>> callers = new ArrayList<>();
    Limit slow = Limit.of(Quota.per(1, Duration.ofHours(1)));
    for (int i = 0; i < CALLERS; i++) {
      callers.add(slow.async().acquire(id(i), Duration.ofDays(1_000)).toCompletableFuture());
    }
    for (int i = CALLERS - 1; i >= 0; i--) {
      callers.get(i).cancel(false);
    }
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
      assertThat(slow.check(id(bucket), 0).resetIn())
          .as("one token was there, and was spent")
          .isLessThanOrEqualTo(Duration.ofHours(1));
    }
  }
}
