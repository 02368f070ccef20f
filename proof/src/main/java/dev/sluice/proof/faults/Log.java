// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.gcra.Quota;
import dev.sluice.proof.BrokenPromise;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/*
 * The reference is a leaky bucket that shares no code with Sluice. Each grant adds its cost to the
 * bucket at the time at which the server decided. One token leaks out per emission interval. The
 * level of the bucket must never exceed the burst. The reference uses neither TAT nor tolerance,
 * and computes in whole nanoseconds.
 */

/**
 * The calls and grants that the processes of a load printed. This class checks the grants against
 * the limit.
 */
final class Log {

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final String DIED = "DIED ";

  private final Quota quota;
  private final List<Grant> grants = new ArrayList<>();
  private int calls;
  private int answered;
  private long longestNanos;
  private long longestStallNanos;

  Log(Quota quota) {
    this.quota = quota;
  }

  private record Grant(String id, long cost, long atNanos) {}

  /** Runs several {@link Load} processes in parallel, and injects faults during the run. */
  static Log of(int processes, String address, int seconds, Beside beside) throws Exception {
    return of(processes, address, seconds, 1, beside);
  }

  /**
   * Runs several {@link Load} processes in parallel, and injects faults during the run.
   *
   * @param scale the factor by which the limit and the costs are multiplied
   */
  static Log of(int processes, String address, int seconds, int scale, Beside beside)
      throws Exception {
    Log log = new Log(Load.quota(scale));
    String[] load = {address, String.valueOf(seconds), String.valueOf(scale)};
    lines(processes, Load.class, load, beside).forEach(log::add);
    log.grants.sort(Comparator.comparingLong(Grant::atNanos));
    return log;
  }

  /**
   * Runs several processes in parallel, and injects faults. Returns all lines that the processes
   * printed.
   */
  static List<String> lines(int processes, Class<?> main, String[] arguments, Beside beside)
      throws Exception {
    ExecutorService readers = Executors.newCachedThreadPool();
    try {
      List<Future<List<String>>> outputs = new ArrayList<>();
      for (int i = 0; i < processes; i++) {
        outputs.add(readers.submit(() -> run(main, arguments)));
      }
      beside.run();
      List<String> lines = new ArrayList<>();
      for (Future<List<String>> output : outputs) {
        lines.addAll(output.get());
      }
      return lines;
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } finally {
      readers.shutdown();
    }
  }

  /** An action that is run during the load, such as injecting faults. */
  interface Beside {
    void run() throws Exception;
  }

  /** Prints the reason on a line for {@link #run}, and ends the process. */
  static void die(Throwable why) {
    try {
      System.out.printf("%n%s%s%n", DIED, why.toString().replaceAll("\\R", " "));
      System.out.flush();
    } finally {
      Runtime.getRuntime().halt(1); // also if memory lacks for the line
    }
  }

  static Process start(Class<?> main, String... args) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(List.of("-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    command.addAll(List.of(args));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
  }

  static List<String> run(Class<?> main, String... args) throws IOException, InterruptedException {
    Process process = start(main, args);
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      List<String> lines = out.lines().toList();
      int code = process.waitFor();
      if (code != 0) {
        String died =
            lines.stream().filter(line -> line.startsWith(DIED)).findFirst().orElse("no reason");
        throw new IOException("%s ended with %s: %s".formatted(main.getSimpleName(), code, died));
      }
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }

  /** Adds a line that a process of the load printed. */
  void add(String line) {
    String[] words = line.split(" ", -1);
    if (words[0].equals(Load.GRANT)) {
      grants.add(new Grant(words[1], Long.parseLong(words[2]), Long.parseLong(words[3])));
    } else if (words[0].equals(Load.STALL)) {
      longestStallNanos = Math.max(longestStallNanos, Long.parseLong(words[1]));
    } else {
      calls++;
      answered += Boolean.parseBoolean(words[2]) ? 1 : 0;
      longestNanos = Math.max(longestNanos, Long.parseLong(words[1]));
    }
  }

  /**
   * Throws if a bucket granted more tokens than its limit allows.
   *
   * @param more how many tokens beyond its limit a bucket may grant according to the documentation
   */
  void requireWithinLimit(long more) throws BrokenPromise {
    long excess = excess();
    if (excess > more) {
      throw new BrokenPromise(
          "a bucket granted %s tokens more than its limit, at most %s are allowed"
              .formatted(excess, more));
    }
  }

  /**
   * Throws if no bucket was ever nearly empty. A store that grants everything would then also have
   * stayed within the limit.
   */
  void requireLimitReached() throws BrokenPromise {
    long most = excess();
    BrokenPromise.unless(
        most > -quota.burst() / 5,
        "the fullest bucket granted %s tokens less than its limit, too few for a trial",
        -most);
  }

  /**
   * Adds every grant to the leaky bucket of its id. Returns the largest number of tokens that a
   * bucket granted beyond its limit at any time; negative if no bucket granted all its tokens.
   */
  long excess() {
    long interval = quota.intervalNanos();
    long size = interval * quota.burst();
    long most = -size;
    Map<String, Long> levels = new HashMap<>();
    Map<String, Long> times = new HashMap<>();
    for (Grant grant : grants) {
      long before = levels.getOrDefault(grant.id, 0L);
      long leaked = grant.atNanos - times.getOrDefault(grant.id, grant.atNanos);
      long level = Math.max(0, before - leaked) + grant.cost * interval;
      most = Math.max(most, level - size);
      levels.put(grant.id, level);
      times.put(grant.id, grant.atNanos);
    }
    return -Math.floorDiv(-most, interval);
  }

  /**
   * Throws if a call took longer than its time-out plus 10 % plus the longest stall of the machine.
   */
  void requireInTime() throws BrokenPromise {
    long most = Load.TIMEOUT.toMillis() * 11 / 10 + longestStallNanos / NANOS_PER_MILLI;
    if (longestMillis() > most) {
      throw new BrokenPromise(
          "a call took %s ms, expected at most %s".formatted(longestMillis(), most));
    }
  }

  void requireMostlyAnswered(int percent) throws BrokenPromise {
    if (answered < (long) calls * percent / 100) {
      throw new BrokenPromise(
          this + ": expected that at least " + percent + " % of the calls succeed");
    }
  }

  /** Returns how many tokens all processes were granted. */
  long tokens() {
    return grants.stream().mapToLong(Grant::cost).sum();
  }

  private long longestMillis() {
    return longestNanos / NANOS_PER_MILLI;
  }

  @Override
  public String toString() {
    return "%s calls, %s answered, %s grants of %s tokens replayed, longest call %s ms (longest stall %s ms)"
        .formatted(
            calls,
            answered,
            grants.size(),
            tokens(),
            longestMillis(),
            longestStallNanos / NANOS_PER_MILLI);
  }
}
