// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.LimitFileOptions.RulesOption;
import dev.sluice.cli.SimulateCommand.ProgressLine;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.replay.ClientNames;
import dev.sluice.replay.DenialsCsv;
import dev.sluice.replay.FailIf;
import dev.sluice.replay.LogException;
import dev.sluice.replay.LogSource;
import dev.sluice.replay.Replay;
import dev.sluice.replay.ReplayJson;
import dev.sluice.replay.ReplayResult;
import dev.sluice.replay.ReplayText;
import dev.sluice.rules.RuleBook;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.text.SafeText;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The part of {@code sluice replay} that reads access logs: its options, and the run. */
final class LogReplay {

  private static final String STANDARD_INPUT = "-";

  @Mixin private RulesOption rules = new RulesOption();

  @Option(
      names = "--count",
      paramLabel = "LIMIT=ID",
      description =
          "Charges every request to a limit, without rules: CallsPerClient={ip}. The placeholders"
              + " are those of rules, and {field:NAME} for a column of the log. Repeatable.")
  private List<String> counts = new ArrayList<>();

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
      names = "--strict",
      description = "Refuses a log with a line that is not understood, instead of counting it.")
  private boolean strict;

  @Option(
      names = "--zone",
      paramLabel = "ZONE",
      description = "The zone of times that name none, such as Europe/Berlin. UTC if not given.")
  private @Nullable String zone;

  @Option(
      names = "--window",
      paramLabel = "TIME",
      description = "How far lines may be out of order; 5s if not given.")
  private @Nullable String window;

  @Option(
      names = "--skip-status",
      paramLabel = "STATUS",
      split = ",",
      description = "Leaves out requests that were answered so, such as 429. Repeatable.")
  private List<Integer> skipped = new ArrayList<>();

  @Option(
      names = "--cost-field",
      paramLabel = "NAME",
      description =
          "The log's column with the cost of a request, where a rule does not set the cost.")
  private @Nullable String costField;

  @Option(
      names = "--trusted-proxies",
      paramLabel = "RANGE",
      split = ",",
      description =
          "Addresses of proxies that are believed when they name the client, as for sluice serve.")
  private List<String> trustedProxies = new ArrayList<>();

  @Option(
      names = "--proxy-header",
      paramLabel = "HEADER",
      description = "The header in which they name it: x-forwarded-for (the default) or forwarded.")
  private @Nullable String proxyHeader;

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

  /** Whether an option was given that only logs have. */
  boolean isAskedFor() {
    return rules.file() != null
        || !counts.isEmpty()
        || against != null
        || !failIf.isEmpty()
        || strict
        || zone != null
        || window != null
        || !skipped.isEmpty()
        || costField != null
        || !trustedProxies.isEmpty()
        || proxyHeader != null
        || ids != null
        || json
        || csv != null;
  }

  /** Runs the replay; returns the exit code. */
  int run(LimitFileOptions files, @Nullable String format, List<Source> sources, Console console) {
    List<FailIf> conditions = conditions();
    ClientNames names = names();
    if (rules.file() != null && !counts.isEmpty()) {
      throw new InputException("found --rules and --count, expected one of them");
    }
    Limits limits = load(files);
    if (counts.isEmpty() && !RuleBook.of(limits).hasRequestRules()) {
      throw new InputException(
          "nothing says what a request is charged; name a rule book with --rules FILE, or count"
              + " every request with --count LIMIT={ip}");
    }
    ProgressLine progress = new ProgressLine(console.err());
    long startNanos = System.nanoTime();
    try (Writer table = csv == null ? Writer.nullWriter() : Files.newBufferedWriter(csv)) {
      Replay.Builder replay =
          Replay.of(limits, sources)
              .against(against == null ? null : candidate(against, files))
              .format(format)
              .zone(zone())
              .window(window == null ? Duration.ofSeconds(5) : window())
              .strict(strict)
              .counts(counts)
              .client(client(), trustedProxies.isEmpty() ? null : firstProxy())
              .skipStatus(Set.copyOf(new HashSet<>(skipped)))
              .costField(costField)
              .progress(lines -> progress.at(said(lines, sources, startNanos), share(sources)));
      if (csv != null) {
        replay.denials(new DenialsCsv(table, names));
      }
      ReplayResult result = replay.run();
      progress.clear();
      return print(result, conditions, names, console);
    } catch (LogException | IllegalArgumentException e) {
      progress.clear();
      throw new InputException(String.valueOf(e.getMessage()));
    } catch (IOException | UncheckedIOException e) {
      progress.clear();
      throw new InputException("can't read or write: " + e.getMessage());
    }
  }

  private int print(
      ReplayResult result, List<FailIf> conditions, ClientNames names, Console console) {
    if (json) {
      console.line(ReplayJson.of(result, names));
    } else {
      String candidate = against == null ? "" : String.valueOf(against.getFileName());
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

  private Limits load(LimitFileOptions files) {
    return files.files(Strictness.LENIENT, List.of(), rules).load();
  }

  /** The candidate, whose names may be declared by the files of the limits in force. */
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

  private ZoneId zone() {
    try {
      return zone == null ? ZoneOffset.UTC : ZoneId.of(zone);
    } catch (DateTimeException e) {
      throw new InputException(
          "--zone: found %s, expected a zone such as Europe/Berlin or +01:00"
              .formatted(SafeText.quote(zone)));
    }
  }

  private Duration window() {
    return Quantities.positive("--window", String.valueOf(window));
  }

  private String firstProxy() {
    return trustedProxies.get(0).split("/", 2)[0];
  }

  private ClientAddress client() {
    if (trustedProxies.isEmpty()) {
      if (proxyHeader != null) {
        throw new InputException("--proxy-header requires --trusted-proxies RANGE");
      }
      return ClientAddress.direct();
    }
    String name = proxyHeader == null ? "x-forwarded-for" : proxyHeader.toLowerCase(Locale.ROOT);
    ProxyHeader header =
        switch (name) {
          case "x-forwarded-for" -> ProxyHeader.X_FORWARDED_FOR;
          case "forwarded" -> ProxyHeader.FORWARDED;
          default ->
              throw new InputException(
                  "--proxy-header: found %s, expected x-forwarded-for or forwarded"
                      .formatted(SafeText.quote(name)));
        };
    return ClientAddress.behind(header, trustedProxies.toArray(String[]::new));
  }

  private static double share(List<Source> sources) {
    long all = sources.stream().mapToLong(Source::size).sum();
    long read = sources.stream().mapToLong(Source::read).sum();
    return all == 0 ? 0 : Math.min(1, (double) read / all);
  }

  private static String said(long lines, List<Source> sources, long startNanos) {
    double seconds = (System.nanoTime() - startNanos) / (double) TimeUnit.SECONDS.toNanos(1);
    double share = share(sources);
    String left =
        share == 0 ? "" : String.format(Locale.ROOT, ", %.0f s left", seconds / share - seconds);
    return String.format(Locale.ROOT, "%,.0f lines/s", lines / seconds) + left;
  }

  /** A file or standard input, which counts what is read of it. */
  static final class Source implements LogSource {

    private final String name;
    private final InputStream in;
    private long read;

    Source(String name, InputStream in) {
      this.name = name;
      this.in = in;
    }

    @Override
    public String name() {
      return name.equals(STANDARD_INPUT) ? "standard input" : name;
    }

    @Override
    public InputStream open() {
      return new FilterInputStream(in) {
        @Override
        public int read(byte[] target, int from, int length) throws IOException {
          int count = super.read(target, from, length);
          read += Math.max(0, count);
          return count;
        }
      };
    }

    /** How many bytes were read so far. */
    long read() {
      return read;
    }

    /** The size in bytes; 0 where it is not known. */
    long size() {
      Path file = Path.of(name);
      try {
        boolean isFile = !name.equals(STANDARD_INPUT) && Files.isRegularFile(file);
        return isFile ? Files.size(file) : 0;
      } catch (IOException e) {
        return 0;
      }
    }
  }
}
