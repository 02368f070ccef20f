// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A run with two stores on the same two servers. The first store sends batches. Each batch takes
 * all tokens of a full bucket on the first server, and is denied by an empty bucket on the second
 * server. The second store is called the observer, and repeatedly checks that the full bucket has
 * all tokens.
 *
 * @param everyMillis the time between two batches
 * @param dies whether the server with the empty buckets is killed during the run
 */
record DeniedBatches(int everyMillis, boolean dies) {

  private static final int SECONDS = 10;
  private static final int CHECK_EVERY_MILLIS = 2;
  private static final int UNTIL_DEATH_MILLIS = 1_000;

  /**
   * The measurements of a run.
   *
   * @param denied the number of batches that were denied; fewer than sent if batches failed
   * @param granted the number of batches that were wrongly allowed
   * @param nanos the total duration of all batches
   * @param missed the number of denied checks of the full bucket
   */
  record Seen(long sent, long denied, long granted, long nanos, long asked, long missed) {

    /**
     * Returns whether the share of denied checks is at most twice the share of time in which a
     * batch was in flight. Between a batch's request and its refund, the full bucket lacks the
     * batch's tokens, for about the duration of the batch.
     */
    boolean missedAtMostTwiceWhatBatchesTook() {
      return (double) missed / asked <= 2.0 * nanos / TimeUnit.SECONDS.toNanos(SECONDS);
    }

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "%d of %d batches were denied, a batch took %.1f ms; the observer was denied %d of %d times (%.1f %%)",
          denied,
          sent,
          nanos / 1e6 / sent,
          missed,
          asked,
          100.0 * missed / asked);
    }
  }

  /** Returns the least number of batches that a run must deny, a tenth of those that are due. */
  long leastDenied() {
    int millis = dies ? UNTIL_DEATH_MILLIS : (int) TimeUnit.SECONDS.toMillis(SECONDS);
    return millis / everyMillis / 10;
  }

  Seen observed() throws Exception {
    try (LocalRedis first = LocalRedis.start(RedisBinary.newest());
        LocalRedis second = LocalRedis.start(RedisBinary.newest())) {
      String ring = "redis-ring://" + first.address() + "," + second.address();
      try (RedisStore batches = RedisStore.open(ring);
          RedisStore checks = RedisStore.open(ring)) {
        return observed(
            first, second, Limiter.of(Load.LIMITS, batches), Limiter.of(Load.LIMITS, checks));
      }
    }
  }

  private Seen observed(LocalRedis first, LocalRedis second, Limiter sender, Limiter observer)
      throws InterruptedException, ExecutionException {
    long burst = Load.QUOTA.burst();
    String full = idOn(first, Load.NAME, "full", sender);
    String empty = idOn(second, Load.HOURLY, "empty-", sender);
    var unused = sender.spend(Load.HOURLY, empty, Load.HOURLY_QUOTA.burst());
    List<Transaction> batch =
        List.of(
            sender.transaction(Load.NAME, full).withCost(burst),
            sender.transaction(Load.HOURLY, empty));
    AtomicLong denied = new AtomicLong();
    AtomicLong granted = new AtomicLong();
    AtomicLong nanos = new AtomicLong();
    CountDownLatch over = new CountDownLatch(1);
    FutureTask<Long> sending =
        new FutureTask<>(
            () -> {
              long sent = 0;
              do {
                sent++;
                long start = System.nanoTime();
                try {
                  (sender.spend(batch).allowed() ? granted : denied).incrementAndGet();
                } catch (StoreException e) {
                  // The server is down.
                }
                nanos.addAndGet(System.nanoTime() - start);
              } while (!over.await(everyMillis, TimeUnit.MILLISECONDS));
              return sent;
            });
    new Thread(sending, "sending").start();
    if (dies) {
      TimeUnit.MILLISECONDS.sleep(UNTIL_DEATH_MILLIS);
      second.kill();
    }
    long asked = 0;
    long missed = 0;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (System.nanoTime() - end < 0) {
      missed += observer.check(Load.NAME, full, burst).denied() ? 1 : 0;
      asked++;
      TimeUnit.MILLISECONDS.sleep(CHECK_EVERY_MILLIS);
    }
    over.countDown();
    return new Seen(sending.get(), denied.get(), granted.get(), nanos.get(), asked, missed);
  }

  /**
   * Returns an id whose bucket is on the given server. Spends with one id after another, until a
   * spend creates a key on the server.
   */
  private static String idOn(LocalRedis server, String limit, String prefix, Limiter limiter) {
    for (int i = 0; ; i++) {
      String id = prefix + i;
      var unused = limiter.spend(limit, id);
      boolean isThere = String.valueOf(server.command("KEYS", "*" + id)).contains(id);
      limiter.reset(limit, id);
      if (isThere) {
        return id;
      }
    }
  }
}
