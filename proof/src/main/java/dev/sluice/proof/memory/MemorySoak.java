// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.MemoryStore;
import dev.sluice.store.TimeSource;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/*
 * All threads spend from the few hot keys, from one key or from two at a time, and faster than the
 * keys refill. At the end, each hot key must have granted the tokens that the limit allows, with a
 * difference of at most two tokens. There are two million cold keys, whose buckets expire and are
 * created again. Only one thread uses each cold key. The owning thread reads the clock before and
 * after each decision, and computes bounds of the bucket's TAT. A decision is wrong if no TAT
 * within the bounds explains the decision. Once a minute, the store is saved to a file and
 * restored.
 */

/**
 * A long load test of the memory store. Runs for many minutes, and checks every decision. Exits
 * with 1 if a decision was wrong.
 */
final class MemorySoak {

  private static final int HOT_KEYS = 64;
  private static final int COLD_KEYS = 2_000_000;
  private static final int THREADS = 2;
  private static final Quota HOT = Quota.burst(100).refill(10, Duration.ofSeconds(1));
  private static final Quota COLD = Quota.burst(2).refill(1, Duration.ofSeconds(5));

  private static final int MOST_MINUTES = 7 * 24 * 60;

  private final TimeSource time = TimeSource.system();
  private final MemoryStore store =
      MemoryStore.builder().time(time).maxBuckets(2 * COLD_KEYS).build();
  private final Limiter limiter;
  private final Limit hot;
  private final Limit cold;
  private final String[] hotIds = ids("hot", HOT_KEYS);
  private final String[] coldIds = ids("cold", COLD_KEYS);
  private final AtomicLongArray givenOut = new AtomicLongArray(HOT_KEYS);
  private final long[] emptyFromNanos = new long[HOT_KEYS];
  private final AtomicLongArray deniedLastNanos = new AtomicLongArray(HOT_KEYS);
  private final long[] earliestTat = new long[COLD_KEYS];
  private final long[] latestTat = new long[COLD_KEYS];
  private final AtomicLong decisions = new AtomicLong();
  private final AtomicLong errors = new AtomicLong();
  private volatile boolean over;

  private MemorySoak() {
    Limits limits =
        Limits.builder(
                Catalogue.of(
                    LimitName.builder(1, "Hot").id(IdFormat.string()).build(),
                    LimitName.builder(2, "Cold").id(IdFormat.string()).build()))
            .limit("Hot", HOT)
            .limit("Cold", COLD)
            .build();
    limiter = Limiter.of(limits, store);
    hot = limiter.limit("Hot");
    cold = limiter.limit("Cold");
  }

  public static void main(String[] args) throws Exception {
    double minutes = args.length == 0 ? 10 : minutes(args[0]);
    new MemorySoak().run(Duration.ofMillis((long) (minutes * 60_000)));
  }

  private static double minutes(String text) {
    try {
      double minutes = Double.parseDouble(text);
      if (minutes > 0 && minutes <= MOST_MINUTES) {
        return minutes;
      }
    } catch (NumberFormatException e) {
      // The code after the catch block prints the error message.
    }
    System.err.printf(
        "sluice prove soak: found \"%s\", expected minutes, above 0 and at most %d%n",
        text, MOST_MINUTES);
    System.exit(2);
    throw new IllegalStateException(text);
  }

  private void run(Duration length) throws Exception {
    System.out.printf(
        "%s, Java %s, %d threads%n",
        System.getProperty("os.arch"), System.getProperty("java.version"), THREADS);
    long startNanos = time.nanos();
    // Empties the hot buckets, because a full bucket does not refill.
    for (int i = 0; i < HOT_KEYS; i++) {
      if (hot.trySpend(hotIds[i], HOT.burst())) {
        givenOut.set(i, HOT.burst());
      }
      emptyFromNanos[i] = time.nanos();
    }
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int first = i;
      threads.add(new Thread(() -> ask(first)));
    }
    threads.forEach(Thread::start);
    for (long leftMillis = length.toMillis(); leftMillis > 0; leftMillis -= 60_000) {
      Thread.sleep(Math.min(leftMillis, 60_000));
      report(startNanos);
    }
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
    checkHotKeys(startNanos, time.nanos());
    report(startNanos);
    System.out.println(errors.get() == 0 ? "every decision was right" : "FAILED");
    System.exit(errors.get() == 0 ? 0 : 1);
  }

  private void ask(int first) {
    try {
      ThreadLocalRandom random = ThreadLocalRandom.current();
      for (int i = 0; !over; i++) {
        int coldKey = random.nextInt(COLD_KEYS / THREADS) * THREADS + first;
        askCold(coldKey, random.nextInt(1_000) == 0);
        if (i % 8 == 0) {
          int hotKey = random.nextInt(HOT_KEYS);
          askHot(hotKey);
        }
        if (i % 1_024 == 0) {
          askPair(random.nextInt(HOT_KEYS), random.nextInt(HOT_KEYS));
          decisions.addAndGet(1_024 + 128 + 1);
        }
      }
    } catch (Throwable e) {
      error("a thread ended with an exception: " + e);
    }
  }

  private void askPair(int one, int other) {
    if (one == other) {
      return;
    }
    boolean spent =
        limiter
            .spend(
                List.of(
                    limiter.transaction("Hot", hotIds[one]),
                    limiter.transaction("Hot", hotIds[other])))
            .allowed();
    if (spent) {
      givenOut.incrementAndGet(one);
      givenOut.incrementAndGet(other);
    }
  }

  private void askHot(int key) {
    long beforeNanos = time.nanos();
    if (hot.trySpend(hotIds[key])) {
      givenOut.incrementAndGet(key);
    } else {
      deniedLastNanos.accumulateAndGet(key, beforeNanos, Math::max);
    }
  }

  private void askCold(int key, boolean reset) {
    if (reset) {
      limiter.reset("Cold", coldIds[key]);
      earliestTat[key] = 0;
      latestTat[key] = 0;
      return;
    }
    long intervalNanos = COLD.incrementNanos(1);
    long offsetNanos = COLD.offsetNanos();
    long beforeNanos = time.nanos();
    boolean spent = cold.trySpend(coldIds[key]);
    long afterNanos = time.nanos();
    long earliest = earliestTat[key];
    long latest = latestTat[key];
    if (spent) {
      if (Math.max(earliest, afterNanos) + intervalNanos - afterNanos > offsetNanos) {
        error("a spend was allowed although the bucket was empty: " + coldIds[key]);
      }
      earliestTat[key] = Math.max(earliest, beforeNanos) + intervalNanos;
      latestTat[key] =
          Math.min(Math.max(latest, afterNanos) + intervalNanos, afterNanos + offsetNanos);
    } else {
      if (Math.max(latest, beforeNanos) + intervalNanos - beforeNanos <= offsetNanos) {
        error("a spend was denied although the bucket had a token: " + coldIds[key]);
      }
      earliestTat[key] = Math.max(earliest, beforeNanos + offsetNanos - intervalNanos);
    }
  }

  /**
   * Checks how many tokens each hot key granted. The threads spend from the hot keys so often that
   * no hot bucket becomes full. Each hot key therefore grants all tokens that refill.
   */
  private void checkHotKeys(long startNanos, long endNanos) {
    long intervalNanos = HOT.incrementNanos(1);
    for (int i = 0; i < HOT_KEYS; i++) {
      long most = HOT.burst() + (endNanos - startNanos) / intervalNanos;
      long saturatedNanos = deniedLastNanos.get(i) - emptyFromNanos[i];
      long least = HOT.burst() + saturatedNanos / intervalNanos - 1;
      long given = givenOut.get(i);
      if (given > most || given < least) {
        error(
            String.format(
                Locale.ROOT,
                "hot key %d: found %,d granted tokens, expected %,d to %,d",
                i,
                given,
                least,
                most));
      }
    }
  }

  private void error(String message) {
    if (errors.incrementAndGet() <= 20) {
      System.out.println(message);
    }
  }

  private void report(long startNanos) throws IOException {
    Path file = Files.createTempFile("soak", ".snapshot");
    long restored;
    try {
      store.save(file);
      restored =
          MemoryStore.builder()
              .time(time)
              .maxBuckets(2 * COLD_KEYS)
              .restore(file)
              .liveBuckets()
              .orElseThrow();
    } finally {
      Files.delete(file);
    }
    System.gc();
    long usedBytes = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    System.out.printf(
        Locale.ROOT,
        "%6.1f min  %,15d decisions  %,9d live buckets  %,9d buckets restored  %,6d MB of heap  %d errors%n",
        (time.nanos() - startNanos) / 60e9,
        decisions.get(),
        store.liveBuckets().orElseThrow(),
        restored,
        usedBytes >> 20,
        errors.get());
  }

  private static String[] ids(String prefix, int count) {
    String[] ids = new String[count];
    for (int i = 0; i < count; i++) {
      ids[i] = prefix + "-" + i;
    }
    return ids;
  }
}
