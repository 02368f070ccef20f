// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import com.sun.management.OperatingSystemMXBean;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures one subject under all loads, in a JVM of its own: what the compiler has learnt of one
 * client's code must not shape another's. Started by {@link RedisBenchmark}, which reads what it
 * prints.
 */
final class Measurement {

  private static final int BUCKETS = 10_000;
  private static final int MOST_SAMPLES = 1 << 19;
  private static final double MICROS_PER_SECOND = 1e6;

  private final long measureNanos;
  private final long warmUpNanos;
  private final RedisCommands<String, String> commands;
  private final OperatingSystemMXBean system =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private Measurement(double seconds, RedisCommands<String, String> commands) {
    this.measureNanos = (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    this.warmUpNanos = measureNanos / 2;
    this.commands = commands;
  }

  /**
   * Prints a line for each load, and the bytes of a bucket.
   *
   * @param args the URI of a Redis whose content may be lost, seconds for each figure, the name of
   *     a subject
   * @throws InterruptedException if somebody interrupts it
   */
  public static void main(String[] args) throws InterruptedException {
    URI uri = URI.create(args[0]);
    RedisClient client = RedisClient.create(uri.toString());
    Measurement measurement = new Measurement(Double.parseDouble(args[1]), client.connect().sync());
    var unused = measurement.commands.flushall();
    try (Subject subject = Subjects.make(args[2], uri, BUCKETS)) {
      measurement.print(subject);
    }
    client.shutdown();
  }

  private void print(Subject subject) throws InterruptedException {
    var unused = callers(subject, 16); // or the first load would pay for the compiler's work
    for (int callers : RedisBenchmark.CALLERS) {
      System.out.println(callers + " " + callers(subject, callers).text());
    }
    if (subject.spendAsync(0) != null) {
      System.out.println(RedisBenchmark.OUTSTANDING + " " + asynchronous(subject).text());
    }
    System.out.println(RedisBenchmark.BYTES + " " + bytes(subject));
  }

  private long bytes(Subject subject) {
    String key = subject.redisKey(7);
    subject.spend(7);
    return key == null ? 0 : commands.memoryUsage(key);
  }

  /** Seconds of processor time of the server so far. */
  private double serverSeconds() {
    double seconds = 0;
    for (String line : commands.info("cpu").lines().toList()) {
      if (line.startsWith("used_cpu_sys:") || line.startsWith("used_cpu_user:")) {
        seconds += Double.parseDouble(line.substring(line.indexOf(':') + 1));
      }
    }
    return seconds;
  }

  /** Processor time from here on, warm-up included, as is what is decided in it. */
  private final class Meter {
    private final double serverStart = serverSeconds();
    private final long clientStart = system.getProcessCpuTime();
    private final LongAdder decisions = new LongAdder();

    Figure figure(double perSecond, double p50Nanos, double p99Nanos, long failures) {
      double count = Math.max(decisions.sum(), 1);
      return new Figure(
          perSecond,
          p50Nanos,
          p99Nanos,
          (system.getProcessCpuTime() - clientStart) / 1e3 / count,
          (serverSeconds() - serverStart) * MICROS_PER_SECOND / count,
          failures);
    }
  }

  private Figure callers(Subject subject, int callers) throws InterruptedException {
    long[][] samples = new long[callers][];
    CountDownLatch done = new CountDownLatch(callers);
    Meter meter = new Meter();
    long start = System.nanoTime() + warmUpNanos;
    for (int i = 0; i < callers; i++) {
      int caller = i;
      new Thread(
              () -> {
                samples[caller] = call(subject, caller, start, meter.decisions);
                done.countDown();
              })
          .start();
    }
    done.await();
    long[] all = Arrays.stream(samples).flatMapToLong(Arrays::stream).sorted().toArray();
    return meter.figure(
        all.length * 1e9 / measureNanos,
        (double) all[all.length / 2],
        (double) all[all.length * 99 / 100],
        0);
  }

  private long[] call(Subject subject, int caller, long start, LongAdder decisions) {
    SplittableRandom random = new SplittableRandom(caller);
    long[] samples = new long[MOST_SAMPLES];
    int count = 0;
    int all = 0;
    for (long now = System.nanoTime(); now - start < measureNanos; all++) {
      subject.spend(random.nextInt(BUCKETS));
      long after = System.nanoTime();
      if (now - start >= 0 && count < MOST_SAMPLES) {
        samples[count++] = after - now;
      }
      now = after;
    }
    decisions.add(all);
    return Arrays.copyOf(samples, count);
  }

  private Figure asynchronous(Subject subject) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(1);
    Semaphore free = new Semaphore(RedisBenchmark.OUTSTANDING);
    LongAdder done = new LongAdder();
    LongAdder failures = new LongAdder();
    Meter meter = new Meter();
    long start = System.nanoTime() + warmUpNanos;
    for (long now = System.nanoTime(); now - start < measureNanos; now = System.nanoTime()) {
      free.acquire();
      CompletionStage<?> call = subject.spendAsync(random.nextInt(BUCKETS));
      if (call == null) {
        continue;
      }
      boolean counts = now - start >= 0;
      var unused =
          call.whenComplete(
              (answer, failure) -> {
                free.release();
                meter.decisions.increment();
                if (failure != null) {
                  failures.increment();
                } else if (counts) {
                  done.increment();
                }
              });
    }
    free.acquire(RedisBenchmark.OUTSTANDING);
    return meter.figure(done.sum() * 1e9 / measureNanos, 0, 0, failures.sum());
  }
}
