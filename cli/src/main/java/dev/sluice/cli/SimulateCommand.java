// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm;
import dev.sluice.lab.ClientGroup;
import dev.sluice.lab.Drip;
import dev.sluice.lab.Report;
import dev.sluice.lab.RunResult;
import dev.sluice.lab.RunResultsJson;
import dev.sluice.lab.Scenario;
import dev.sluice.lab.Subject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code sluice simulate}: the same traffic against several algorithms or several limits. */
@Command(
    name = "simulate",
    description = {
      "Sends the same traffic to several algorithms or limits, on a virtual clock, and compares.",
      "",
      "Traffic is a kind with its settings behind a colon; --traffic may be repeated:",
      "  steady       each client asks at even intervals     rate=30/1m",
      "  bursty       several requests in a row, at random   rate, size=20, within=1s",
      "  diurnal      often by day, seldom by night          rate, day (as long as the",
      "                                                      run), swing=0.9",
      "  rogue        asks as fast as it can, and again      step=100ms, start=0s",
      "               as soon as it is told",
      "  crowd        many small clients and a few large     rate, large=5,",
      "                                                      large-rate=1/1s",
      "  retry-storm  all at once on one bucket, and again   start, within, tries=20,",
      "               when denied                            jitter=0.5",
      "Every kind has clients=10, cost=1, and shared=yes (all clients spend from one bucket)."
          + " Defaults follow from the first limit.",
      "",
      "Algorithms: gcra is Sluice's own limiter; the others are there for comparison."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice simulate                      a rogue script, three algorithms",
      "  sluice simulate --report out.html    the same as a page with charts",
      "  sluice simulate --traffic steady:clients=50 --drip-stall 1h+2h",
      "  sluice simulate --traffic crowd --algorithm gcra --limit 100/1h \\",
      "       --limit 100/1h,burst=20",
      "  sluice simulate --traffic retry-storm --algorithm all --json"
    })
final class SimulateCommand implements Callable<Integer> {

  private static final List<Algorithm> OF_THE_ESSAY =
      List.of(Algorithm.TIME_BUCKET, Algorithm.LEAKY_BUCKET, Algorithm.GCRA);
  private static final int USUAL_FILLS = 4; // so that a reset is seen three times

  private final Console console;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--traffic",
      paramLabel = "KIND[:KEY=VALUE,...]",
      description = "The kind of traffic; rogue if not given.",
      completionCandidates = Kinds.class)
  private List<String> traffic = List.of();

  @Option(
      names = "--algorithm",
      paramLabel = "NAME",
      split = ",",
      description =
          "One of ${COMPLETION-CANDIDATES}; several with commas. If not given: time-bucket,"
              + " leaky-bucket, gcra.",
      completionCandidates = Names.class)
  private List<String> algorithms = List.of();

  @Mixin private SimulatedLimits limits = new SimulatedLimits();
  @Mixin private DripOptions drips = new DripOptions();

  @Option(
      names = "--for",
      paramLabel = "TIME",
      description =
          "How long; if not given, four times as long as a bucket of the largest limit takes to fill.")
  private @Nullable String length;

  @Option(
      names = "--bin",
      paramLabel = "TIME",
      description =
          "The time step over which rates are counted. The default splits the run into at most 240"
              + " steps.")
  private @Nullable String bin;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "The seed of everything random: the same seed gives the same result (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--watch",
      paramLabel = "CLIENT",
      defaultValue = "",
      description =
          "The client whose bucket is drawn, such as rogue-1; the first one if not given.")
  private String watched = "";

  @Option(names = "--json", description = "Print one JSON object with everything that charts need.")
  private boolean json;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "Write a page with charts that needs no network and no script.")
  private @Nullable Path report;

  SimulateCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (report != null) {
      requireWritable(report);
    }
    List<Quota> quotas = limits.quotas();
    List<Subject> subjects = subjects(quotas, drips.drip());
    Scenario scenario = scenario(quotas);
    List<RunResult> outcomes = run(scenario, subjects);
    if (json) {
      console.line(RunResultsJson.of(scenario, outcomes));
    } else {
      SimulationTable.lines(scenario, outcomes, console.width()).forEach(console::line);
    }
    if (report != null) {
      write(report, Report.html(scenario, outcomes, asTyped()));
    }
    return Exit.DONE;
  }

  private List<Subject> subjects(List<Quota> quotas, Drip drip) {
    List<Algorithm> kinds = kinds();
    drips.requireLeakyBucket(kinds.contains(Algorithm.LEAKY_BUCKET));
    List<Subject> subjects = new ArrayList<>();
    for (Quota quota : quotas) {
      for (Algorithm kind : kinds) {
        subjects.add(orRefused("--", () -> new Subject(kind, quota, drip)));
      }
    }
    return subjects.stream().distinct().toList();
  }

  private List<Algorithm> kinds() {
    if (algorithms.isEmpty()) {
      return OF_THE_ESSAY;
    }
    return algorithms.stream()
        .flatMap(name -> orRefused("--algorithm: ", () -> Algorithm.parse(name)).stream())
        .toList();
  }

  private Scenario scenario(List<Quota> quotas) {
    Duration longestFill =
        Duration.ofNanos(quotas.stream().mapToLong(Quota::offsetNanos).max().orElseThrow());
    Duration time =
        length == null ? longestFill.multipliedBy(USUAL_FILLS) : Periods.positive("--for", length);
    if (time.compareTo(Scenario.LONGEST) > 0) {
      throw new InputException(
          length == null
              ? "--for TIME is needed: the time to fill the bucket (%s) times %s is more than 10 years"
                  .formatted(Periods.brief(longestFill), USUAL_FILLS)
              : "--for: found %s, expected at most 10 years".formatted(length));
    }
    Duration step = bin == null ? Scenario.usualBin(time) : Periods.positive("--bin", bin);
    List<ClientGroup> groups =
        (traffic.isEmpty() ? List.of("rogue") : traffic)
            .stream()
                .map(
                    text ->
                        orRefused(
                            "--traffic: ", () -> ClientGroup.parse(text, quotas.get(0), time)))
                .toList();
    return orRefused("--", () -> new Scenario(groups, time, step, seed, watched));
  }

  private List<RunResult> run(Scenario scenario, List<Subject> subjects) {
    ProgressLine progress = new ProgressLine(console.err());
    double all = subjects.size();
    List<RunResult> outcomes = new ArrayList<>();
    try {
      for (Subject subject : subjects) {
        int done = outcomes.size();
        outcomes.add(
            orRefused(
                "",
                () ->
                    scenario.run(
                        subject,
                        nanos ->
                            progress.at(
                                subject.toString(),
                                (done + (double) nanos / scenario.length().toNanos()) / all))));
      }
    } finally {
      progress.clear();
    }
    return outcomes;
  }

  /** The lab refuses by the words of its own parts, which are those of the options. */
  private static <T> T orRefused(String option, Supplier<T> work) {
    try {
      return work.get();
    } catch (IllegalArgumentException e) {
      throw new InputException(option + e.getMessage());
    }
  }

  private static void requireWritable(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    if (Files.isDirectory(file)) {
      throw new InputException("--report: " + file + ": found a directory, expected a file");
    }
    if (folder == null || !Files.isDirectory(folder)) {
      throw new InputException("--report: " + file + ": there is no folder " + folder);
    }
    if (!Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new InputException("--report: " + file + ": can't be written; check the permissions");
    }
  }

  private void write(Path file, String page) {
    try {
      Files.writeString(file, page);
    } catch (IOException e) {
      throw new InputException("--report: " + file + ": can't be written: " + e.getMessage());
    }
    console.err().println("report: " + file);
  }

  /** The command, for a shell. */
  private String asTyped() {
    return spec.root().commandLine().getParseResult().originalArgs().stream()
        .map(
            word -> word.matches("[\\w./:=,+@%-]+") ? word : "'" + word.replace("'", "'\\''") + "'")
        .collect(Collectors.joining(" ", "sluice ", ""));
  }

  /** For help and completion. */
  private static final class Names implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return Algorithm.names().iterator();
    }
  }

  /** For completion. */
  private static final class Kinds implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return ClientGroup.kinds().iterator();
    }
  }
}
