package dev.sluice.benchmarks.redis;

import com.sun.management.OperatingSystemMXBean;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/**
 * Decisions per second and waiting times on one Redis, every subject in one run, on 10,000 buckets
 * that all allow; then the goals. Started by {@code ./sluice bench redis}.
 */
public final class RedisBenchmark {

  static final int OUTSTANDING = 1_024;

  private static final int BUCKETS = 10_000;
  private static final int[] CALLERS = {1, 16, 64};
  private static final int MOST_SAMPLES = 1 << 19;
  private static final double MICROS_PER_SECOND = 1e6;

  private final long measureNanos;
  private final long warmUpNanos;
  private final RedisCommands<String, String> commands;
  private final OperatingSystemMXBean system =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private RedisBenchmark(int seconds, RedisCommands<String, String> commands) {
    this.measureNanos = TimeUnit.SECONDS.toNanos(seconds);
    this.warmUpNanos = measureNanos / 2;
    this.commands = commands;
  }

  /**
   * Prints tables.
   *
   * @param args the URI of a Redis whose content may be lost, seconds for each figure, and names of
   *     subjects where not all are wanted
   * @throws InterruptedException if somebody interrupts it
   */
  public static void main(String[] args) throws InterruptedException {
    URI uri = URI.create(args[0]);
    RedisClient client = RedisClient.create(uri.toString());
    RedisBenchmark benchmark =
        new RedisBenchmark(Integer.parseInt(args[1]), client.connect().sync());
    benchmark.run(uri, List.of(args).subList(2, args.length));
    client.shutdown();
  }

  private void run(URI uri, List<String> wanted) throws InterruptedException {
    Map<String, Function<URI, Subject>> subjects = new LinkedHashMap<>();
    subjects.put(Subjects.GET, Subjects::get);
    subjects.put(Subjects.SCRIPT, Subjects::script);
    subjects.put(Subjects.SEED, Subjects::seed);
    subjects.put(Subjects.BUCKET4J, Subjects::bucket4j);
    subjects.put(Subjects.REDISSON, at -> Subjects.redisson(at, BUCKETS));
    subjects.put(Subjects.SLUICE, Subjects::sluice);
    if (!wanted.isEmpty()) {
      subjects.keySet().retainAll(wanted);
    }
    Map<String, Map<Integer, Figure>> figures = new LinkedHashMap<>();
    Map<String, Long> bytes = new LinkedHashMap<>();
    System.out.println(
        "| decisions/s (p50 / p99 µs) | 1 caller | 16 | 64 | asynchronous, 1024 | bytes |");
    System.out.println("|---|---|---|---|---|---|");
    for (Map.Entry<String, Function<URI, Subject>> entry : subjects.entrySet()) {
      var unused = commands.flushall();
      try (Subject subject = entry.getValue().apply(uri)) {
        Map<Integer, Figure> row = row(subject);
        figures.put(entry.getKey(), row);
        long one = bytes(subject);
        bytes.put(entry.getKey(), one);
        StringBuilder line = new StringBuilder("| ").append(entry.getKey());
        for (int load : List.of(1, 16, 64, OUTSTANDING)) {
          Figure figure = row.get(load);
          line.append(" | ").append(figure == null ? "" : figure.cell());
        }
        System.out.println(line + " | " + (one == 0 ? "" : one) + " |");
      }
    }
    printProcessorTime(figures);
    if (wanted.isEmpty()) {
      System.out.println();
      Goal.of(figures, bytes.getOrDefault(Subjects.SLUICE, 0L))
          .forEach(goal -> System.out.println(goal.line()));
    }
  }

  private static void printProcessorTime(Map<String, Map<Integer, Figure>> figures) {
    System.out.println();
    System.out.println("| processor µs a decision: client + server | 1 caller | 16 | 64 | 1024 |");
    System.out.println("|---|---|---|---|---|");
    figures.forEach(
        (name, row) -> {
          StringBuilder line = new StringBuilder("| ").append(name);
          for (int load : List.of(1, 16, 64, OUTSTANDING)) {
            Figure figure = row.get(load);
            line.append(" | ")
                .append(
                    figure == null
                        ? ""
                        : "%.1f + %.1f".formatted(figure.clientMicros(), figure.serverMicros()));
          }
          System.out.println(line + " |");
        });
  }

  private Map<Integer, Figure> row(Subject subject) throws InterruptedException {
    Map<Integer, Figure> row = new TreeMap<>();
    for (int callers : CALLERS) {
      row.put(callers, callers(subject, callers));
    }
    if (subject.spendAsync(0) != null) {
      row.put(OUTSTANDING, asynchronous(subject));
    }
    return row;
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
    Semaphore free = new Semaphore(OUTSTANDING);
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
    free.acquire(OUTSTANDING);
    return meter.figure(done.sum() * 1e9 / measureNanos, 0, 0, failures.sum());
  }
}
