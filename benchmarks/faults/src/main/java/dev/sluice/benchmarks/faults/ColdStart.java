package dev.sluice.benchmarks.faults;

import dev.sluice.Limiter;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.StoreException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** A process that has just started, and its first decisions; prints how many failed. */
public final class ColdStart {

  private ColdStart() {}

  /**
   * Asks.
   *
   * @param args the address of the store, and how many threads ask at once
   * @throws InterruptedException if somebody interrupts it
   */
  public static void main(String[] args) throws InterruptedException {
    int callers = Integer.parseInt(args[1]);
    try (RedisStore store = RedisStore.builder(URI.create(args[0])).timeout(Load.TIMEOUT).open()) {
      Limiter limiter = Limiter.of(Load.LIMITS, store);
      AtomicInteger failed = new AtomicInteger();
      CountDownLatch start = new CountDownLatch(1);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        String id = "first-" + i;
        Thread thread = new Thread(() -> ask(limiter, id, start, failed));
        threads.add(thread);
        thread.start();
      }
      start.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
      System.out.println(failed.get());
    }
  }

  private static void ask(Limiter limiter, String id, CountDownLatch start, AtomicInteger failed) {
    try {
      start.await();
      if (limiter.spend(Load.NAME, id).denied()) {
        failed.incrementAndGet();
      }
    } catch (StoreException | InterruptedException e) {
      failed.incrementAndGet();
    }
  }
}
