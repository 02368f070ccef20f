// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.replay.ClientNames;
import dev.sluice.replay.DenialsCsv;
import dev.sluice.replay.FailIf;
import dev.sluice.replay.LevelOverTime;
import dev.sluice.replay.LogException;
import dev.sluice.replay.Replay;
import dev.sluice.replay.ReplayJson;
import dev.sluice.replay.ReplayPage;
import dev.sluice.replay.ReplayResult;
import dev.sluice.replay.ReplayResult.Row;
import dev.sluice.replay.ReplayText;
import dev.sluice.replay.Shards;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.yaml.LimitFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of {@code sluice replay} for access logs, and the code that replays the logs. */
final class LogReplay {

  private static final Pattern SHARD = Pattern.compile("([0-9]{1,6})/([0-9]{1,6})");

  @Mixin private LogOptions log = new LogOptions();

  @Option(
      names = "--against",
      paramLabel = "FILE",
      description =
          "Limits (the candidate) that are compared on the same requests. FILE needs only the"
              + " limits and overrides that differ from those in force; a limit or override that FILE"
              + " leaves out stays in force. A candidate with rules needs each limit that its rules"
              + " name.")
  private @Nullable Path against;

  @Option(
      names = "--fail-if",
      paramLabel = "CONDITION",
      description =
          "Exits with 1 if the condition is true: METRIC > NUMBER[%%], or >=. The metrics are"
              + " newly-denied-clients, newly-denied-requests, denied-clients and denied-requests"
              + " (of the candidate, if there is one). Repeatable.")
  private List<String> failIf = new ArrayList<>();

  @Option(
      names = "--ids",
      paramLabel = "HOW",
      description =
          "How the result shows clients: show (the default), hash or mask. Hashes of two runs"
              + " differ.")
  private @Nullable String ids;

  @Option(
      names = "--json",
      description =
          "Prints the result as one JSON object. The results of --compare and --fail-if are printed"
              + " on standard error.")
  private boolean json;

  @Option(
      names = "--csv",
      paramLabel = "FILE",
      description =
          "Writes each denial as CSV. The column wait_seconds is empty if the request never passes.")
  private @Nullable Path csv;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "Writes a page with charts, which uses no network and no script.")
  private @Nullable Path report;

  @Option(
      names = "--watch",
      paramLabel = "LIMIT=ID",
      description = "Adds a chart of the tokens in this bucket over time to the report.")
  private @Nullable String watched;

  @Option(
      names = "--shard",
      paramLabel = "N/OF",
      description =
          "Decides only the requests whose ids belong to this shard, such as 3/16. --merge joins"
              + " the results. Each id counts as a client.")
  private @Nullable String shard;

  @Option(
      names = "--merge",
      description = "Joins the results of all shards: each FILE is the output of --shard --json.")
  private boolean merge;

  @Mixin private ShadowComparison comparison = new ShadowComparison();

  @Nullable String format() {
    return log.format();
  }

  void requireFormat() {
    log.requireFormat();
  }

  boolean isMerge() {
    return merge;
  }

  boolean isAskedFor() {
    return log.isAskedFor()
        || merge
        || shard != null
        || comparison.isAskedFor()
        || against != null
        || !failIf.isEmpty()
        || ids != null
        || json
        || csv != null
        || watched != null
        || report != null;
  }

  int run(LimitFileOptions files, List<LogOptions.Source> sources, Console console) {
    List<FailIf> conditions = conditions(against != null);
    ClientNames names = names();
    if (report != null) {
      SimulateCommand.requireWritable("--report", report, SimulateCommand.REPORT);
    }
    if (csv != null) {
      SimulateCommand.requireWritable("--csv", csv, DenialsCsv.HEADING);
    }
    if (csv != null
        && report != null
        && csv.toAbsolutePath().normalize().equals(report.toAbsolutePath().normalize())) {
      throw new InputException("--csv and --report name the same file: " + csv);
    }
    if (shard != null && comparison.isAskedFor()) {
      throw new InputException(
          "--shard and --compare contradict each other: the server's counts are those of all shards; remove one");
    }
    if (shard != null && !failIf.isEmpty()) {
      throw new InputException(
          "--shard and --fail-if contradict each other: the condition is about all shards; give --fail-if to --merge");
    }
    Limits limits = log.limits(files, console);
    Map<String, ShadowComparison.Counts> atServer = comparison.ask(console);
    Replay replay =
        Replay.of(limits, sources)
            .against(against == null ? null : candidate(against, limits, console));
    LevelOverTime level = watch(replay, limits, names);
    int[] part = shard();
    if (part.length > 0) {
      replay.shard(part[0], part[1]);
    }
    if (csv == null) {
      return print(log.run(replay, sources, console), conditions, names, level, atServer, console);
    }
    try (Writer table = Files.newBufferedWriter(csv)) {
      replay.denials(new DenialsCsv(table, names));
      return print(log.run(replay, sources, console), conditions, names, level, atServer, console);
    } catch (IOException | UncheckedIOException e) {
      throw new InputException("--csv: %s: can't be written: %s".formatted(csv, e.getMessage()));
    }
  }

  private @Nullable LevelOverTime watch(Replay replay, Limits limits, ClientNames names) {
    if (watched == null) {
      return null;
    }
    int equals = watched.indexOf('=');
    if (equals < 1 || report == null) {
      throw new InputException(
          report == null
              ? "--watch requires --report FILE"
              : "--watch: found %s, expected LIMIT=ID such as CallsPerClient=203.0.113.7"
                  .formatted(SafeText.quote(watched)));
    }
    String limit = watched.substring(0, equals);
    String id = watched.substring(equals + 1);
    List<Quota> quotas = WhyCommand.quotas(limits, limit, id);
    if (quotas.size() > 1) {
      throw new InputException(
          "--watch: %s has several quotas for %s, but the chart can show only one bucket; sluice why shows the requests of all buckets"
              .formatted(limit, SafeText.printable(id)));
    }
    LevelOverTime level =
        new LevelOverTime("%s of %s".formatted(limit, names.of(id)), quotas.get(0));
    replay.watch(limit, id, level);
    return level;
  }

  int merge(LimitFileOptions files, List<String> results, Console console) {
    if (log.isAskedFor()
        || against != null
        || shard != null
        || comparison.isAskedFor()
        || csv != null
        || !files.none()) {
      throw new InputException(
          "--merge: found options that read logs, expected only results of shards, --json, --report,"
              + " --fail-if and --ids");
    }
    Shards shards = new Shards();
    ReplayResult joined;
    try {
      for (String result : results) {
        try (InputStream in =
            result.equals("-") ? console.in() : InputFiles.open(Path.of(result))) {
          shards.add(result, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
          throw new InputException("%s: can't be read: %s".formatted(result, e.getMessage()));
        }
      }
      joined = shards.joined();
    } catch (LogException e) {
      throw new InputException("--merge: " + e.getMessage());
    }
    List<FailIf> conditions = conditions(joined.change() != null);
    if (report != null) {
      SimulateCommand.requireWritable("--report", report, SimulateCommand.REPORT);
    }
    return print(joined, conditions, names(), null, null, console);
  }

  /** The number of the shard, and the number of shards; empty for all requests. */
  private int[] shard() {
    if (shard == null) {
      return new int[0];
    }
    Matcher parts = SHARD.matcher(shard);
    int number = parts.matches() ? Integer.parseInt(parts.group(1)) : 0;
    int of = parts.matches() ? Integer.parseInt(parts.group(2)) : 0;
    if (number < 1 || number > of) {
      throw new InputException(
          "--shard: found %s, expected N/OF such as 3/16, with N from 1 to OF"
              .formatted(SafeText.quote(shard)));
    }
    return new int[] {number, of};
  }

  private int print(
      ReplayResult result,
      List<FailIf> conditions,
      ClientNames names,
      @Nullable LevelOverTime level,
      @Nullable Map<String, ShadowComparison.Counts> atServer,
      Console console) {
    if (shard == null && result.totals().requests() == 0) { // a shard of a log can be empty
      long left = result.log().skipped();
      throw new InputException(
          "found no request to decide"
              + (left == 0 ? "" : "; --skip-status leaves out all " + left));
    }
    String candidate =
        against != null
            ? String.valueOf(against.getFileName())
            : result.change() == null ? "" : "the candidate";
    if (report != null) {
      write(report, ReplayPage.html(result, candidate, names, level));
      console.err().println("report: " + report);
    }
    List<String> compared = new ArrayList<>();
    boolean isSame = atServer == null || comparison.compare(result, atServer, compared);
    List<FailIf> met = conditions.stream().filter(one -> one.isMet(result)).toList();
    console.print(
        () -> {
          if (json) {
            console.line(ReplayJson.of(result, names));
          } else {
            ReplayText.lines(result, candidate, names).forEach(console::line);
            compared.forEach(console::line);
          }
        });
    if (json) {
      compared.forEach(console.err()::println);
    }
    met.forEach(one -> console.err().println("--fail-if: " + one.found(result)));
    return isSame && met.isEmpty() ? Exit.DONE : Exit.NO;
  }

  private static void write(Path file, String page) {
    try {
      Files.writeString(file, page);
    } catch (IOException e) {
      throw new InputException(
          "--report: %s: can't be written: %s".formatted(file, e.getMessage()));
    }
  }

  /**
   * Returns the candidate: the limits in force, but with the defaults, overrides and rules of a
   * file. The file may declare the names of the limits in force again.
   */
  private Limits candidate(Path file, Limits inForce, Console console) {
    InputFiles.require("--against", file);
    LimitFiles.Builder files = BundledNames.files().strictness(Strictness.LENIENT);
    if (LimitFileOptions.isOfOverrides(file)) {
      files.overrides(file);
    } else {
      files.defaults(file);
    }
    files.catalogue(Catalogue.of()).samples(inForce.catalogue()).companion(RuleBook.reader());
    Limits own = LogOptions.loaded(files.build(), console);
    if (log.isCounting() && RuleBook.of(own).hasRequestRules()) {
      throw new InputException(
          "--against: %s has rules, but --count charges requests without rules; give --rules instead, or remove the rules"
              .formatted(file));
    }
    Catalogue declared = own.catalogue();
    List<LimitName> names = new ArrayList<>(declared.names());
    for (LimitName name : inForce.catalogue().names()) {
      Integer number = name.number();
      boolean hasNumber = number != null && declared.find(number) != null;
      if (!hasNumber && declared.find(name.name()) == null) {
        names.add(name);
      }
    }
    Limits.Builder candidate = Limits.builder(Catalogue.of(names.toArray(LimitName[]::new)));
    List<LimitOverride> overrides = new ArrayList<>();
    for (LimitName name : names) {
      Limits source = own.hasDefault(name) ? own : inForce;
      if (!source.defaultsFor(name).isEmpty()) {
        candidate.limit(name.name(), source.defaultsFor(name));
      } else if (source.hasDefault(name)) {
        candidate.unlimited(name.name());
      }
      inForce.overridesOf(name).stream()
          .filter(one -> isOverrideId(one.id(), name))
          .forEach(overrides::add);
      overrides.addAll(own.overridesOf(name)); // replaces the override in force of the same id
    }
    return candidate.build().withOverrides(overrides).with(RuleBook.class, RuleBook.of(own));
  }

  /** Returns whether a name, whose id format a candidate can change, accepts an override's id. */
  private static boolean isOverrideId(String id, LimitName name) {
    try {
      var unused = name.overrideIdOf(name.bucketKey(id));
      return true;
    } catch (InvalidIdException e) {
      return false;
    }
  }

  private List<FailIf> conditions(boolean hasCandidate) {
    List<FailIf> conditions = new ArrayList<>();
    for (String text : failIf) {
      FailIf condition;
      try {
        condition = FailIf.parse(text);
      } catch (IllegalArgumentException e) {
        throw new InputException("--fail-if: " + e.getMessage());
      }
      if (condition.needsCandidate() && !hasCandidate) {
        throw new InputException("--fail-if: " + condition.metric() + " requires --against FILE");
      }
      conditions.add(condition);
    }
    return conditions;
  }

  private ClientNames names() {
    return ids == null ? ClientNames.SHOW : Quantities.word("--ids", ids, ClientNames.class);
  }

  /**
   * The part of {@code sluice replay} that compares, for limits in shadow, the decisions of the
   * replay with the counts of a running server.
   */
  private static final class ShadowComparison {

    private static final Pattern SERIES =
        Pattern.compile("(?m)^ratelimits_decisions_total\\{([^}]*)\\} ([0-9.eE+]+)$");
    private static final Pattern LIMIT = Pattern.compile("(?:^|,)limit=\"([^\"]*)\"");
    private static final Pattern DECISION = Pattern.compile("(?:^|,)decision=\"(shadow_[a-z]+)\"");
    private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);

    @Option(
        names = "--compare",
        paramLabel = "URL",
        description =
            "A running server whose counts for limits in shadow are compared with those of the"
                + " replay. Exits with 1 if the difference is above --tolerance. The log must contain"
                + " all requests since the server started.")
    private @Nullable String url;

    @Option(
        names = "--tolerance",
        paramLabel = "PERCENT",
        description = "The allowed difference between the counts of log and server (0%%).")
    private @Nullable String tolerance;

    @Mixin private ServerClientOptions server = new ServerClientOptions();

    boolean isAskedFor() {
      return url != null || tolerance != null || server.given() != null;
    }

    /** The number of requests of a limit, and the number that the limit would deny. */
    record Counts(long requests, long denied) {

      private static final Counts NONE = new Counts(0, 0);

      Counts plus(Counts more) {
        return new Counts(requests + more.requests, denied + more.denied);
      }
    }

    /** Returns the server's counts by limit; null without {@code --compare}. */
    @Nullable Map<String, Counts> ask(Console console) {
      if (url == null) {
        if (isAskedFor()) {
          throw new InputException(
              "found --tolerance or an option for connecting to a server, which require --compare URL");
        }
        return null;
      }
      BigDecimal unused = allowed(); // a mistake ends the command before the log is read
      Map<String, Counts> counts = new TreeMap<>();
      Matcher series = SERIES.matcher(server.client(url, console).metrics());
      while (series.find()) {
        Matcher limit = LIMIT.matcher(series.group(1));
        Matcher decision = DECISION.matcher(series.group(1));
        if (limit.find() && decision.find()) {
          long count = new BigDecimal(series.group(2)).longValue();
          boolean isDenied = decision.group(1).equals("shadow_denied");
          counts.merge(limit.group(1), new Counts(count, isDenied ? count : 0), Counts::plus);
        }
      }
      return counts;
    }

    private BigDecimal allowed() {
      return Quantities.percent(
          "--tolerance", tolerance == null ? "0%" : tolerance, "a percentage such as 1%");
    }

    /**
     * Adds a line for each limit with the counts of the replay and of the server; returns false if
     * a difference is above the tolerance.
     */
    boolean compare(ReplayResult result, Map<String, Counts> atServer, List<String> lines) {
      Map<String, Counts> inLog = new TreeMap<>();
      for (Row row : result.rows()) {
        if (row.shadow()) {
          inLog.merge(row.limit(), new Counts(row.requests(), row.denied()), Counts::plus);
        }
      }
      List<String> limits = new ArrayList<>(inLog.keySet());
      atServer.keySet().stream().filter(limit -> !inLog.containsKey(limit)).forEach(limits::add);
      if (limits.isEmpty()) {
        throw new InputException(
            "--compare: neither the log nor the server has a request for a limit in shadow");
      }
      boolean isWithin = true;
      for (String limit : limits) {
        Counts log = inLog.getOrDefault(limit, Counts.NONE);
        Counts server = atServer.getOrDefault(limit, Counts.NONE);
        boolean isClose =
            isClose(log.requests(), server.requests()) && isClose(log.denied(), server.denied());
        isWithin &= isClose;
        lines.add(
            String.format(
                Locale.ROOT,
                "%s in shadow: the replay denies %,d of %,d requests, the server %,d of %,d: %s.",
                limit,
                log.denied(),
                log.requests(),
                server.denied(),
                server.requests(),
                log.equals(server)
                    ? "the same"
                    : isClose ? "within the tolerance" : "more than the tolerance"));
      }
      return isWithin;
    }

    private boolean isClose(long one, long two) {
      BigDecimal difference = BigDecimal.valueOf(Math.abs(one - two)).multiply(HUNDRED);
      return difference.compareTo(allowed().multiply(BigDecimal.valueOf(Math.max(one, two)))) <= 0;
    }
  }
}
