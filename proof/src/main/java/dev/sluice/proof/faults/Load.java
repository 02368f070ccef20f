// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A process that puts load on a store. Four threads spend tokens, with single spends and with
 * batches, and print each grant and each call.
 */
public final class Load {

  static final String NAME = "Calls";
  static final int KEYS = 12;
  static final Duration TIMEOUT = Duration.ofMillis(500);

  /** The quota of the load: a burst of 20 tokens, and one token refills every 25 ms. */
  static final Quota QUOTA = quota(1);

  static final String HOURLY = "CallsAnHour";

  /**
   * A burst of 20 tokens, and one token refills every three minutes, so that an empty bucket stays
   * empty until the end of a trial.
   */
  static final Quota HOURLY_QUOTA = Quota.per(20, Duration.ofHours(1));

  static final Limits LIMITS = limits(1);

  static final String GRANT = "grant";
  static final String CALL = "call";
  static final String STALL = "stall";

  private static final int THREADS = 4;
  private static final int MOST_COST = 3;
  private static final int PAUSE_MILLIS = 2;

  private final Limiter limiter;
  private final int scale;
  private final long endNanos;
  private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);

  private Load(Limiter limiter, int scale, long endNanos) {
    this.limiter = limiter;
    this.scale = scale;
    this.endNanos = endNanos;
  }

  /** Returns {@link #QUOTA} with the burst and the refill rate multiplied by {@code scale}. */
  static Quota quota(long scale) {
    return Quota.burst(20 * scale).refill(40 * scale, Duration.ofSeconds(1));
  }

  private static Limits limits(long scale) {
    return Limits.builder(
            Catalogue.of(
                LimitName.builder(1, NAME).id(IdFormat.string()).build(),
                LimitName.builder(2, HOURLY).id(IdFormat.string()).build()))
        .limit(NAME, quota(scale))
        .limit(HOURLY, HOURLY_QUOTA)
        .build();
  }

  static BucketStore open(String address) {
    if (address.startsWith("postgresql:")) {
      return PostgresStore.builder(address).timeout(TIMEOUT).open();
    }
    return address.startsWith("mariadb:")
        ? MariaDbStore.builder(address, null).timeout(TIMEOUT).open()
        : RedisStore.builder(address).timeout(TIMEOUT).open();
  }

  /**
   * Runs the load.
   *
   * @param args the address of the store, the duration in seconds, and the factor by which the
   *     limit and the costs are multiplied
   */
  public static void main(String[] args) throws InterruptedException {
    int scale = Integer.parseInt(args[2]);
    try (BucketStore store = open(args[0]);
        Stalls stalls = new Stalls()) {
      long nanos = Duration.ofSeconds(Long.parseLong(args[1])).toNanos();
      Load load = new Load(Limiter.of(limits(scale), store), scale, System.nanoTime() + nanos);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Thread thread = new Thread(load::spendUntilTheEnd);
        // Without the rest of its load, the trial would prove less than it says.
        thread.setUncaughtExceptionHandler((dead, why) -> Log.die(why));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      load.out.printf("%s %s%n", STALL, stalls.longestNanos());
      load.out.flush();
    }
  }

  private void spendUntilTheEnd() {
    Random random = new Random();
    while (System.nanoTime() - endNanos < 0) {
      List<Transaction> batch = new ArrayList<>();
      int first = random.nextInt(KEYS);
      int size = random.nextInt(4) == 0 ? 3 : 1;
      for (int i = 0; i < size; i++) {
        long cost = 1L + random.nextInt(MOST_COST * scale);
        batch.add(limiter.transaction(NAME, "k" + (first + i) % KEYS).withCost(cost));
      }
      long start = System.nanoTime();
      boolean answered = true;
      try {
        Decision decision = limiter.spend(batch);
        if (decision.allowed()) {
          decision.parts().forEach(this::granted);
        }
      } catch (StoreException e) {
        // The call failed, so the caller received no grant, but the store may have charged the
        // bucket.
        answered = false;
      }
      out.printf("%s %s %s%n", CALL, System.nanoTime() - start, answered);
      try {
        Thread.sleep(PAUSE_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void granted(Decision part) {
    Transaction transaction = part.transaction();
    if (transaction != null && part.allowed()) {
      long nanos = ChronoUnit.NANOS.between(Instant.EPOCH, part.decidedAt());
      out.printf("%s %s %s %s%n", GRANT, transaction.id(), transaction.cost(), nanos);
    }
  }

  /**
   * Makes calls from many callers at the same time, without a thread for each caller. Returns how
   * long the slowest call took, including failed calls.
   */
  static long longestCallMillis(Limiter limiter, int callers) throws InterruptedException {
    AtomicLong longest = new AtomicLong();
    CountDownLatch ended = new CountDownLatch(callers);
    for (int i = 0; i < callers; i++) {
      long start = System.nanoTime();
      var unused =
          limiter
              .async()
              .spend(NAME, "f" + i)
              .whenComplete(
                  (decision, failure) -> {
                    longest.accumulateAndGet(System.nanoTime() - start, Math::max);
                    ended.countDown();
                  });
    }
    ended.await();
    return TimeUnit.NANOSECONDS.toMillis(longest.get());
  }

  /**
   * Measures for how long the machine stops threads: a stopped machine delays the wake-up of a
   * sleeping thread. A stopped machine can delay every call by the same time as the sleeping
   * thread. Runs a thread until this object is closed. Thread-safe.
   */
  static final class Stalls implements AutoCloseable {

    private static final int SLEEP_MILLIS = 5;

    private final Thread thread = new Thread(this::measure, "stalls");
    private volatile long longestNanos;

    Stalls() {
      thread.setDaemon(true);
      thread.start();
    }

    private void measure() {
      try {
        while (true) {
          long start = System.nanoTime();
          TimeUnit.MILLISECONDS.sleep(SLEEP_MILLIS);
          long stallNanos = System.nanoTime() - start - TimeUnit.MILLISECONDS.toNanos(SLEEP_MILLIS);
          longestNanos = Math.max(longestNanos, stallNanos);
        }
      } catch (InterruptedException e) {
        // This object was closed.
      }
    }

    long longestNanos() {
      return longestNanos;
    }

    long longestMillis() {
      return TimeUnit.NANOSECONDS.toMillis(longestNanos);
    }

    @Override
    public void close() {
      thread.interrupt();
    }
  }
}
