// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.sql;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * A number of threads that call one or several subjects for some time. Immutable.
 *
 * @param callers the number of threads that make blocking calls
 * @param keys the number of buckets; each call chooses one at random
 * @param perSecond the number of calls per second of all callers together; 0 for as many as
 *     possible. At a given rate, the latency of a call is measured from the time at which the call
 *     should start, so that the latency includes the delay of a late caller
 */
record Load(int callers, int keys, double perSecond) {

  /**
   * The measurements of one subject.
   *
   * @param perSecond calls per second
   * @param p50Micros the median latency
   * @param p99Micros the 99th percentile of the latency
   */
  record Round(double perSecond, double p50Micros, double p99Micros) {}

  /**
   * Runs the load.
   *
   * @param subjects the subjects; each caller calls them in turn, so that all have the same
   *     conditions
   * @return the measurements of each subject
   * @throws IllegalStateException if a call fails
   */
  List<Round> run(double seconds, List<Subject> subjects) throws InterruptedException {
    long start = System.nanoTime();
    long end = start + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    AtomicReference<Throwable> failure = new AtomicReference<>();
    AtomicLong turns = new AtomicLong();
    List<long[][]> latencies = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < callers; i++) {
      long[][] own = new long[subjects.size()][];
      latencies.add(own);
      int number = i;
      threads.add(
          new Thread(
              () -> {
                try {
                  call(new SplittableRandom(number), start, end, subjects, own, turns);
                } catch (RuntimeException e) {
                  failure.set(e);
                }
              }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure.get() != null) {
      throw new IllegalStateException("a call failed", failure.get());
    }
    double took = (System.nanoTime() - start) / 1e9;
    List<Round> rounds = new ArrayList<>();
    for (int i = 0; i < subjects.size(); i++) {
      int subject = i;
      long[] all =
          latencies.stream().flatMapToLong(own -> Arrays.stream(own[subject])).sorted().toArray();
      rounds.add(new Round(all.length / took, at(all, 0.5), at(all, 0.99)));
    }
    return rounds;
  }

  private static double at(long[] sorted, double share) {
    return sorted[(int) (share * (sorted.length - 1))] / 1e3;
  }

  private void call(
      SplittableRandom random,
      long start,
      long end,
      List<Subject> subjects,
      long[][] latencies,
      AtomicLong turns) {
    Samples[] samples = new Samples[subjects.size()];
    Arrays.setAll(samples, i -> new Samples());
    long before = System.nanoTime();
    do { // runs at least once, even if the machine stopped this thread for the whole time
      if (perSecond > 0) {
        before = start + (long) (turns.getAndIncrement() / perSecond * 1e9);
        for (long left = before - System.nanoTime(); left > 0; ) {
          LockSupport.parkNanos(left);
          left = before - System.nanoTime();
        }
      }
      for (int i = 0; i < samples.length; i++) {
        subjects.get(i).spend(random.nextInt(keys));
        long after = System.nanoTime();
        samples[i].add(after - before);
        before = after;
      }
    } while (before < end);
    Arrays.setAll(latencies, i -> samples[i].all());
  }

  /** The latencies of one caller. */
  private static final class Samples {
    private long[] nanos = new long[1_024];
    private int count;

    void add(long sample) {
      if (count == nanos.length) {
        nanos = Arrays.copyOf(nanos, 2 * count);
      }
      nanos[count++] = sample;
    }

    long[] all() {
      return Arrays.copyOf(nanos, count);
    }
  }
}
