// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Limiter;
import dev.sluice.redis.RedisStore;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A process that makes its first decisions immediately after the start. The process prints the
 * number of failed decisions, the milliseconds of the slowest decision, and the first exception.
 */
public final class ColdStart {

  private ColdStart() {}

  /**
   * Makes the decisions.
   *
   * @param args the address of the store, and the number of threads that make decisions at the same
   *     time
   */
  public static void main(String[] args) throws InterruptedException {
    int callers = Integer.parseInt(args[1]);
    try (RedisStore store = RedisStore.builder(args[0]).timeout(Load.TIMEOUT).open()) {
      Limiter limiter = Limiter.of(Load.LIMITS, store);
      AtomicInteger failed = new AtomicInteger();
      AtomicReference<@Nullable Throwable> first = new AtomicReference<>();
      AtomicLong longest = new AtomicLong();
      CountDownLatch start = new CountDownLatch(1);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        String id = "first-" + i;
        Thread thread = new Thread(() -> ask(limiter, id, start, failed, first, longest));
        threads.add(thread);
        thread.start();
      }
      start.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
      System.out.println(failed.get());
      System.out.println(TimeUnit.NANOSECONDS.toMillis(longest.get()));
      System.out.println(first.get());
    }
  }

  private static void ask(
      Limiter limiter,
      String id,
      CountDownLatch start,
      AtomicInteger failed,
      AtomicReference<@Nullable Throwable> first,
      AtomicLong longest) {
    try {
      start.await();
      long began = System.nanoTime();
      if (limiter.spend(Load.NAME, id).denied()) {
        failed.incrementAndGet();
      }
      longest.accumulateAndGet(System.nanoTime() - began, Math::max);
    } catch (Throwable e) { // also an Error, such as a missing class
      failed.incrementAndGet();
      first.compareAndSet(null, e);
    }
  }
}
