// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.replay.ClientNames;
import dev.sluice.replay.DenialsCsv;
import dev.sluice.replay.FailIf;
import dev.sluice.replay.Replay;
import dev.sluice.replay.ReplayJson;
import dev.sluice.replay.ReplayPage;
import dev.sluice.replay.ReplayResult;
import dev.sluice.replay.ReplayText;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.service.ServerConfig.BundledNames;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The part of {@code sluice replay} that reads access logs: its options, and the run. */
final class LogReplay {

  @Mixin private LogOptions log = new LogOptions();

  @Option(
      names = "--against",
      paramLabel = "FILE",
      description =
          "A candidate: other limits, and perhaps other rules, that decide the same requests.")
  private @Nullable Path against;

  @Option(
      names = "--fail-if",
      paramLabel = "CONDITION",
      description =
          "Ends with 1 if it is met: METRIC > NUMBER[%%], or >=. The metrics are"
              + " newly-denied-clients, newly-denied-requests, denied-clients and denied-requests;"
              + " the latter two are those of the candidate, if there is one. Repeatable.")
  private List<String> failIf = new ArrayList<>();

  @Option(
      names = "--ids",
      paramLabel = "HOW",
      description =
          "How clients are named in the result: show (the default), hash or mask. A hash is the"
              + " same within one run only.")
  private @Nullable String ids;

  @Option(names = "--json", description = "Prints the result as one JSON object.")
  private boolean json;

  @Option(names = "--csv", paramLabel = "FILE", description = "Writes each denial as CSV.")
  private @Nullable Path csv;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "Writes a page with charts that needs no network and no script.")
  private @Nullable Path report;

  /** Whether an option was given that only access logs use. */
  boolean isAskedFor() {
    return log.isAskedFor()
        || against != null
        || !failIf.isEmpty()
        || ids != null
        || json
        || csv != null
        || report != null;
  }

  /** Runs the replay; returns the exit code. */
  int run(
      LimitFileOptions files,
      @Nullable String format,
      List<LogOptions.Source> sources,
      Console console) {
    List<FailIf> conditions = conditions();
    ClientNames names = names();
    if (report != null) {
      SimulateCommand.requireWritable(report);
    }
    Limits limits = log.limits(files);
    Replay.Builder replay =
        Replay.of(limits, sources).against(against == null ? null : candidate(against, files));
    if (csv == null) {
      return print(log.run(replay, format, sources, console), conditions, names, console);
    }
    try (Writer table = Files.newBufferedWriter(csv)) {
      replay.denials(new DenialsCsv(table, names));
      return print(log.run(replay, format, sources, console), conditions, names, console);
    } catch (IOException | UncheckedIOException e) {
      throw new InputException("--csv: %s: can't be written: %s".formatted(csv, e.getMessage()));
    }
  }

  private int print(
      ReplayResult result, List<FailIf> conditions, ClientNames names, Console console) {
    String candidate = against == null ? "" : String.valueOf(against.getFileName());
    if (report != null) {
      write(report, ReplayPage.html(result, candidate, names));
      console.err().println("report: " + report);
    }
    if (json) {
      console.line(ReplayJson.of(result, names));
    } else {
      ReplayText.lines(result, candidate, names).forEach(console::line);
    }
    int code = Exit.DONE;
    for (FailIf condition : conditions) {
      if (condition.isMet(result)) {
        console.flush();
        console.err().println("--fail-if: " + condition.found(result));
        code = Exit.NO;
      }
    }
    return code;
  }

  private static void write(Path file, String page) {
    try {
      Files.writeString(file, page);
    } catch (IOException e) {
      throw new InputException(
          "--report: %s: can't be written: %s".formatted(file, e.getMessage()));
    }
  }

  /** Loads the candidate. Its limits may have names that only the other limit files declare. */
  private static Limits candidate(Path file, LimitFileOptions files) {
    InputFiles.require("--against", file);
    var candidate = BundledNames.files().strictness(Strictness.LENIENT).defaults(file);
    Path overrides = files.overrides();
    if (overrides != null) {
      candidate.overrides(overrides);
    }
    Path names = files.names();
    if (names != null) {
      candidate.names(names);
    }
    return candidate.companion(RuleBook.reader()).build().load();
  }

  private List<FailIf> conditions() {
    List<FailIf> conditions = new ArrayList<>();
    for (String text : failIf) {
      FailIf condition;
      try {
        condition = FailIf.parse(text);
      } catch (IllegalArgumentException e) {
        throw new InputException("--fail-if: " + e.getMessage());
      }
      if (condition.needsCandidate() && against == null) {
        throw new InputException("--fail-if: " + condition.metric() + " requires --against FILE");
      }
      conditions.add(condition);
    }
    return conditions;
  }

  private ClientNames names() {
    try {
      return ids == null ? ClientNames.SHOW : ClientNames.valueOf(ids.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "--ids: found %s, expected show, hash or mask".formatted(SafeText.quote(ids)));
    }
  }
}
