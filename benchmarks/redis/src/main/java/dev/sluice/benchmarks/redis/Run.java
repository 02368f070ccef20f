// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntConsumer;

/**
 * The threads that put one load on a subject, from the start of the load until {@link #close}.
 * Latencies are recorded only after {@link #take}.
 */
final class Run implements AutoCloseable {

  private static final int MOST_SAMPLES = 1 << 17; // the most recorded latencies of each caller

  private final int buckets;
  private final LongAdder calls = new LongAdder();
  private final LongAdder failures = new LongAdder();
  private final List<Thread> threads = new ArrayList<>();
  private final List<Samples> samples = new ArrayList<>();
  private volatile boolean taking;
  private volatile boolean over;

  private Run(int buckets) {
    this.buckets = buckets;
  }

  static Run start(Client subject, Load load, int buckets) {
    Run run = new Run(buckets);
    for (int i = 0; i < load.callers(); i++) {
      run.caller(i, List.of(subject::spend));
    }
    if (load.outstanding() > 0) {
      run.threads.add(new Thread(() -> run.keepUnderWay(subject, load.outstanding())));
    }
    run.threads.forEach(Thread::start);
    return run;
  }

  /** Starts one thread that calls the subjects in turn, so that their conditions are equal. */
  static Run alternating(List<Client> subjects, int buckets) {
    Run run = new Run(buckets);
    run.caller(0, subjects.stream().<IntConsumer>map(subject -> subject::spend).toList());
    run.threads.forEach(Thread::start);
    return run;
  }

  /**
   * The latencies of one caller with one subject, which the caller writes and which are read only
   * after the run.
   */
  private static final class Samples {
    private final long[] nanos = new long[MOST_SAMPLES];
    private int count;

    void add(long sample) {
      if (count < MOST_SAMPLES) {
        nanos[count++] = sample;
      }
    }
  }

  private void caller(int number, List<IntConsumer> asked) {
    List<Samples> own = asked.stream().map(one -> new Samples()).toList();
    samples.addAll(own);
    threads.add(new Thread(() -> call(new SplittableRandom(number), asked, own)));
  }

  private void call(SplittableRandom random, List<IntConsumer> asked, List<Samples> own) {
    long before = System.nanoTime();
    while (!over) {
      for (int i = 0; i < asked.size(); i++) {
        try {
          asked.get(i).accept(random.nextInt(buckets));
        } catch (RuntimeException e) {
          failures.increment();
        }
        long after = System.nanoTime();
        if (taking) {
          own.get(i).add(after - before);
        }
        before = after;
        calls.increment();
      }
    }
  }

  private void keepUnderWay(Client subject, int outstanding) {
    SplittableRandom random = new SplittableRandom(1);
    Semaphore free = new Semaphore(outstanding);
    while (!over) {
      free.acquireUninterruptibly();
      var unused =
          subject
              .spendAsync(random.nextInt(buckets))
              .whenComplete(
                  (answer, failure) -> {
                    free.release();
                    calls.increment();
                    if (failure != null) {
                      failures.increment();
                    }
                  });
    }
    free.acquireUninterruptibly(outstanding);
  }

  /** Returns the number of completed calls so far. */
  long calls() {
    return calls.sum();
  }

  long failures() {
    return failures.sum();
  }

  /** Begins to record latencies. */
  void take() {
    taking = true;
  }

  @Override
  public void close() throws InterruptedException {
    over = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /**
   * Returns the sorted latencies of all callers with one subject, in nanoseconds. Call this method
   * after the run. {@code subject} is the index of the subject among {@code subjects} subjects.
   */
  long[] waits(int subject, int subjects) {
    long[] all = new long[0];
    for (int i = subject; i < samples.size(); i += subjects) {
      Samples one = samples.get(i);
      int end = all.length;
      all = Arrays.copyOf(all, end + one.count);
      System.arraycopy(one.nanos, 0, all, end, one.count);
    }
    Arrays.sort(all);
    return all;
  }
}
