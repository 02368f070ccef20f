// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * More threads than processors, virtual ones where there are some: whatever the scheduler does with
 * threads that wait, each call comes to its end.
 */
class WaitingTest {

  private static final long SECOND = 1_000_000_000;
  private static final int BURST = 20;
  private static final int CALLS = 60_000;

  @TempDir private Path directory;

  static Stream<Arguments> crowds() throws ReflectiveOperationException {
    List<Arguments> all = new ArrayList<>();
    for (int threads : new int[] {16, 64, 200}) {
      for (int keys : new int[] {10, 1_000}) {
        all.add(Arguments.of(false, threads, keys));
        if (Runtime.version().feature() >= 21) {
          all.add(Arguments.of(true, threads, keys));
        }
      }
    }
    return all.stream();
  }

  private static ExecutorService executor(boolean virtual, int threads)
      throws ReflectiveOperationException {
    return virtual
        ? (ExecutorService)
            Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
        : Executors.newFixedThreadPool(threads);
  }

  private static Charge charge(Op act, int id) {
    long offsetNanos = act == Op.RESET ? 0 : BURST * SECOND;
    return new Charge("1:" + id, act, act == Op.RESET ? 0 : SECOND, offsetNanos, Effect.NO_END);
  }

  /** The race: a batch that keeps a segment or a slot while it waits for the next one. */
  @ParameterizedTest(name = "virtual: {0}, {1} threads, {2} keys")
  @MethodSource("crowds")
  @Timeout(60)
  void charge_batchesSinglesAndSnapshots_allEnd(boolean virtual, int threads, int keys)
      throws Exception {
    long startNanos = 1_700_000_000 * SECOND;
    MemoryStore store = MemoryStore.builder().time(() -> startNanos).build();
    AtomicInteger[] given = new AtomicInteger[keys];
    for (int key = 0; key < keys; key++) {
      given[key] = new AtomicInteger();
    }
    ExecutorService executor = executor(virtual, threads);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        Random random = new Random(i);
        all.add(
            executor.submit(
                () -> {
                  for (int n = 0; n < CALLS / threads; n++) {
                    spend(store, random, given);
                  }
                  return null;
                }));
      }
      store.save(directory.resolve("buckets"));
      for (Future<?> one : all) {
        Object unused = one.get(Duration.ofSeconds(50).toSeconds(), TimeUnit.SECONDS);
      }
    } finally {
      List<Runnable> unused = executor.shutdownNow();
    }
    for (AtomicInteger tokens : given) {
      assertThat(tokens.get()).isLessThanOrEqualTo(BURST);
    }
  }

  /**
   * The race: one thread keeps a segment, a batch waits for it, and has taken another one before. A
   * third thread that needs that one must not depend on the batch, which may never be run again.
   */
  @Test
  void batch_thatWaitsForASegment_keepsNoOther() throws Exception {
    AtomicReference<@Nullable Thread> keeper = new AtomicReference<>();
    CountDownLatch kept = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    TimeSource time =
        () -> {
          if (Thread.currentThread() == keeper.get()) { // it makes a bucket, and has the segment
            kept.countDown();
            awaits(over);
          }
          return SECOND;
        };
    BucketTable table = new BucketTable(time, 1_000);
    ExecutorService executor = Executors.newFixedThreadPool(3);
    try {
      Future<?> keeping =
          executor.submit(
              () -> {
                keeper.set(Thread.currentThread());
                charge(table, 1, Op.SPEND);
              });
      kept.await();
      Charge spend = charge(Op.SPEND, 0);
      Future<?> waiting =
          executor.submit(
              () ->
                  new TableBatch(
                          table, List.of(spend, spend), new long[] {7, 8}, new long[] {0, place(1)})
                      .charge());
      Future<?> others =
          executor.submit(
              () -> {
                for (int i = 0; i < 300_000; i++) {
                  charge(table, 0, Op.CHECK);
                }
              });
      assertThat(others).succeedsWithin(Duration.ofMinutes(1));
      assertThat(waiting).isNotDone();
      over.countDown();
      assertThat(keeping).succeedsWithin(Duration.ofMinutes(1));
      assertThat(waiting).succeedsWithin(Duration.ofMinutes(1));
    } finally {
      over.countDown();
      List<Runnable> unused = executor.shutdownNow();
    }
  }

  private static void awaits(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long place(int segment) {
    return Directory.place(16 * segment, 0); // of 64 that have 16 entries each
  }

  private static void charge(BucketTable table, int segment, Op act) {
    boolean unused =
        table.<Boolean>charge(
            9,
            place(segment),
            Effect.of(act, SECOND, BURST * SECOND),
            null,
            (id, effect, nowNanos, tatNanos) -> true,
            SECOND);
  }

  private static void spend(MemoryStore store, Random random, AtomicInteger[] given) {
    int first = random.nextInt(given.length);
    List<Charge> charges = new ArrayList<>();
    for (int i = 0; i < (random.nextInt(4) == 0 ? 1 : 3); i++) {
      charges.add(charge(Op.SPEND, (first + 3 * i) % given.length));
    }
    List<Reading> readings = store.charge(charges);
    boolean passes = true;
    for (int i = 0; i < charges.size(); i++) {
      Reading reading = readings.get(i);
      passes &= charges.get(i).passes(reading.nowNanos(), reading.tatNanos());
    }
    if (passes) {
      for (int i = 0; i < charges.size(); i++) {
        int unused = given[(first + 3 * i) % given.length].incrementAndGet();
      }
    }
  }
}
