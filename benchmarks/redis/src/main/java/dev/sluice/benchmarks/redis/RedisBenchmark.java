// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import dev.sluice.benchmarks.report.Figure;
import dev.sluice.benchmarks.report.Goal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/**
 * The command {@code ./sluice bench redis}. Compares the Redis store with other limiters and with
 * bounds, then checks the goals. The limits of the benchmark allow all requests. In each of several
 * rounds, each subject is measured in a separate JVM ({@link Measurement}). A figure is the median
 * of the rounds.
 */
public final class RedisBenchmark {

  static final String BYTES = "bytes";

  private static final int ROUNDS = 3;

  /** The names of the subjects in docs/benchmarks.md. */
  private static final List<String> HEADLINE =
      List.of(
          Subjects.SLUICE,
          Subjects.SETTLED,
          Subjects.REDISSON,
          Subjects.BUCKET4J,
          Subjects.GET,
          Subjects.HAND_OVER);

  private static final List<Load> HEADLINE_LOADS = List.of(Load.ONE, Load.SIXTY_FOUR, Load.MANY);

  private final Map<String, Map<Load, Rounds>> figures = new LinkedHashMap<>();
  private final Map<String, Long> bytes = new LinkedHashMap<>();
  private final List<Load> loads;

  private RedisBenchmark(List<Load> loads) {
    this.loads = loads;
  }

  /**
   * Prints tables of figures, then the goals.
   *
   * @param args the URI of a Redis whose data can be deleted, the seconds for each figure, and
   *     either {@code --full} for all subjects and loads, or the names of subjects; without both,
   *     the subjects and loads of docs/benchmarks.md are measured
   * @throws IOException if a JVM cannot be started
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    List<String> wanted = List.of(args).subList(2, args.length);
    boolean full = wanted.equals(List.of("--full"));
    List<String> subjects = full ? Subjects.ALL : wanted.isEmpty() ? HEADLINE : wanted;
    RedisBenchmark benchmark = new RedisBenchmark(wanted.isEmpty() ? HEADLINE_LOADS : Load.ALL);
    System.out.println("calls/s ± half of the range (p50 / p99 µs), once the last round is done:");
    for (int round = 1; round <= ROUNDS; round++) {
      for (String subject : subjects) {
        benchmark.measure(args[0], args[1], subject);
        if (round == ROUNDS) {
          benchmark.printRow(subject);
        }
      }
    }
    benchmark.print(full);
  }

  private void printRow(String subject) {
    StringBuilder line = new StringBuilder(subject);
    row(subject)
        .forEach(
            (load, rounds) ->
                line.append("; ").append(load.title()).append(": ").append(rounds.rate()));
    System.out.println(line);
  }

  private void measure(String uri, String seconds, String subject)
      throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dio.lettuce.core.epoll=" + subject.equals(Subjects.EPOLL),
                "-cp",
                System.getProperty("java.class.path"),
                Measurement.class.getName(),
                uri,
                seconds,
                subject));
    if (loads.equals(HEADLINE_LOADS)) {
      loads.forEach(load -> command.add(load.name()));
    }
    Process measurement =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(measurement.getInputStream(), StandardCharsets.UTF_8))) {
      out.lines().map(line -> line.split("[|]", 3)).forEach(this::take);
      if (measurement.waitFor() != 0) {
        throw new IOException(
            "the measurement of " + subject + " ended with " + measurement.exitValue());
      }
    } finally {
      measurement.destroy();
    }
  }

  private void take(String[] line) {
    if (line[1].equals(BYTES)) {
      bytes.put(line[0], Long.parseLong(line[2]));
    } else {
      figures
          .computeIfAbsent(line[0], subject -> new EnumMap<>(Load.class))
          .computeIfAbsent(Load.valueOf(line[1]), load -> new Rounds())
          .add(Round.parse(line[2]));
    }
  }

  private void print(boolean withGoals) {
    table(
        "calls/s (p50 / p99 µs)",
        (load, rounds) -> {
          Rounds ours = row(Subjects.SLUICE).get(load);
          boolean isLike = ours != null && ours != rounds && ours.isLike(rounds);
          return (isLike ? Figure.NO_DIFFERENCE + " " : "") + rounds.rate();
        });
    System.out.println(
        "\n±: half of the range of the rounds; ~: the range overlaps with the range of Sluice, so no"
            + " difference was measured.");
    table("processor µs a charge: client + server", (load, rounds) -> rounds.processor());
    table("warm-up, seconds: median / longest", (load, rounds) -> rounds.warmUp());
    if (withGoals) {
      apart();
    }
    System.out.println("\nbytes of Redis memory of a bucket: " + bytes);
    List<Goal> goals =
        withGoals
            ? Goals.of(figures, bytes.getOrDefault(Subjects.SLUICE, 0L))
            : figures.keySet().containsAll(List.of(Subjects.SLUICE, Subjects.SETTLED))
                ? Goals.ofSettling(figures)
                : List.of();
    System.out.println();
    goals.forEach(goal -> System.out.println(goal.line()));
  }

  private Map<Load, Rounds> row(String subject) {
    return figures.getOrDefault(subject, Map.of());
  }

  private void table(String title, BiFunction<Load, Rounds, String> cell) {
    StringBuilder table = new StringBuilder("\n| ").append(title);
    loads.forEach(load -> table.append(" | ").append(load.title()));
    table.append(" |\n|").append("---|".repeat(loads.size() + 1)).append('\n');
    for (String subject : figures.keySet()) {
      if (Subjects.APART.contains(subject)) {
        continue;
      }
      table.append("| ").append(subject);
      for (Load load : loads) {
        table.append(" | ");
        Rounds rounds = row(subject).get(load);
        table.append(rounds == null ? "" : cell.apply(load, rounds));
      }
      table.append(" |\n");
    }
    System.out.print(table);
  }

  /** Prints the separate table of the subjects in {@link Subjects#APART}. */
  private void apart() {
    System.out.println("\n| | p50 / p99 µs | server µs a charge | warm-up, seconds |");
    System.out.println("|---|---|---|---|");
    for (String subject : Subjects.APART) {
      row(subject)
          .forEach(
              (load, rounds) -> {
                boolean alternates = load == Load.ONE;
                System.out.printf(
                    "| %s | %s | %s | %s |%n",
                    subject,
                    alternates ? rounds.waits() : "",
                    alternates ? "" : rounds.server(),
                    rounds.warmUp());
              });
    }
  }
}
