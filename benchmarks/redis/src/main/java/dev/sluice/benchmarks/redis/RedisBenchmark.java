package dev.sluice.benchmarks.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/**
 * Decisions per second and waiting times on one Redis, every subject in one run, on 10,000 buckets
 * that all allow. Started by {@code ./sluice bench redis}.
 */
public final class RedisBenchmark {

  private static final int BUCKETS = 10_000;
  private static final int OUTSTANDING = 1_024;
  private static final int MOST_SAMPLES = 1 << 19;

  private final long measureNanos;
  private final long warmUpNanos;

  private RedisBenchmark(int seconds) {
    this.measureNanos = TimeUnit.SECONDS.toNanos(seconds);
    this.warmUpNanos = measureNanos / 2;
  }

  /**
   * Prints a table.
   *
   * @param args the URI of a Redis whose content may be lost, and seconds for each figure
   * @throws InterruptedException if somebody interrupts it
   */
  public static void main(String[] args) throws InterruptedException {
    URI uri = URI.create(args[0]);
    RedisBenchmark benchmark = new RedisBenchmark(Integer.parseInt(args[1]));
    List<Function<URI, Subject>> subjects =
        List.of(
            Subjects::get,
            Subjects::seed,
            Subjects::bucket4j,
            at -> Subjects.redisson(at, BUCKETS),
            Subjects::sluice);
    RedisClient client = RedisClient.create(uri.toString());
    RedisCommands<String, String> commands = client.connect().sync();
    System.out.println(
        "| decisions/s (p50 / p99 µs) | 1 caller | 16 | 64 | asynchronous, 1024 | bytes |");
    System.out.println("|---|---|---|---|---|---|");
    for (Function<URI, Subject> make : subjects) {
      var unused = commands.flushall();
      try (Subject subject = make.apply(uri)) {
        System.out.printf(
            "| %s | %s | %s | %s | %s | %s |%n",
            subject.name(),
            benchmark.callers(subject, 1),
            benchmark.callers(subject, 16),
            benchmark.callers(subject, 64),
            benchmark.asynchronous(subject),
            bytes(subject, commands));
      }
    }
    client.shutdown();
  }

  private static String bytes(Subject subject, RedisCommands<String, String> commands) {
    String key = subject.redisKey(7);
    subject.spend(7);
    return key == null ? "" : String.valueOf(commands.memoryUsage(key));
  }

  private String callers(Subject subject, int callers) throws InterruptedException {
    long[][] samples = new long[callers][];
    CountDownLatch done = new CountDownLatch(callers);
    long start = System.nanoTime() + warmUpNanos;
    for (int i = 0; i < callers; i++) {
      int caller = i;
      new Thread(
              () -> {
                samples[caller] = call(subject, caller, start);
                done.countDown();
              })
          .start();
    }
    done.await();
    long[] all = Arrays.stream(samples).flatMapToLong(Arrays::stream).sorted().toArray();
    return "%,d (%d / %d)"
        .formatted(
            all.length * 1_000_000_000L / measureNanos,
            all[all.length / 2] / 1_000,
            all[all.length * 99 / 100] / 1_000);
  }

  private long[] call(Subject subject, int caller, long start) {
    SplittableRandom random = new SplittableRandom(caller);
    long[] samples = new long[MOST_SAMPLES];
    int count = 0;
    for (long now = System.nanoTime(); now - start < measureNanos; ) {
      subject.spend(random.nextInt(BUCKETS));
      long after = System.nanoTime();
      if (now - start >= 0 && count < MOST_SAMPLES) {
        samples[count++] = after - now;
      }
      now = after;
    }
    return Arrays.copyOf(samples, count);
  }

  private String asynchronous(Subject subject) throws InterruptedException {
    if (subject.spendAsync(0) == null) {
      return "";
    }
    SplittableRandom random = new SplittableRandom(1);
    Semaphore free = new Semaphore(OUTSTANDING);
    LongAdder done = new LongAdder();
    List<Throwable> failures = new ArrayList<>();
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
                if (failure != null) {
                  synchronized (failures) {
                    failures.add(failure);
                  }
                } else if (counts) {
                  done.increment();
                }
              });
    }
    free.acquire(OUTSTANDING);
    String failed = failures.isEmpty() ? "" : ", " + failures.size() + " failed";
    return "%,d%s".formatted(done.sum() * 1_000_000_000L / measureNanos, failed);
  }
}
