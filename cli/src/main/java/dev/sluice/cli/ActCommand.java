// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Console.JsonOption;
import dev.sluice.cli.StorageOptions.StorePasswordOptions;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.server.service.StoreAccess.Stores;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code sluice check}, {@code spend}, {@code refund} and {@code reset}: one operation on one
 * bucket, on a running server or directly in a store.
 */
@Command
final class ActCommand extends ConsoleCommand {

  private final Act act;

  @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
  private String limit = "";

  @Parameters(
      index = "1",
      paramLabel = "ID",
      description = "The bucket's id, such as an IP address. Write -- before an id like -5.")
  private String id = "";

  @Option(
      names = "--cost",
      paramLabel = "N",
      description = "The number of tokens, from 0 to the burst; 1 if not given.")
  private @Nullable Long cost;

  @Option(names = "--up-to", description = "Spends all tokens of the bucket, but at most --cost.")
  private boolean upTo;

  @Option(
      names = "--server",
      paramLabel = "URL",
      description = "The URL of a running server, such as http://127.0.0.1:8080.")
  private @Nullable String server;

  @Mixin private ServerClientOptions client = new ServerClientOptions();

  @Option(
      names = "--store",
      paramLabel = "STORE",
      description =
          "The store of the buckets if no server is given: redis://host:port/db, postgresql://host/db or mariadb://host/db.")
  private @Nullable String store;

  @Mixin private StorePasswordOptions passwords = new StorePasswordOptions();

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Mixin private JsonOption json = new JsonOption();

  private ActCommand(Act act) {
    this.act = act;
  }

  static CommandLine commandLine(Act act, Console console) {
    CommandLine command = console.lineOf(new ActCommand(act));
    String name = act.name().toLowerCase(Locale.ROOT);
    String denied =
        act == Act.REFUND
            ? "The exit code is 1 if no tokens were given back."
            : act == Act.RESET ? "" : "The exit code is 1 for a denial.";
    CommandSpec spec = command.getCommandSpec();
    spec.usageMessage()
        .description(does(act), "", ("Works on a running server or a store. " + denied).strip())
        .footerHeading("%nExamples:%n")
        .footer(
            "  sluice %s LoginsPerIPAddress 192.0.2.7 --server http://127.0.0.1:8080"
                .formatted(name),
            "  sluice %s NewOrdersPerAccount 17 --limits limits.yml \\".formatted(name),
            "       --store redis://localhost:6379/0");
    if (act != Act.SPEND) {
      hide("--up-to", spec);
    }
    if (act == Act.RESET) {
      hide("--cost", spec);
    }
    return command;
  }

  private static void hide(String option, CommandSpec spec) {
    OptionSpec shown = spec.findOption(option);
    spec.remove(shown);
    spec.addOption(OptionSpec.builder(shown).hidden(true).build());
  }

  private static String does(Act act) {
    return switch (act) {
      case CHECK -> "Prints whether a request would be allowed, and spends no tokens.";
      case SPEND -> "Spends the tokens of a request, and prints whether it is allowed.";
      case REFUND -> "Gives tokens back to a bucket, at most until it is full.";
      case RESET -> "Deletes the state of a bucket, so that the bucket is full.";
    };
  }

  @Override
  public Integer call() {
    if (act == Act.RESET && cost != null) {
      throw new InputException("reset takes no --cost: it always fills the bucket");
    }
    if (upTo && (act != Act.SPEND || cost == null)) {
      throw new InputException(
          act == Act.SPEND
              ? "--up-to requires --cost, the most tokens to spend"
              : "--up-to is for sluice spend");
    }
    ActAnswer answer = server == null ? onStore() : onServer(server);
    // Standard output must come before the message on standard error.
    console.print(() -> console.line(json.isForPeople(console) ? answer.text(act) : answer.json()));
    if (!answer.message().isEmpty()) {
      console.err().println("sluice: " + answer.message());
    }
    return answer.allowed() ? Exit.DONE : Exit.NO;
  }

  private ActAnswer onServer(String url) {
    if (store != null || !files.none()) {
      throw new InputException(
          "%s and --server contradict each other: a server has its own limits and store; remove one option"
              .formatted(store == null ? "limit files" : "--store"));
    }
    if (!passwords.none()) {
      throw new InputException("a store password and --server contradict each other: remove one");
    }
    return client.client(url, console).ask(act, limit, id, cost, upTo);
  }

  private ActAnswer onStore() {
    if (store == null) {
      throw new InputException(
          "expected --server URL, such as --server http://127.0.0.1:8080, or --store STORE with"
              + " --limits FILE");
    }
    if (client.given() != null) {
      throw new InputException(
          "%s and --store contradict each other: only --server uses %1$s; remove one"
              .formatted(client.given()));
    }
    StoreAccess access = passwords.access(store);
    if (access.isMemory()) {
      throw new InputException(
          "--store memory: the buckets would be lost when this command ends; use --server URL for"
              + " the buckets of a running server");
    }
    if (files.limits() == null && files.overrides() == null) {
      throw new InputException("the option --limits FILE is missing: a store has no limits");
    }
    Limits limits = files.files(Strictness.LENIENT).load();
    var unused = limits.configured(limit); // an unknown limit fails before the store is opened
    try (BucketStore buckets = open(access)) {
      return decide(Limiter.of(limits, buckets));
    }
  }

  private static BucketStore open(StoreAccess access) {
    try {
      return new UnforgivingStore(Stores.openForOneAct(access));
    } catch (IllegalArgumentException e) {
      throw new InputException("--store: " + e.getMessage());
    }
  }

  private ActAnswer decide(Limiter limiter) {
    if (upTo && cost != null) {
      return ActAnswer.ofUpTo(limiter.spendUpTo(limit, id, cost));
    }
    Transaction transaction = limiter.transaction(limit, id).withCost(cost == null ? 1 : cost);
    List<Transaction> one = List.of(transaction);
    switch (act) {
      case CHECK -> {
        return ActAnswer.of(limiter.check(one));
      }
      case SPEND -> {
        return ActAnswer.of(limiter.spend(one));
      }
      case REFUND -> {
        return ActAnswer.of(limiter.refund(one));
      }
      case RESET -> limiter.reset(one);
    }
    return ActAnswer.ofReset();
  }

  /**
   * A view of a store that never forgives a debt. A server remembers when it last forgave each
   * bucket's debt, so that it forgives a debt at most once within the burst offset. A command
   * remembers nothing between two runs, so each run would forgive a bucket's debt again.
   * Thread-safe; blocks if the wrapped store blocks.
   */
  record UnforgivingStore(BucketStore store) implements BucketStore {

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return store.charge(charges);
    }

    @Override
    public BucketStore forOneCall() {
      return new UnforgivingStore(store.forOneCall());
    }

    /** Returns the largest clock skew, so that no TAT ever counts as a debt. */
    @Override
    public long clockSkewNanos() {
      return Long.MAX_VALUE;
    }

    @Override
    public void close() {
      store.close();
    }
  }
}
