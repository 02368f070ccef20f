// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import com.sun.management.OperatingSystemMXBean;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A process that measures one subject under all of its loads. Each subject has its own JVM, so that
 * the JIT compiler's profile of one subject does not affect another. Only one pair of subjects
 * shares a JVM: a caller calls Sluice and GET alternately, so that both have the same conditions.
 * {@link RedisBenchmark} starts each measuring process and parses the output.
 */
final class Measurement {

  /** Separates the parts of an output line. */
  static final String BAR = "|";

  private static final int BUCKETS = 10_000;
  private static final long SPAN_NANOS = 300_000_000;
  private static final int MOST_SPANS = 100;
  // A smaller number of calls by a single caller is not enough for the JIT compiler to compile all
  // of the code.
  private static final long LEAST_CALLS = 50_000;
  private static final double MICROS_PER_SECOND = 1e6;

  private final long measureNanos;
  private final RedisCommands<String, String> commands;
  private final OperatingSystemMXBean system =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
  private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();

  private Measurement(double seconds, RedisCommands<String, String> commands) {
    this.measureNanos = (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    this.commands = commands;
  }

  /**
   * Prints one line for each load, and a line with the memory of a bucket in bytes.
   *
   * @param args the URI of a Redis whose data can be deleted, the seconds for each figure, the name
   *     of a subject, and the names of the loads to measure
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] args) throws InterruptedException {
    String uri = args[0];
    RedisClient client = RedisClient.create(uri);
    Measurement measurement = new Measurement(Double.parseDouble(args[1]), client.connect().sync());
    var unused = measurement.commands.flushall();
    if (args[2].equals(Subjects.BESIDE_GET)) {
      measurement.alternate(uri);
    } else {
      try (Client subject = Subjects.make(args[2], uri, BUCKETS)) {
        List<String> wanted = List.of(args).subList(3, args.length);
        for (Load load : subject.loads()) {
          if (wanted.isEmpty() || wanted.contains(load.name())) {
            measurement.print(args[2], load, subject);
          }
        }
        measurement.printBytes(args[2], subject);
      }
    }
    client.shutdown();
  }

  private void print(String name, Load load, Client subject) throws InterruptedException {
    print(name, load, measured(Run.start(subject, load, BUCKETS), subject.charges()));
  }

  private void printBytes(String name, Client subject) {
    String key = subject.redisKey(7);
    if (key != null) {
      subject.spend(7);
      System.out.println(
          String.join(BAR, name, RedisBenchmark.BYTES, commands.memoryUsage(key).toString()));
    }
  }

  private static void print(String name, Load load, Round round) {
    System.out.println(String.join(BAR, name, load.name(), round.text()));
  }

  private void alternate(String uri) throws InterruptedException {
    try (Client get = Subjects.make(Subjects.GET, uri, BUCKETS);
        Client sluice = Subjects.make(Subjects.SLUICE, uri, BUCKETS)) {
      Run run = Run.alternating(List.of(get, sluice), BUCKETS);
      Round both = measured(run, 1);
      print(Subjects.GET_BESIDE, Load.ONE, withWaits(both, run.waits(0, 2)));
      print(Subjects.BESIDE_GET, Load.ONE, withWaits(both, run.waits(1, 2)));
    }
  }

  /** Waits until a run has warmed up, then measures and stops the run. */
  private Round measured(Run run, int charges) throws InterruptedException {
    double warmUpSeconds;
    long nanos;
    long calls;
    double clientSeconds;
    double serverSeconds;
    try (run) {
      warmUpSeconds = warmUp(run);
      double clientBefore = system.getProcessCpuTime() / 1e9;
      double serverBefore = serverSeconds();
      long callsBefore = run.calls();
      long start = System.nanoTime();
      run.take();
      TimeUnit.NANOSECONDS.sleep(measureNanos);
      nanos = System.nanoTime() - start;
      calls = run.calls() - callsBefore;
      serverSeconds = serverSeconds() - serverBefore;
      clientSeconds = system.getProcessCpuTime() / 1e9 - clientBefore;
    }
    double decided = Math.max((double) calls * charges, 1);
    Round round =
        new Round(
            calls * 1e9 / nanos,
            0,
            0,
            clientSeconds * MICROS_PER_SECOND / decided,
            serverSeconds * MICROS_PER_SECOND / decided,
            run.failures(),
            warmUpSeconds);
    return withWaits(round, run.waits(0, 1));
  }

  private static Round withWaits(Round round, long[] waits) {
    return waits.length == 0
        ? round
        : new Round(
            round.perSecond(),
            (double) waits[waits.length / 2],
            (double) waits[waits.length * 99 / 100],
            round.clientMicros(),
            round.serverMicros(),
            round.failures(),
            round.warmUpSeconds());
  }

  /**
   * Waits until many calls were made, the rate of calls no longer rises, and the JIT compiler
   * hardly works any more. Returns the duration of the warm-up in seconds; the negated duration if
   * the JVM was still warming up at the end.
   */
  private double warmUp(Run run) throws InterruptedException {
    Warmth warmth = new Warmth();
    long start = System.nanoTime();
    for (int i = 0; i < MOST_SPANS && !(warmth.isStable() && run.calls() >= LEAST_CALLS); i++) {
      long before = System.nanoTime();
      long calls = run.calls();
      long compiledMillis = compiler.getTotalCompilationTime();
      TimeUnit.NANOSECONDS.sleep(SPAN_NANOS);
      double nanos = System.nanoTime() - before;
      warmth.add(
          (run.calls() - calls) * 1e9 / nanos,
          (compiler.getTotalCompilationTime() - compiledMillis) * 1e6 / nanos);
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    return warmth.isStable() ? seconds : -seconds;
  }

  /** Returns the processor time that the Redis server has used so far, in seconds. */
  private double serverSeconds() {
    double seconds = 0;
    for (String line : commands.info("cpu").lines().toList()) {
      if (line.startsWith("used_cpu_sys:") || line.startsWith("used_cpu_user:")) {
        seconds += Double.parseDouble(line.substring(line.indexOf(':') + 1));
      }
    }
    return seconds;
  }
}
