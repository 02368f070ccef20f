// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.LimitFileOptions.RulesOption;
import dev.sluice.cli.SimulateCommand.ProgressLine;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.replay.LogException;
import dev.sluice.replay.LogSource;
import dev.sluice.replay.Replay;
import dev.sluice.replay.ReplayResult;
import dev.sluice.rules.RuleBook;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of commands that read access logs. This class also opens and reads the logs. */
final class LogOptions {

  private static final String STANDARD_INPUT = "-";

  @Mixin private RulesOption rules = new RulesOption();

  @Option(
      names = "--count",
      paramLabel = "LIMIT=ID",
      description =
          "Charges every request to a limit, without rules: CallsPerClient={ip}. The placeholders"
              + " are the same as in rules; {field:NAME} is a column of the log. Repeatable.")
  private List<String> counts = new ArrayList<>();

  @Option(
      names = "--strict",
      description = "Stops at a line that cannot be parsed, instead of only counting such lines.")
  private boolean strict;

  @Option(
      names = "--zone",
      paramLabel = "ZONE",
      description = "The time zone of log times that name no zone, such as Europe/Berlin (UTC).")
  private @Nullable String zone;

  @Option(
      names = "--window",
      paramLabel = "TIME",
      description = "The longest time by which log lines can be out of order (5s).")
  private @Nullable String window;

  @Option(
      names = "--skip-status",
      paramLabel = "STATUS",
      split = ",",
      description = "Leaves out requests with this response status, such as 429. Repeatable.")
  private List<Integer> skipped = new ArrayList<>();

  @Option(
      names = "--cost-field",
      paramLabel = "NAME",
      description =
          "The log's column with the cost of a request, used if the rule sets no cost. A request"
              + " without a whole number in the column costs 1, and the result counts such"
              + " requests.")
  private @Nullable String costField;

  @Option(
      names = "--trusted-proxies",
      paramLabel = "RANGE",
      split = ",",
      description = "Proxies whose header with the client's address is used, as for sluice serve.")
  private List<String> trustedProxies = new ArrayList<>();

  @Option(
      names = "--proxy-header",
      paramLabel = "HEADER",
      description = "The header with the client's address: x-forwarded-for (default) or forwarded.")
  private @Nullable String proxyHeader;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "The format of the logs: combined, common, nginx-json, caddy, envoy, envoy-json, haproxy,"
              + " alb, cloudfront, waf, json:FIELD=NAME,..., csv:FIELD=COLUMN,... or regex:PATTERN"
              + " with named groups; for sluice replay also trace. The fields are time, client,"
              + " method, target, request, host, user, status and header:NAME. If not given, the"
              + " format is detected.")
  private @Nullable String format;

  /** Returns the value of {@code --format}, which {@link #isAskedFor} ignores. */
  @Nullable String format() {
    return format;
  }

  boolean isAskedFor() {
    return rules.file() != null
        || !counts.isEmpty()
        || strict
        || zone != null
        || window != null
        || !skipped.isEmpty()
        || costField != null
        || !trustedProxies.isEmpty()
        || proxyHeader != null;
  }

  /** Returns whether requests are charged to limits without rules. */
  boolean isCounting() {
    return !counts.isEmpty();
  }

  /** Checks the value of {@code --format}. */
  void requireFormat() {
    try {
      if (format != null) {
        Replay.requireFormat(format);
      }
    } catch (IllegalArgumentException e) {
      throw new InputException("--format: " + e.getMessage());
    }
  }

  Limits limits(LimitFileOptions files, Console console) {
    requireFormat();
    if (rules.file() != null && !counts.isEmpty()) {
      throw new InputException("found both --rules and --count, expected one or the other");
    }
    Limits limits = loaded(files.files(Strictness.LENIENT, List.of(), rules), console);
    if (counts.isEmpty() && !RuleBook.of(limits).hasRequestRules()) {
      throw new InputException(
          "no option sets what a request is charged to; give a rule book with --rules FILE, or"
              + " charge every request to a limit with --count LIMIT={ip}");
    }
    return limits;
  }

  /** Loads limits for a replay, and warns if overrides that have ended are left out. */
  static Limits loaded(LimitFiles files, Console console) {
    Limits limits = files.load();
    List<Problem> ended =
        files.lint().stream()
            .filter(one -> one.message().startsWith("the override has ended"))
            .toList();
    if (!ended.isEmpty()) {
      Problem first = ended.get(0);
      console
          .err()
          .printf(
              "warning: overrides that have ended are left out, even for requests before their end:"
                  + " %s, the first at %s:%s%n",
              ended.size(), first.file(), first.line());
    }
    return limits;
  }

  ReplayResult run(Replay replay, List<Source> sources, Console console) {
    ProgressLine progress = new ProgressLine(console.err());
    long startNanos = System.nanoTime();
    try {
      return replay
          .format(format)
          .zone(zone())
          .window(window == null ? Duration.ofSeconds(5) : window())
          .strict(strict)
          .counts(counts)
          .client(
              DoorOptions.clientAddress(proxyHeader, trustedProxies),
              trustedProxies.isEmpty() ? null : firstProxy())
          .skipStatus(Set.copyOf(new HashSet<>(skipped)))
          .costField(costField)
          .progress(lines -> progress.at(said(lines, sources, startNanos), share(sources)))
          .run();
    } catch (LogException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      throw new InputException("can't read the log: " + e.getMessage());
    } finally {
      progress.clear();
    }
  }

  ZoneId zone() {
    try {
      return zone == null ? ZoneOffset.UTC : ZoneId.of(zone);
    } catch (DateTimeException e) {
      throw new InputException(
          "--zone: found %s, expected a zone such as Europe/Berlin or +01:00"
              .formatted(SafeText.quote(zone)));
    }
  }

  /**
   * Parses the time that an option contains; returns nanoseconds since the epoch. A time without a
   * zone is in the zone of {@code --zone}, and is refused without this option: the offset of the
   * log's times is not known yet.
   */
  long nanos(String option, String text) {
    try {
      boolean hasZone = text.matches(".*T.*(Z|[+-][0-9:]+)");
      Instant instant =
          hasZone
              ? OffsetDateTime.parse(text).toInstant()
              : LocalDateTime.parse(text).atZone(zone()).toInstant();
      if (!hasZone && zone == null) {
        throw new InputException(
            "%s: found %s, which has no zone; write %sZ, %s+01:00 or so, or give --zone"
                .formatted(option, SafeText.quote(text), text, text));
      }
      return Math.addExact(
          Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
    } catch (DateTimeException | ArithmeticException e) {
      throw new InputException(
          "%s: found %s, expected a time such as 2026-11-26T10:31:00Z"
              .formatted(option, SafeText.quote(text)));
    }
  }

  /** Throws if several files are standard input, which can be read only once. */
  static void requireOneStandardInput(List<String> names) {
    if (Collections.frequency(names, STANDARD_INPUT) > 1) {
      throw new InputException("standard input (-) is named several times, expected at most once");
    }
  }

  static List<Source> sources(List<String> names, Console console) {
    requireOneStandardInput(names);
    List<Source> sources = new ArrayList<>();
    for (String name : names) {
      InputStream in = name.equals(STANDARD_INPUT) ? console.in() : InputFiles.open(Path.of(name));
      sources.add(new Source(name, in));
    }
    return sources;
  }

  private Duration window() {
    return Quantities.positive("--window", String.valueOf(window));
  }

  private String firstProxy() {
    return trustedProxies.get(0).split("/", 2)[0];
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

  /** A log: a file or standard input. Counts the bytes read so far, for the progress line. */
  static final class Source implements LogSource {

    private final String name;
    private final InputStream in;
    private final AtomicLong read = new AtomicLong();

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
          read.addAndGet(Math.max(0, count));
          return count;
        }
      };
    }

    long read() {
      return read.get();
    }

    /** Returns the log's size in bytes; 0 if the size is not known. */
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
