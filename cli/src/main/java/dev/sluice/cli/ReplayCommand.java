// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.StorageOptions.StorePasswordOptions;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.replay.Replay;
import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.wire.Mistakes.Mistake;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireReader;
import dev.sluice.wire.WireRequest;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice replay}: decides recorded requests at their recorded times. */
@Command(
    name = "replay",
    description = {
      "Decides recorded requests at their recorded times, from access logs or a trace.",
      "",
      "For access logs, the command prints how many requests and clients (addresses) each limit"
          + " denies. The rules of the limits, or --count, determine what each request is charged"
          + " to.",
      "",
      "For a trace, the command prints one decision per line. Each line of a trace is a JSON object for one operation. \"at\" is in nanoseconds since the"
          + " epoch; \"op\" is check, spend, refund, reset or batchSpend:",
      "  {\"at\":1700000000000000000,\"op\":\"spend\",",
      "   \"limit\":\"NewOrdersPerAccount\",\"id\":\"17\",\"cost\":3}",
      "A broken line ends the replay. Its number is reported, and all decisions before it are"
          + " printed."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice replay --limits limits.yml --rules rules.yml access.log access.log.1.gz",
      "  sluice replay --limits limits.yml --count 'CallsPerClient={ip}' access.log",
      "  sluice replay --limits limits.yml --against candidate.yml \\",
      "       --fail-if 'newly-denied-clients > 0.1%%' access.log",
      "  sluice replay --limits limits.yml trace.jsonl",
      "  zcat trace.jsonl.gz | sluice replay --limits limits.yml -"
    })
final class ReplayCommand extends ConsoleCommand {

  private static final String STANDARD_INPUT = "-";
  private static final String TRACE = "trace";
  private static final int HEAD = 1 << 17; // enough bytes to recognize the format

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Option(
      names = "--store",
      paramLabel = "STORE",
      defaultValue = Stores.MEMORY,
      description =
          "Where the buckets of a trace are kept: memory, redis://host:port/db, postgresql://host/db or mariadb://host/db.")
  private String store = Stores.MEMORY;

  @Mixin private StorePasswordOptions passwords = new StorePasswordOptions();

  @Mixin private LogReplay log = new LogReplay();

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE|-",
      description =
          "A trace, or logs, which are merged by time and can be compressed with gzip or zstd; - is"
              + " standard input.")
  private List<String> recordings = new ArrayList<>();

  @Override
  public Integer call() {
    if (!TRACE.equals(log.format())) {
      log.requireFormat();
    }
    LogOptions.requireOneStandardInput(recordings);
    if (log.isMerge()) {
      return log.merge(files, recordings, console);
    }
    if (files.limits() == null && files.overrides() == null) {
      throw new InputException("the option --limits FILE is missing: it names the limits");
    }
    String first = recordings.get(0);
    try (InputStream in = new BufferedInputStream(opened(first), HEAD)) {
      if (isTrace(in)) {
        boolean isOne = recordings.size() == 1;
        if (log.format() != null && (!isOne || log.isAskedFor())) {
          throw new InputException(
              "--format trace: expected one trace, without options for access logs");
        }
        if (!isOne) {
          throw new InputException(
              "%s: the format is not recognised from the first line; for access logs, give it with --format; for a trace, give only one file"
                  .formatted(first));
        }
        replayTrace(in, first.equals(STANDARD_INPUT) ? "standard input" : first);
        return Exit.DONE;
      }
      requireMemory();
      List<LogOptions.Source> sources = new ArrayList<>();
      sources.add(new LogOptions.Source(first, in));
      sources.addAll(LogOptions.sources(recordings.subList(1, recordings.size()), console));
      return log.run(files, sources, console);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private InputStream opened(String name) {
    return name.equals(STANDARD_INPUT) ? console.in() : InputFiles.open(Path.of(name));
  }

  private boolean isTrace(InputStream in) throws IOException {
    if (log.format() != null || log.isAskedFor()) {
      return TRACE.equals(log.format());
    }
    in.mark(HEAD);
    boolean isLog = false;
    try {
      isLog = Replay.isLog(in);
    } catch (IOException e) {
      // The replay decides the lines before the broken line, and then reports the broken line.
    }
    in.reset();
    return !isLog;
  }

  private void requireMemory() {
    if (!store.equals(Stores.MEMORY) || !passwords.none()) {
      throw new InputException(
          "%s is only for a trace: the buckets of access logs are always kept in memory; remove %1$s"
              .formatted(passwords.none() ? "--store" : "the store's password"));
    }
  }

  private void replayTrace(InputStream in, String source) {
    Limits limits = LogOptions.loaded(files.files(Strictness.LENIENT), console);
    ReplayTime time = new ReplayTime();
    try (BucketStore buckets = open(time)) {
      Limiter limiter = Limiter.builder(new CurrentLimits(limits), buckets).time(time).build();
      String advice =
          log.format() == null ? "; if this is an access log, give its format with --format" : "";
      boolean isEmpty =
          !new TraceReplay(limiter, time, limits).run(new ByteLines(in), source, advice, console);
      if (isEmpty && log.format() == null) { // perhaps an access log that could not be downloaded
        throw new InputException(
            source + ": found no request; for a trace without operations, add --format trace");
      }
    }
  }

  private BucketStore open(ReplayTime time) {
    try {
      return Stores.open(passwords.access(store), time);
    } catch (IllegalArgumentException e) {
      throw new InputException("--store: " + e.getMessage());
    }
  }

  /**
   * Repeats the operations of a trace, and prints each decision. Keeps only the current line and
   * the buckets in memory. Not thread-safe; blocks if its streams block.
   */
  private static final class TraceReplay {

    static final String RESET = "{\"reset\":true}";

    private final WireReader reader = WireReader.ofTrace();
    private final Limiter limiter;
    private final ReplayTime time;
    private final Limits limits;
    // Disabled limits that were already reported.
    private final Set<String> disabled = new HashSet<>();
    private long latestNanos;

    TraceReplay(Limiter limiter, ReplayTime time, Limits limits) {
      this.limiter = limiter;
      this.time = time;
      this.limits = limits;
    }

    /**
     * Replays all lines, and returns whether there was an operation. At a broken line, prints the
     * decisions of earlier lines, then throws an exception.
     *
     * @param advice what the exception adds if the first line is broken
     */
    boolean run(ByteLines lines, String source, String advice, Console console) {
      boolean hasOperation = false;
      try {
        while (lines.next(console::flush)) {
          if (!lines.isBlank()) {
            hasOperation = true;
            console.line(replay(lines, console));
          }
        }
      } catch (WireException e) {
        console.flush();
        throw new InputException(
            e.mistakes().stream()
                .map(mistake -> said(mistake, source, lines.number()))
                .collect(Collectors.joining("\n", "", lines.number() == 1 ? advice : "")));
      } catch (InputException e) {
        console.flush();
        throw new InputException(source + ": " + e.getMessage());
      } catch (IOException e) {
        console.flush();
        throw new InputException("%s: can't be read: %s".formatted(source, e.getMessage()));
      }
      console.flush();
      return hasOperation;
    }

    private static String said(Mistake mistake, String source, long line) {
      return "%s:%s: %s".formatted(source, line, mistake);
    }

    private String replay(ByteLines lines, Console console) {
      WireRequest act = reader.read(lines.buffer(), lines.start(), lines.length());
      Act what = what(act);
      long at = at(act);
      List<Transaction> transactions =
          what == Act.RESET ? act.toResets(limits, limiter) : act.toTransactions(limits, limiter);
      time.set(at);
      warnOfDisabled(transactions, console);
      try {
        return switch (what) {
          case CHECK -> line(limiter.check(transactions));
          case SPEND -> line(limiter.spend(transactions));
          case REFUND -> line(limiter.refund(transactions));
          case RESET -> {
            limiter.reset(transactions);
            yield RESET;
          }
        };
      } catch (InvalidRequestException e) {
        throw WireException.of(e, "");
      }
    }

    /**
     * Warns once for each disabled limit, since the printed decisions do not show that a limit is
     * disabled.
     */
    private void warnOfDisabled(List<Transaction> transactions, Console console) {
      for (Transaction transaction : transactions) {
        LimitName name = transaction.name();
        boolean isDisabled = transaction.coverage() == Coverage.DISABLED && !name.overridesOnly();
        if (isDisabled && disabled.add(name.name())) {
          console
              .err()
              .println(
                  "warning: %s has no default, so it is disabled in this replay; write burst, count and period, or unlimited: true"
                      .formatted(name));
        }
      }
    }

    /**
     * Returns the time at which the operation was recorded, in nanoseconds since the epoch. Reports
     * a missing or negative time, and then returns 0. Reports a time that is too long before the
     * time of an earlier operation.
     */
    private long at(WireRequest act) {
      Long at = act.at();
      if (at == null || at < 0) {
        act.add(
            "at",
            "%s, expected nanoseconds since the epoch, not negative"
                .formatted(at == null ? "the time is missing" : "found " + at));
        return 0;
      }
      long stepNanos = latestNanos - at;
      if (stepNanos > Stores.REPLAY_STEPS_BACK.toNanos()) {
        act.add(
            "at",
            "found an operation %s before the latest one so far, expected at most %s, since older bucket states are not kept; sort the trace by \"at\""
                .formatted(Duration.ofNanos(stepNanos), Stores.REPLAY_STEPS_BACK));
      }
      latestNanos = Math.max(latestNanos, at);
      return at;
    }

    private static Act what(WireRequest act) {
      Act what = act.act();
      if (act.isBatch() && what.name().toLowerCase(Locale.ROOT).equals(act.op())) {
        act.add(
            "transactions",
            "found a batch with the op " + act.op() + ", expected the op batchSpend");
      }
      return what;
    }

    static String line(Decision decision) {
      return "{\"allowed\":"
          + decision.allowed()
          + ",\"remaining\":"
          + decision.remaining()
          + ",\"retryInNanos\":"
          + decision.retryInNanos()
          + ",\"resetInNanos\":"
          + decision.resetInNanos()
          + "}";
    }
  }

  /** The recording's clock, set to the time of the current operation. Not thread-safe. */
  private static final class ReplayTime implements TimeSource {

    private long nowNanos;

    void set(long newNowNanos) {
      this.nowNanos = newNowNanos;
    }

    @Override
    public long nanos() {
      return nowNanos;
    }
  }

  /**
   * Reads the lines of a stream, as bytes in a buffer that every line reuses. The longest allowed
   * line bounds the buffer's size. Not thread-safe; {@link #next} blocks if the stream blocks.
   */
  private static final class ByteLines {

    static final int LONGEST = 1 << 20;

    private static final int FIRST_BUFFER = 1 << 16;

    private final InputStream in;
    private byte[] buffer = new byte[FIRST_BUFFER];
    private int start;
    private int length;
    private int filled;
    private int next;
    private long number;

    ByteLines(InputStream in) {
      this.in = in;
    }

    /**
     * Moves to the next line; returns false at the end.
     *
     * @param beforeWaiting called before a read that can block
     * @throws InputException if the line is too long
     */
    boolean next(Runnable beforeWaiting) throws IOException {
      start = next;
      int scanned = start;
      while (true) {
        for (; scanned < filled; scanned++) {
          if (buffer[scanned] == '\n') {
            return line(scanned, scanned + 1);
          }
        }
        if (scanned - start > LONGEST) {
          throw new InputException(
              "line %s has more than %s bytes, the longest allowed length"
                  .formatted(number + 1, LONGEST));
        }
        scanned -= makeRoom();
        beforeWaiting.run();
        int read = in.read(buffer, filled, buffer.length - filled);
        if (read < 0) {
          return filled > start && line(filled, filled);
        }
        filled += read;
      }
    }

    private boolean line(int end, int newNext) {
      length = end - start;
      next = newNext;
      number++;
      return true;
    }

    /**
     * Moves the incomplete line to the start of the buffer, and returns the line's old position.
     */
    private int makeRoom() {
      int moved = start;
      if (moved > 0) {
        System.arraycopy(buffer, start, buffer, 0, filled - start);
        filled -= moved;
        start = 0;
        next = 0;
      }
      if (filled == buffer.length) {
        buffer = Arrays.copyOf(buffer, 2 * buffer.length);
      }
      return moved;
    }

    byte[] buffer() {
      return buffer;
    }

    int start() {
      return start;
    }

    int length() {
      return length;
    }

    /** Returns the number of the line, from 1. */
    long number() {
      return number;
    }

    boolean isBlank() {
      for (int i = start; i < start + length; i++) {
        if (buffer[i] != ' ' && buffer[i] != '\t' && buffer[i] != '\r') {
          return false;
        }
      }
      return true;
    }
  }
}
