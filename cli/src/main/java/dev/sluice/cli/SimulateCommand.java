// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.lab.Algorithm;
import dev.sluice.lab.ClientGroup;
import dev.sluice.lab.ComparisonTable;
import dev.sluice.lab.Drip;
import dev.sluice.lab.Report;
import dev.sluice.lab.RunResult;
import dev.sluice.lab.RunResultsJson;
import dev.sluice.lab.Scenario;
import dev.sluice.lab.Subject;
import dev.sluice.lab.UnknownCosts;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code sluice simulate}: sends the same requests to several algorithms or several limits. */
@Command(
    name = "simulate",
    description = {
      "Compares algorithms or limits: sends the same requests to each, on a virtual clock.",
      "",
      "--traffic names a kind of traffic, with settings after a colon. Repeatable:",
      "  steady       each client sends at even intervals    rate=30/1m",
      "  bursty       several requests in a row, at random   rate, size=20, within=1s",
      "  diurnal      many requests by day, few by night     rate, day (as long as the",
      "                                                      run), swing=0.9",
      "  rogue        sends as fast as it can, and retries   step=100ms, start=0s",
      "               when a wait is over",
      "  crowd        many small clients and a few large     rate, large=5,",
      "                                                      large-rate=1/1s",
      "  retry-storm  all at once on one bucket, with        start, within, tries=20,",
      "               retries if denied                      jitter=0.5",
      "Every kind of traffic also has the settings clients=10, cost=1, and shared=yes (all clients"
          + " spend from one bucket). The defaults depend on the first limit.",
      "",
      "Algorithms: gcra is Sluice's own limiter; the other algorithms are for comparison."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice simulate                      a rogue script, three algorithms",
      "  sluice simulate --report out.html    the same as a page with charts",
      "  sluice simulate --traffic steady:clients=50 --drip-stall 1h+2h",
      "  sluice simulate --traffic crowd --algorithm gcra --limit 100/1h \\",
      "       --limit 100/1h,burst=20",
      "  sluice simulate --traffic retry-storm --algorithm all --json",
      "  sluice simulate --unknown-costs      costs that are known afterwards"
    })
final class SimulateCommand extends ConsoleCommand {

  /** How each report begins. */
  static final String REPORT = "<!doctype html>\n<!-- a report of sluice -->\n";

  private static final List<Algorithm> OF_THE_ESSAY =
      List.of(Algorithm.TIME_BUCKET, Algorithm.LEAKY_BUCKET, Algorithm.GCRA);
  private static final int USUAL_FILLS = 4; // a run this long shows three resets of fixed windows

  private static final String UNKNOWN_COSTS_LIMIT = "20000/1s,burst=200000";
  private static final Duration UNKNOWN_COSTS_TIME = Duration.ofMinutes(10);

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
          "One of ${COMPLETION-CANDIDATES}; separate several names with commas. If not given:"
              + " time-bucket, leaky-bucket and gcra; for several limits, only gcra.",
      completionCandidates = Names.class)
  private List<String> algorithms = List.of();

  @Mixin private SimulatedLimits limits = new SimulatedLimits();
  @Mixin private DripOptions drips = new DripOptions();

  @Option(
      names = "--for",
      paramLabel = "TIME",
      description =
          "The simulated time; if not given, four times the time to fill the largest limit's"
              + " bucket.")
  private @Nullable String length;

  @Option(
      names = "--bin",
      paramLabel = "TIME",
      description =
          "The time step for counting rates. The default splits the simulated time into at most 240"
              + " steps.")
  private @Nullable String bin;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "The seed of all random numbers: the same seed gives the same result (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(
      names = "--watch",
      paramLabel = "CLIENT",
      defaultValue = "",
      description =
          "The client whose bucket the chart shows, such as rogue-1; the first client if not given.")
  private String watched = "";

  @Option(names = "--json", description = "Print one JSON object with everything that charts need.")
  private boolean json;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "Write a page with charts, which uses no network and no script.")
  private @Nullable Path report;

  @Option(
      names = "--unknown-costs",
      paramLabel = "TIMES",
      arity = "0..1",
      fallbackValue = "5",
      description =
          "Compares ways to charge calls whose cost is known only at their end. Together, the"
              + " calls cost TIMES (5) times as many tokens as the limit refills. The default limit"
              + " is then 20000/1s,burst=200000, and the default time 10m. Only --limit, --for and"
              + " --seed can be combined with this option.")
  private @Nullable Double demand;

  @Override
  public Integer call() {
    if (demand != null) {
      return unknownCosts(demand);
    }
    if (report != null) {
      requireWritable("--report", report, REPORT);
    }
    List<Quota> quotas = limits.quotas(SimulatedLimits.USUAL);
    List<Subject> subjects = subjects(quotas, drips.drip());
    Scenario scenario = scenario(quotas);
    List<RunResult> outcomes = run(scenario, subjects);
    if (json) {
      console.line(RunResultsJson.of(scenario, outcomes));
    } else {
      ComparisonTable.lines(scenario, outcomes, console.width()).forEach(console::line);
    }
    if (report != null) {
      write(report, Report.html(scenario, outcomes, asTyped()));
    }
    return Exit.DONE;
  }

  private int unknownCosts(double times) {
    if (!traffic.isEmpty()
        || !algorithms.isEmpty()
        || json
        || report != null
        || bin != null
        || !watched.isEmpty()) {
      throw new InputException(
          "--unknown-costs: found another option, expected only --limit, --for or --seed");
    }
    drips.requireLeakyBucket(false);
    List<Quota> quotas = limits.quotas(UNKNOWN_COSTS_LIMIT);
    if (quotas.size() > 1) {
      throw new InputException(
          "--limit: found %s limits, expected one with --unknown-costs".formatted(quotas.size()));
    }
    Duration time = length == null ? UNKNOWN_COSTS_TIME : Quantities.positive("--for", length);
    UnknownCosts costs =
        orRefused("--unknown-costs: ", () -> new UnknownCosts(quotas.get(0), times, time, seed));
    costs.lines(costs.run()).forEach(console::line);
    return Exit.DONE;
  }

  private List<Subject> subjects(List<Quota> quotas, Drip drip) {
    List<Algorithm> kinds = kinds(quotas.size());
    drips.requireLeakyBucket(kinds.contains(Algorithm.LEAKY_BUCKET));
    List<Subject> subjects = new ArrayList<>();
    for (Quota quota : quotas) {
      for (Algorithm kind : kinds) {
        subjects.add(orRefused("--", () -> new Subject(kind, quota, drip)));
      }
    }
    return subjects.stream().distinct().toList();
  }

  /** Returns the algorithms to run; if several limits are compared, only Sluice's by default. */
  private List<Algorithm> kinds(int limitCount) {
    if (algorithms.isEmpty()) {
      return limitCount > 1 ? List.of(Algorithm.GCRA) : OF_THE_ESSAY;
    }
    return algorithms.stream()
        .flatMap(name -> orRefused("--algorithm: ", () -> Algorithm.parse(name)).stream())
        .toList();
  }

  private Scenario scenario(List<Quota> quotas) {
    Duration longestFill =
        Duration.ofNanos(quotas.stream().mapToLong(Quota::offsetNanos).max().orElseThrow());
    Duration time =
        length == null
            ? longestFill.multipliedBy(USUAL_FILLS)
            : Quantities.positive("--for", length);
    if (time.compareTo(Scenario.LONGEST) > 0) {
      throw new InputException(
          length == null
              ? "--for TIME is needed: the time to fill the bucket (%s) times %s is more than 10 years"
                  .formatted(Quantities.brief(longestFill), USUAL_FILLS)
              : "--for: found %s, expected at most 10 years".formatted(length));
    }
    Duration step = bin == null ? Scenario.usualBin(time) : Quantities.positive("--bin", bin);
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

  /** Runs a call of the lab module, and reports its exception as wrong input for an option. */
  private static <T> T orRefused(String option, Supplier<T> work) {
    try {
      return work.get();
    } catch (IllegalArgumentException e) {
      throw new InputException(option + e.getMessage());
    }
  }

  /**
   * Requires that a result can be written, so that the result of a long run is not lost. An
   * existing file must be an earlier result: after {@code --csv x*.log}, the first log would be
   * lost.
   *
   * @param begin how each such result begins
   */
  static void requireWritable(String option, Path file, String begin) {
    if (Files.isDirectory(file)) {
      throw new InputException(option + ": " + file + ": found a directory, expected a file");
    }
    Path folder = InputFiles.folder(option + ": " + file, file);
    if (!Files.isWritable(Files.exists(file) ? file : folder)) {
      throw new InputException(option + ": " + file + ": can't be written; check the permissions");
    }
    if (Files.isRegularFile(file) && !isEmptyOrBegins(file, begin)) {
      throw new InputException(
          "%s: %s: the file exists, and is not an earlier result; name another file"
              .formatted(option, file));
    }
  }

  private static boolean isEmptyOrBegins(Path file, String begin) {
    try (InputStream in = Files.newInputStream(file)) {
      String start = new String(in.readNBytes(begin.length()), StandardCharsets.ISO_8859_1);
      return start.isEmpty() || start.equals(begin);
    } catch (IOException e) {
      return false;
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

  /** Returns this command as text that can be pasted into a shell. */
  private String asTyped() {
    return spec.root().commandLine().getParseResult().originalArgs().stream()
        .map(
            word -> word.matches("[\\w./:=,+@%-]+") ? word : "'" + word.replace("'", "'\\''") + "'")
        .collect(Collectors.joining(" ", "sluice ", ""));
  }

  /** The names of the algorithms, for help and completion. */
  private static final class Names implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return Algorithm.names().iterator();
    }
  }

  /** The kinds of traffic, for completion. */
  private static final class Kinds implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return ClientGroup.kinds().iterator();
    }
  }

  /** The options of the process that drains leaky buckets. */
  private static final class DripOptions {

    @Option(
        names = "--drip-every",
        paramLabel = "TIME",
        description =
            "The time between two runs of the process that drains leaky buckets; if not given, the"
                + " time in which a bucket leaks one token.")
    private @Nullable String every;

    @Option(
        names = "--drip-buckets",
        paramLabel = "N",
        description =
            "The largest number of leaky buckets that the draining process drains at a time (all).")
    private @Nullable Integer buckets;

    @Option(
        names = "--drip-stall",
        paramLabel = "FROM+TIME",
        description =
            "An outage of the process that drains leaky buckets, START+LENGTH: 1h+30m is 1h until"
                + " 1h30m.")
    private List<String> stalls = List.of();

    /** Rejects the options that begin with {@code --drip} if no leaky bucket is simulated. */
    void requireLeakyBucket(boolean isThere) {
      if (!isThere && (every != null || buckets != null || !stalls.isEmpty())) {
        throw new InputException(
            (every != null ? "--drip-every" : buckets != null ? "--drip-buckets" : "--drip-stall")
                + " requires leaky-bucket in --algorithm: no other algorithm drains buckets");
      }
    }

    Drip drip() {
      if (buckets != null && buckets < 1) {
        throw new InputException(
            "--drip-buckets: found " + buckets + ", expected a whole number > 0");
      }
      Drip drip =
          new Drip(
              every == null ? Duration.ZERO : Quantities.positive("--drip-every", every),
              buckets == null ? 0 : buckets,
              List.of());
      for (String stall : stalls) {
        int plus = stall.indexOf('+');
        if (plus < 1) {
          throw new InputException(
              "--drip-stall: found \"" + stall + "\", expected FROM+TIME such as 1h+30m");
        }
        Duration from = start(stall.substring(0, plus));
        Duration length = Quantities.positive("--drip-stall", stall.substring(plus + 1));
        try {
          drip = drip.stalledFrom(from, length);
        } catch (IllegalArgumentException e) {
          throw new InputException("--drip-stall: " + e.getMessage());
        }
      }
      return drip;
    }

    private static Duration start(String text) {
      try {
        return GoDuration.parse(text);
      } catch (IllegalArgumentException e) {
        throw new InputException("--drip-stall: " + e.getMessage());
      }
    }
  }

  /** The simulated limits: quotas, or names of limits in a limit file. */
  private static final class SimulatedLimits {

    private static final String USUAL = "100/1h";

    @Option(
        names = "--limit",
        paramLabel = "LIMIT",
        description =
            "COUNT/PERIOD such as 100/1h or 100/1h,burst=20, or the name of a limit in --limits."
                + " Repeat it for several limits. If not given: "
                + USUAL
                + ".")
    private List<String> limits = List.of();

    @Option(
        names = "--limits",
        paramLabel = "FILE",
        description = "The file with the limits of --limit; if not given, the sample limits.")
    private @Nullable Path file;

    @Option(
        names = "--names",
        paramLabel = "FILE",
        description = "A file that declares limit names, each with number, id format, message.")
    private @Nullable Path names;

    List<Quota> quotas(String usual) {
      List<String> texts = limits.isEmpty() ? List.of(usual) : limits;
      boolean named = !texts.stream().allMatch(Quantities::isQuota);
      requireNoFileForNothing(named);
      Limits known = named ? known() : null;
      return texts.stream().map(text -> quota(text, known)).toList();
    }

    private void requireNoFileForNothing(boolean named) {
      if (file != null && !named) {
        throw new InputException(
            "--limits: no --limit option names a limit of "
                + file
                + ", expected an option such as --limit LoginsPerIPAddress");
      }
      if (names != null && file == null) {
        throw new InputException("--names requires --limits, the file that uses the names");
      }
    }

    private static Quota quota(String text, @Nullable Limits known) {
      if (known == null || Quantities.isQuota(text)) {
        try {
          return Quantities.quota(text);
        } catch (IllegalArgumentException e) {
          throw new InputException("--limit: " + e.getMessage());
        }
      }
      LimitName name = known.catalogue().find(text);
      Quota quota = name == null ? null : known.defaultFor(name);
      if (name == null || quota == null) {
        List<String> named =
            known.catalogue().names().stream()
                .filter(one -> known.defaultFor(one) != null)
                .map(LimitName::name)
                .toList();
        throw new InputException(
            "--limit: found \"%s\", expected the name of a limit with a default, or COUNT/PERIOD"
                    .formatted(text)
                + " such as 100/1h"
                + Suggestion.didYouMean(text, named));
      }
      if (known.defaultsFor(name).size() > 1) {
        throw new InputException(
            "--limit: %s has several quotas, expected a limit with one quota, or COUNT/PERIOD such as 100/1h"
                .formatted(text));
      }
      return quota;
    }

    private Limits known() {
      if (file == null) {
        return SampleLimits.make();
      }
      InputFiles.require(file);
      LimitFiles.Builder files = BundledNames.files().defaults(file);
      if (names != null) {
        InputFiles.require(names);
        files.names(names);
      }
      return files.build().load();
    }
  }

  /**
   * A line on a terminal that shows the progress of a long run, and is removed at the end. The
   * progress line is not printed if standard error is not a terminal, or if the command ends within
   * a second. Not thread-safe.
   */
  static final class ProgressLine {

    private static final String TERMINAL = "sluice.terminal"; // set by the launcher
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long BETWEEN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int CELLS = 30;

    private final PrintWriter err;
    private final boolean watched;
    private final LongSupplier ticker;
    private long drawnNanos;
    private int drawnLength;

    ProgressLine(PrintWriter err) {
      this(err, Boolean.getBoolean(TERMINAL), System::nanoTime);
    }

    ProgressLine(PrintWriter err, boolean watched, LongSupplier ticker) {
      this.err = err;
      this.watched = watched;
      this.ticker = ticker;
      // Makes at() wait for PATIENCE_NANOS before it prints the progress for the first time.
      this.drawnNanos = ticker.getAsLong() + PATIENCE_NANOS - BETWEEN_NANOS;
    }

    /** Prints the progress, from 0 to 1, unless it was printed a moment ago. */
    void at(String what, double share) {
      long now = ticker.getAsLong();
      if (!watched || now - drawnNanos < BETWEEN_NANOS) {
        return;
      }
      drawnNanos = now;
      int full = (int) (share * CELLS);
      String line =
          String.format(
              Locale.ROOT,
              "[%s%s] %3d %% %s",
              "#".repeat(full),
              "-".repeat(CELLS - full),
              (int) (100 * share),
              what);
      draw(line);
    }

    void clear() {
      if (drawnLength > 0) {
        draw("");
        err.print('\r');
        err.flush();
      }
    }

    private void draw(String line) {
      err.print('\r');
      err.print(line);
      err.print(" ".repeat(Math.max(drawnLength - line.length(), 0)));
      err.flush();
      drawnLength = line.length();
    }
  }
}
