// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The Redis store beside its peers and its bounds, in one run: decisions on buckets that all allow;
 * then the goals. Each subject is measured in a JVM of its own ({@link Measurement}), all of them
 * in turn, several times; a figure is the median. Started by {@code ./sluice bench redis}.
 */
public final class RedisBenchmark {

  static final List<Integer> CALLERS = List.of(1, 16, 64);
  static final int OUTSTANDING = 1_024;
  static final String BYTES = "bytes";

  private static final List<Integer> LOADS =
      Stream.concat(CALLERS.stream(), Stream.of(OUTSTANDING)).toList();
  private static final int ROUNDS = 3;

  private final Map<String, Map<Integer, List<Figure>>> figures = new LinkedHashMap<>();
  private final Map<String, Long> bytes = new LinkedHashMap<>();

  private RedisBenchmark() {}

  /**
   * Prints tables.
   *
   * @param args the URI of a Redis whose content may be lost, seconds for each figure, and names of
   *     subjects where not all are wanted
   * @throws IOException if a JVM cannot be started
   * @throws InterruptedException if somebody interrupts it
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    List<String> wanted = List.of(args).subList(2, args.length);
    RedisBenchmark benchmark = new RedisBenchmark();
    for (int round = 0; round < ROUNDS; round++) {
      for (String subject : wanted.isEmpty() ? Subjects.ALL : wanted) {
        benchmark.measure(args[0], args[1], subject);
      }
    }
    benchmark.print(wanted.isEmpty());
  }

  private void measure(String uri, String seconds, String subject)
      throws IOException, InterruptedException {
    Process measurement =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp",
                System.getProperty("java.class.path"),
                Measurement.class.getName(),
                uri,
                seconds,
                subject)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(measurement.getInputStream(), StandardCharsets.UTF_8))) {
      out.lines().forEach(line -> take(subject, line.split(" ", 2)));
      if (measurement.waitFor() != 0) {
        throw new IOException(
            "the measurement of " + subject + " ended with " + measurement.exitValue());
      }
    } finally {
      measurement.destroy();
    }
  }

  private void take(String subject, String[] line) {
    if (line[0].equals(BYTES)) {
      bytes.put(subject, Long.parseLong(line[1]));
    } else {
      figures
          .computeIfAbsent(subject, s -> new TreeMap<>())
          .computeIfAbsent(Integer.parseInt(line[0]), load -> new ArrayList<>())
          .add(Figure.parse(line[1]));
    }
  }

  private void print(boolean withGoals) {
    Map<String, Map<Integer, Figure>> medians = new LinkedHashMap<>();
    figures.forEach(
        (subject, row) -> {
          Map<Integer, Figure> median = new TreeMap<>();
          row.forEach((load, rounds) -> median.put(load, Figure.median(rounds)));
          medians.put(subject, median);
        });
    System.out.println(
        "| decisions/s (p50 / p99 µs) | 1 caller | 16 | 64 | asynchronous, 1024 | bytes |");
    System.out.println("|---|---|---|---|---|---|");
    medians.forEach(
        (subject, row) -> {
          long one = bytes.getOrDefault(subject, 0L);
          System.out.println(
              cells(subject, row, Figure::cell) + " | " + (one == 0 ? "" : one) + " |");
        });
    System.out.println();
    System.out.println("| processor µs a decision: client + server | 1 caller | 16 | 64 | 1024 |");
    System.out.println("|---|---|---|---|---|");
    medians.forEach(
        (subject, row) -> System.out.println(cells(subject, row, Figure::processorCell) + " |"));
    if (withGoals) {
      System.out.println();
      Goals.of(medians, bytes.getOrDefault(Subjects.SLUICE, 0L))
          .forEach(goal -> System.out.println(goal.line()));
    }
  }

  private static String cells(
      String subject, Map<Integer, Figure> row, Function<Figure, String> cell) {
    StringBuilder line = new StringBuilder("| ").append(subject);
    for (int load : LOADS) {
      Figure figure = row.get(load);
      line.append(" | ").append(figure == null ? "" : cell.apply(figure));
    }
    return line.toString();
  }
}
