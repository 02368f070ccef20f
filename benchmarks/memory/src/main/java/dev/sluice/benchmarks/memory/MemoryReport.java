// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import dev.sluice.benchmarks.memory.Footprint.Size;
import dev.sluice.benchmarks.memory.Row.Cost;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * The command {@code ./sluice bench memory}. Measures the limiters, prints figures, ratios and
 * goals, and writes them as JSON, SVG and Markdown.
 */
final class MemoryReport {

  private static final String USAGE =
      """
      Usage: sluice bench memory [--goals | --full | --smoke] [--only REGEX] [--out DIR]

      Compares the memory store with Bucket4j, Resilience4j, Guava, Failsafe, a hand-written GCRA in
      a ConcurrentHashMap, and a get from this map. Compare only figures of the same run.

      Each id is a new string, as in a server. The rows of a scene are measured in turn, in three
      rounds, each in a separate process. A figure is the median, with the lowest and the highest
      round. "~" marks a row whose rounds overlap with the rounds of Sluice: no difference was
      measured.

      Without an option, the rows of docs/benchmarks.md are measured (5 minutes, or more if the
      machine allocates memory slowly).

        --goals       the rows that the goals need (25 minutes)
        --full        all scenes, with both garbage collectors (more than an hour, 8 GB of heap)
        --smoke       a few rows for a second each, as a test; the figures are not meaningful
        --only REGEX  only the rows whose text matches, such as 'sluice|bucket4j' or '1 key'
        --out DIR     the folder for memory.json, memory.svg and memory.md (default: target/bench)
      """;

  private static final int ROUNDS = 3;

  /**
   * The heap size of a request's id in bytes, which is subtracted from the measured bytes. {@code
   * ARRAY} is the size of an array of 20 bytes, {@code TEXT} the size of a string of 20 characters.
   */
  private static final double ARRAY = 40;

  private static final double TEXT = ARRAY + 24 + 40;

  private final List<Row> rows;
  private final Path out;
  private final boolean smoke;
  private final List<String> page = new ArrayList<>();

  private MemoryReport(List<Row> rows, Path out, boolean smoke) {
    this.rows = rows;
    this.out = out;
    this.smoke = smoke;
  }

  public static void main(String[] args) throws Exception {
    List<Row> rows = Scenes.headline();
    Pattern only = Pattern.compile("");
    Path out = Path.of("target", "bench");
    boolean smoke = false;
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--goals" -> rows = Scenes.goals();
        case "--full" -> rows = Scenes.full();
        case "--smoke" -> {
          smoke = true;
          rows = Scenes.goals().stream().filter(r -> r.keys() == 1).toList();
        }
        case "--only" -> only = pattern(value(args, ++i));
        case "--out" -> out = Path.of(value(args, ++i));
        case "--help", "-h" -> {
          System.out.print(USAGE);
          return;
        }
        default -> throw usage("found the argument " + args[i]);
      }
    }
    Pattern wanted = only;
    List<Row> chosen =
        rows.stream()
            .filter(r -> wanted.matcher(r.subject().title() + " " + r.scene()).find())
            .toList();
    if (chosen.isEmpty()) {
      throw usage("--only: no row has " + only + " in its name; --full adds rows");
    }
    new MemoryReport(chosen, out, smoke).run();
  }

  private static String value(String[] args, int at) {
    if (at == args.length) {
      throw usage(args[at - 1] + ": found nothing, expected a value");
    }
    return args[at];
  }

  private static Pattern pattern(String text) {
    try {
      return Pattern.compile(text);
    } catch (PatternSyntaxException e) {
      throw usage("--only: " + e.getMessage());
    }
  }

  private static RuntimeException usage(String message) {
    System.err.printf("sluice bench memory: %s%n%n%s", message, USAGE);
    System.exit(2);
    throw new IllegalStateException(message);
  }

  private void run() throws RunnerException, IOException, InterruptedException {
    Files.createDirectories(out);
    String machine =
        String.format(
            Locale.ROOT,
            "%s %s, %d processors, Java %s",
            System.getProperty("os.name"),
            System.getProperty("os.arch"),
            Runtime.getRuntime().availableProcessors(),
            System.getProperty("java.version"));
    print(
        machine,
        "",
        "| scene | who | ns | of three rounds | bytes | times sluice |",
        "|---|---|---:|---:|---:|---:|");
    Map<Row, Cost> figures = new LinkedHashMap<>();
    List<RunResult> raw = new ArrayList<>();
    Map<String, List<Row>> scenes = new LinkedHashMap<>();
    rows.forEach(row -> scenes.computeIfAbsent(row.scene(), s -> new ArrayList<>()).add(row));
    for (List<Row> scene : scenes.values()) {
      System.err.printf(
          "%s (%d of %d rows are done)%n", scene.get(0).scene(), figures.size(), rows.size());
      Map<Row, List<Cost>> measured = new LinkedHashMap<>();
      for (int round = 0; round < (smoke ? 1 : ROUNDS); round++) {
        for (Row row : scene) {
          RunResult result = measure(row);
          raw.add(result);
          measured.computeIfAbsent(row, r -> new ArrayList<>()).add(figure(row, result));
        }
      }
      Map<Row, Cost> done = new LinkedHashMap<>();
      measured.forEach((row, rounds) -> done.put(row, Cost.of(rounds)));
      Table.lines(done).forEach(this::print);
      figures.putAll(done);
    }
    List<Size> sizes = smoke ? List.of() : sizes();
    print("", "```");
    Goals.of(figures, sizes).forEach(goal -> print(goal.line()));
    print("```");
    Files.write(out.resolve("memory.md"), page, StandardCharsets.UTF_8);
    try (PrintStream json =
        new PrintStream(Files.newOutputStream(out.resolve("memory.json")), true, "UTF-8")) {
      ResultFormatFactory.getInstance(ResultFormatType.JSON, json).writeOut(raw);
    }
    Files.writeString(out.resolve("memory.svg"), Chart.svg(figures), StandardCharsets.UTF_8);
    System.out.println("Written: " + out.resolve("memory.{json,svg,md}"));
  }

  /**
   * Returns a heap size that is large enough for all limiters. With a much larger heap, the JVM
   * starts slowly on some machines.
   */
  private static String heap(int keys) {
    return keys > 1_000_000 ? "8g" : keys > 1_000 ? "2g" : "1g";
  }

  private RunResult measure(Row row) throws RunnerException {
    String heap = smoke ? "256m" : heap(row.keys());
    OptionsBuilder options = new OptionsBuilder();
    if (row.answers().equals("insert")) {
      options.include(InsertBenchmark.class.getName()).param("subject", row.subject().name());
    } else {
      options
          .include(DecisionBenchmark.class.getName())
          .param("subject", row.subject().name())
          .param("answers", row.answers());
    }
    options
        .param("keys", Integer.toString(row.keys()))
        .param("distribution", row.distribution())
        .threads(row.threads())
        .forks(1)
        .jvmArgs(
            "-XX:+Use" + row.collector() + "GC",
            "-Xms" + heap,
            "-Xmx" + heap,
            "-XX:+AlwaysPreTouch") // otherwise the first use of each heap page would be part of the
        // measured time
        .warmupIterations(smoke ? 1 : 3)
        .warmupTime(TimeValue.milliseconds(smoke ? 100 : 400))
        .measurementIterations(smoke ? 1 : 3)
        .measurementTime(TimeValue.milliseconds(smoke ? 100 : 400))
        .addProfiler(GCProfiler.class)
        .verbosity(VerboseMode.SILENT)
        .shouldFailOnError(true);
    return new Runner(options.build()).run().iterator().next();
  }

  private static Cost figure(Row row, RunResult result) {
    Result<?> allocated = result.getSecondaryResults().get("·gc.alloc.rate.norm");
    if (allocated == null) {
      allocated = result.getSecondaryResults().get("gc.alloc.rate.norm");
    }
    double ids = row.answers().equals("insert") ? 0 : row.subject().takesBytes() ? ARRAY : TEXT;
    return new Cost(
        result.getPrimaryResult().getScore(),
        allocated == null ? Double.NaN : Math.max(allocated.getScore() - ids, 0));
  }

  /**
   * Measures the heap memory per bucket: of every limiter in the rows with a million keys, and of
   * Sluice also with other numbers of keys.
   */
  private List<Size> sizes() throws IOException, InterruptedException {
    print("", "| keys | who | bytes of heap per live bucket |", "|---:|---|---:|");
    List<Size> sizes = new ArrayList<>();
    for (Subjects subject : Subjects.WITH_BUCKETS) {
      if (rows.stream().anyMatch(row -> row.subject() == subject)) {
        sizes.add(size(subject, 1_000_000));
      }
    }
    if (rows.stream().anyMatch(row -> row.threads() > 1)) {
      sizes.add(size(Subjects.SLUICE, 1_000));
      sizes.add(size(Subjects.SLUICE, 10_000_000));
    }
    return sizes;
  }

  private Size size(Subjects subject, int keys) throws IOException, InterruptedException {
    Size size = new Size(subject, keys, footprint(subject, keys));
    print(size.line());
    return size;
  }

  private static double footprint(Subjects subject, int keys)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-Xmx8g",
                "-cp",
                System.getProperty("java.class.path"),
                Footprint.class.getName(),
                subject.name(),
                Integer.toString(keys))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException("measuring the footprint failed");
    }
    return Double.parseDouble(text.strip());
  }

  /** Prints lines, and adds the lines to the benchmark's Markdown page. */
  private void print(String... lines) {
    for (String line : lines) {
      System.out.println(line);
      page.add(line);
    }
  }
}
