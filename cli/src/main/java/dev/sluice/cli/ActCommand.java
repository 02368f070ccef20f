package dev.sluice.cli;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.limit.Strictness;
import dev.sluice.server.Stores;
import dev.sluice.store.BucketStore;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code sluice check}, {@code spend}, {@code refund} and {@code reset}: one act on a live store.
 */
@Command(
    description = {
      "One act on a bucket of a live store: check, spend, refund or reset.",
      "",
      "Prints the decision, as replay does. The exit code is 1 for a denial, and for a refund that"
          + " gave nothing back."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice check NewOrdersPerAccount 17 --limits limits.yml --store redis://localhost:6379/0",
      "  sluice reset NewOrdersPerAccount 17 --limits limits.yml --store redis://localhost:6379/0"
    })
final class ActCommand implements Callable<Integer> {

  private final Act act;
  private final Console console;

  @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
  private String limit = "";

  @Parameters(index = "1", paramLabel = "ID", description = "What is limited.")
  private String id = "";

  @Option(
      names = "--cost",
      paramLabel = "N",
      description = "How many tokens, 0 up to the burst; 1 if it is not said. Not for a reset.")
  private @Nullable Long cost;

  @Option(
      names = "--store",
      paramLabel = "STORE",
      required = true,
      description = "Where the buckets are kept: redis://host:port/db.")
  private String store = "";

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  ActCommand(Act act, Console console) {
    this.act = act;
    this.console = console;
  }

  @Override
  public Integer call() {
    if (files.limits() == null && files.overrides() == null) {
      throw new InputException("found no --limits FILE, expected the limits to decide by");
    }
    if (act == Act.RESET && cost != null) {
      throw new InputException("found --cost, expected none: a reset forgets the whole bucket");
    }
    var limits = files.files(Strictness.LENIENT).load();
    try (BucketStore buckets = open()) {
      return decide(Limiter.of(limits, buckets));
    }
  }

  private BucketStore open() {
    try {
      return Stores.openForOneAct(store);
    } catch (IllegalArgumentException e) {
      throw new InputException("--store: " + e.getMessage());
    }
  }

  private int decide(Limiter limiter) {
    Transaction transaction = limiter.transaction(limit, id).withCost(cost == null ? 1 : cost);
    List<Transaction> one = List.of(transaction);
    switch (act) {
      case CHECK -> {
        return print(limiter.check(one));
      }
      case SPEND -> {
        return print(limiter.spend(one));
      }
      case REFUND -> {
        return print(limiter.refund(one));
      }
      case RESET -> {
        limiter.reset(one);
        console.line(TraceReplay.RESET);
      }
    }
    return Exit.DONE;
  }

  private int print(Decision decision) {
    console.line(TraceReplay.line(decision));
    if (!decision.message().isEmpty()) {
      console.err().println("sluice: " + decision.message());
    }
    return decision.allowed() ? Exit.DONE : Exit.NO;
  }
}
