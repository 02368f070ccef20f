// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.store.BucketStore;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice replay}: the decisions on recorded traffic, on the recording's own clock. */
@Command(
    name = "replay",
    description = {
      "Prints the decisions on recorded traffic, one per line, on the recording's own clock.",
      "",
      "A trace is JSON lines, one act each on a line of its own. \"at\" is in nanoseconds since the"
          + " epoch; the op is check, spend, refund, reset or batchSpend:",
      "  {\"at\":1700000000000000000,\"op\":\"spend\",",
      "   \"limit\":\"NewOrdersPerAccount\",\"id\":\"17\",\"cost\":3}",
      "A broken line ends the replay. Its number is reported, and all decisions before it are"
          + " printed."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice replay --limits limits.yml trace.jsonl",
      "  zcat trace.jsonl.gz | sluice replay --limits limits.yml -"
    })
final class ReplayCommand implements Callable<Integer> {

  private static final String STANDARD_INPUT = "-";

  private final Console console;

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Option(
      names = "--store",
      paramLabel = "STORE",
      defaultValue = Stores.MEMORY,
      description = "Where the buckets are kept: memory, or redis://host:port/db.")
  private String store = Stores.MEMORY;

  @Mixin private StorePasswordOptions passwords = new StorePasswordOptions();

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      defaultValue = "trace",
      description = "How the traffic was recorded: ${COMPLETION-CANDIDATES}.")
  private Format format = Format.trace;

  @Parameters(paramLabel = "FILE|-", description = "The recording; - is standard input.")
  private String file = STANDARD_INPUT;

  ReplayCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (files.limits() == null && files.overrides() == null) {
      throw new InputException("the option --limits FILE is missing: the limits to decide by");
    }
    var limits = files.files(Strictness.LENIENT).load();
    ReplayTime time = new ReplayTime();
    boolean standardInput = file.equals(STANDARD_INPUT);
    try (BucketStore buckets = open(time);
        InputStream in = standardInput ? console.in() : InputFiles.open(Path.of(file))) {
      Limiter limiter = Limiter.builder(new CurrentLimits(limits), buckets).time(time).build();
      String source = standardInput ? "standard input" : file;
      switch (format) {
        case trace -> new TraceReplay(limiter, time, limits).run(new Lines(in), source, console);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Exit.DONE;
  }

  private BucketStore open(ReplayTime time) {
    try {
      return Stores.open(passwords.access(store), time);
    } catch (IllegalArgumentException e) {
      throw new InputException("--store: " + e.getMessage());
    }
  }

  /** As people type them. */
  private enum Format {
    trace
  }
}
