// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.CommandGroup;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Console.OutputException;
import dev.sluice.cli.ServerSettings.ListCommand;
import dev.sluice.cli.ServerSettings.RemoveCommand;
import dev.sluice.cli.ServerSettings.SetCommand;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.EndTime;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.BadRow;
import dev.sluice.postgres.OverrideRow;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PutResult;
import dev.sluice.postgres.TableContent;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.internal.OverrideDoubts;
import dev.sluice.yaml.internal.OverridesCsv;
import dev.sluice.yaml.internal.OverridesCsv.Line;
import dev.sluice.yaml.internal.QuotaText;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code sluice overrides}: the group of commands for overrides. */
@Command(
    name = "overrides",
    description = {
      "Reads and writes overrides of a running server, in a file, or in a table of a PostgreSQL"
          + " database.",
      "",
      "A server started with --overrides-db reads the table periodically. The commands set, remove"
          + " and list send a request to a running server."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice overrides dump --overrides overrides.yml",
      "  sluice overrides migrate --db postgresql://sluice@db/limits",
      "  sluice help overrides add"
    },
    synopsisSubcommandLabel = "COMMAND")
final class OverridesCommand extends CommandGroup {

  private static final String PATH = "/v1/admin/overrides";
  private static final int MOST_TOLD = 10;

  /** Matches messages about a limit whose name or number is not known. */
  private static final Pattern UNKNOWN =
      Pattern.compile("found the name |no limit has the name |limit_number: ");

  private static final String UNDECLARED =
      "a limit is unknown; add --limits FILE or --names FILE, the file that declares it";

  /** Returns whether a message is about an unknown limit, and no file declares limits. */
  private static boolean isUndeclared(String message, LimitFileOptions files) {
    return files.limits() == null && files.names() == null && UNKNOWN.matcher(message).find();
  }

  private static Limits load(LimitFiles read, LimitFileOptions files) {
    try {
      return read.load();
    } catch (LimitFilesException e) {
      List<String> mistakes = e.problems().stream().map(Problem::toString).toList();
      if (mistakes.stream().noneMatch(one -> isUndeclared(one, files))) {
        throw e;
      }
      throw new InputException(mistakes, UNDECLARED);
    }
  }

  static CommandLine commandLine(Console console) {
    return new CommandLine(new OverridesCommand())
        .addSubcommand(console.given(new DumpOverrides()))
        .addSubcommand(console.given(new MigrateTable()))
        .addSubcommand(console.given(new ImportOverrides()))
        .addSubcommand(console.given(new AddOverride()))
        .addSubcommand(console.given(new SetOverride()))
        .addSubcommand(console.given(new RemoveOverride()))
        .addSubcommand(console.given(new ListOverrides()))
        .addSubcommand("enable", SwitchOverride.commandLine(console, true))
        .addSubcommand("disable", SwitchOverride.commandLine(console, false));
  }

  @Command(
      name = "dump",
      description = {
        "Prints overrides as CSV, sorted: name,id,count,burst,period,comment. With --all, also"
            + " author,until,enabled.",
        "",
        "Reads a file, or with --db the table. Invalid rows of the table are left out and reported"
            + " on standard error; the exit code is then 1."
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  sluice overrides dump --overrides overrides.yml",
        "  sluice overrides dump --overrides overrides.yml --names names.yml \\",
        "       > overrides.csv",
        "  sluice overrides dump --db postgresql://sluice@db.example.com/limits"
      })
  private static final class DumpOverrides extends ConsoleCommand {

    @Spec private CommandSpec spec = CommandSpec.create();
    @Mixin private LimitFileOptions files = new LimitFileOptions();
    @Mixin private DatabaseOptions database = new DatabaseOptions();

    @Option(
        names = "--all",
        description =
            "Also print the columns author, until and enabled, and the table's disabled rows.")
    private boolean all;

    @Override
    public Integer call() {
      boolean fromTable = spec.commandLine().getParseResult().hasMatchedOption("--db");
      if (files.overrides() != null && fromTable) {
        throw new InputException("found both --overrides and --db, expected one or the other");
      }
      if (files.overrides() != null || (files.limits() != null && database.none())) {
        print(load(files.files(Strictness.LENIENT), files));
        return Exit.DONE;
      }
      if (database.none()) {
        throw new InputException(
            "the option --overrides FILE or --db URL is missing: it names the overrides to print");
      }
      Catalogue catalogue = files.catalogue();
      TableContent content =
          all ? everyRow(catalogue) : database.onTable(catalogue, OverridesTable::load);
      if (!all) {
        print(Limits.builder(catalogue).build().withOverrides(content.living(Instant.now())));
      }
      content
          .bad()
          .forEach(
              row ->
                  console
                      .err()
                      .println(
                          "bad row " + SafeText.quote(row.bucketKey()) + ": " + row.message()));
      if (content.bad().stream().anyMatch(row -> isUndeclared(row.message(), files))) {
        console.err().println(UNDECLARED);
      }
      return content.bad().isEmpty() ? Exit.DONE : Exit.NO;
    }

    private TableContent everyRow(Catalogue catalogue) {
      List<Line> lines = new ArrayList<>();
      List<BadRow> bad = new ArrayList<>();
      for (OverrideRow row : database.onTable(catalogue, OverridesTable::rows)) {
        try {
          lines.add(new Line(row.check(catalogue), row.enabled()));
        } catch (IllegalArgumentException e) {
          bad.add(new BadRow(row.bucketKey(), String.valueOf(e.getMessage())));
        }
      }
      write(target -> OverridesCsv.writeAll(lines, target));
      return new TableContent(List.of(), bad);
    }

    private void print(Limits limits) {
      List<Line> lines = limits.overrides().stream().map(one -> new Line(one, true)).toList();
      write(
          target -> {
            if (all) {
              OverridesCsv.writeAll(lines, target);
            } else {
              OverridesCsv.write(limits, target);
            }
          });
      long ends = lines.stream().filter(line -> line.override().until() != null).count();
      if (ends > 0 && !all) {
        console.err().println("overrides whose end is not printed without --all: " + ends);
      }
    }

    private interface Lines {
      void writeTo(Writer target) throws IOException;
    }

    private void write(Lines lines) {
      console.print(
          () -> {
            try {
              Writer target = new OutputStreamWriter(console.out(), StandardCharsets.UTF_8);
              lines.writeTo(target);
              target.flush();
            } catch (IOException e) {
              throw new OutputException(e);
            }
          });
    }
  }

  @Command(
      name = "migrate",
      description =
          "Creates or updates only the tables of overrides. For all tables, use store create.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides migrate --db postgresql://sluice@db.example.com/limits")
  private static final class MigrateTable extends ConsoleCommand {

    @Mixin private DatabaseOptions database = new DatabaseOptions();

    @Override
    public Integer call() {
      int applied = database.onTable(Catalogue.samples(), OverridesTable::migrate);
      console.err().println(applied == 0 ? "the schema is up to date" : "the schema was updated");
      return Exit.DONE;
    }
  }

  @Command(
      name = "import",
      description = {
        "Writes the overrides of a file into the table. If one override has a mistake, none is written. The file is a YAML file of overrides, or CSV with the columns that dump or dump --all prints.",
        "",
        "New overrides are enabled. Existing overrides get the new quotas and end (CSV without the column until keeps an end in the future), and a new comment and author if the file has them. Disabled overrides stay disabled, unless the CSV has the column enabled. Other rows do not change. If an override would become lower and --force is not given, no override is written, and the exit code is 1."
      },
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice overrides import --overrides overrides.yml \\",
        "       --db postgresql://sluice@db/limits"
      })
  private static final class ImportOverrides extends ConsoleCommand {

    @Mixin private LimitFileOptions files = new LimitFileOptions();
    @Mixin private DatabaseOptions database = new DatabaseOptions();

    @Option(
        names = "--csv",
        paramLabel = "FILE",
        description = "A CSV file of overrides; --limits or --names declare their limits.")
    private @Nullable Path csv;

    @Option(
        names = "--strict",
        description = "Refuse non-canonical ids and special-purpose addresses.")
    private boolean strict;

    @Option(
        names = "--force",
        description =
            "Allow an override to become lower: a lower rate, a smaller burst at the same rate, or fewer quotas.")
    private boolean force;

    @Override
    public Integer call() {
      Strictness strictness = strict ? Strictness.STRICT : Strictness.LENIENT;
      if (csv != null && files.overrides() != null) {
        throw new InputException("found both --overrides and --csv, expected one or the other");
      }
      if (csv == null && files.overrides() == null && files.limits() == null) {
        throw new InputException(
            "the option --overrides FILE or --csv FILE is missing: it names the file to import");
      }
      PutResult written = csv == null ? ofYaml(strictness) : ofCsv(csv, strictness);
      console
          .err()
          .printf(
              "%s added, %s replaced%s%n",
              written.added(),
              written.again(),
              written.disabled() == 0
                  ? ""
                  : ", of which %s disabled".formatted(written.disabled()));
      return Exit.DONE;
    }

    private PutResult ofCsv(Path file, Strictness strictness) {
      InputFiles.require("--csv", file);
      Catalogue catalogue = files.catalogue();
      List<Line> lines;
      try {
        lines = OverridesCsv.read(Files.readString(file), catalogue, strictness);
      } catch (CharacterCodingException e) {
        throw new InputException(
            file + ": expected text in UTF-8; in a spreadsheet, save as CSV UTF-8");
      } catch (IOException e) {
        throw new InputException("%s: can't be read: %s".formatted(file, e.getMessage()));
      } catch (IllegalArgumentException e) {
        String message = "%s:%n%s".formatted(file, e.getMessage());
        throw new InputException(
            isUndeclared(message, files) ? message + "\n" + UNDECLARED : message);
      }
      Map<LimitOverride, @Nullable Boolean> enabled = new LinkedHashMap<>();
      lines.forEach(line -> enabled.put(line.override(), line.enabled()));
      PutResult written = database.onTable(catalogue, table -> table.put(enabled, force));
      warnOfUseless(lines);
      return written;
    }

    /** Warns about enabled overrides that have ended, or whose id no request can have. */
    private void warnOfUseless(List<Line> lines) {
      Instant now = Instant.now();
      List<String> warnings = new ArrayList<>();
      for (Line line : lines) {
        if (Boolean.FALSE.equals(line.enabled())) {
          continue;
        }
        LimitOverride one = line.override();
        String range = OverrideDoubts.ofWritten(line.written(), one.name());
        String doubt = range != null ? range : one.name().overrideId().doubt(one.id());
        if (one.isEndedAt(now)) {
          warnings.add(
              "the override of %s for %s has ended and is not in force"
                  .formatted(one.name(), SafeText.quote(one.id())));
        } else if (doubt != null) {
          warnings.add(doubt);
        }
      }
      for (String warning : warnings.subList(0, Math.min(warnings.size(), MOST_TOLD))) {
        console.err().println("warning: " + warning);
      }
      if (warnings.size() > MOST_TOLD) {
        console.err().printf("further warnings: %s%n", warnings.size() - MOST_TOLD);
      }
    }

    private PutResult ofYaml(Strictness strictness) {
      LimitFiles read = files.files(strictness);
      Limits limits = load(read, files);
      // lint() returns only warnings here, since load() throws an exception if there is a mistake.
      read.lint().forEach(console.err()::println);
      return database.onTable(limits.catalogue(), table -> table.put(limits.overrides(), force));
    }
  }

  @Command(
      name = "add",
      description = {
        "Writes one override into the table.",
        "",
        "A new override is enabled. An existing override gets the new quotas, end, comment and"
            + " author; if it is disabled, it stays disabled."
      },
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice overrides add NewOrdersPerAccount 12345678 --burst 300 --count 600 \\",
        "       --period 3h --comment 'Ticket 17' --db postgresql://sluice@db/limits"
      })
  private static final class AddOverride extends ConsoleCommand {

    @Mixin private OverrideIdOptions override = new OverrideIdOptions();
    @Mixin private DatabaseOptions database = new DatabaseOptions();

    @Mixin private QuotaOptions quota = new QuotaOptions();

    @Option(names = "--comment", paramLabel = "TEXT", description = "A note for people.")
    private String comment = "";

    @Option(names = "--author", paramLabel = "NAME", description = "Who sets the override.")
    private String author = "";

    @Option(
        names = "--until",
        paramLabel = "TIME",
        description = "The end of the override, such as 2027-03-01; no end if not given.")
    private @Nullable String until;

    @Option(
        names = "--strict",
        description = "Refuse non-canonical ids and special-purpose addresses.")
    private boolean strict;

    @Option(
        names = "--force",
        description =
            "Allow an override to become lower: a lower rate, a smaller burst at the same rate, or fewer quotas.")
    private boolean force;

    @Override
    public Integer call() {
      List<Quota> quotas = quota.quotas();
      Catalogue catalogue = override.catalogue();
      String id = override.canonical(catalogue, strict ? Strictness.STRICT : Strictness.LENIENT);
      LimitOverride made =
          new LimitOverride(catalogue.get(override.limit()), id, quotas, comment, author, end());
      PutResult written = database.onTable(catalogue, table -> table.put(List.of(made), force));
      String range = OverrideDoubts.ofWritten(override.id(), made.name());
      if (range != null) {
        console.err().println("warning: " + range);
      }
      console
          .err()
          .printf(
              "%s %s%s%n",
              written.added() == 1 ? "added" : "replaced",
              made.name().bucketKey(id),
              written.disabled() == 1 ? "; disabled as before, see sluice overrides enable" : "");
      return Exit.DONE;
    }

    private @Nullable Instant end() {
      Instant end;
      try {
        end = until == null ? null : EndTime.parse(until);
      } catch (IllegalArgumentException e) {
        throw new InputException("--until: " + e.getMessage());
      }
      if (end != null && !end.isAfter(Instant.now())) {
        throw new InputException("--until: found %s, expected a time in the future".formatted(end));
      }
      return end;
    }
  }

  @Command(
      name = "set",
      description = {
        "Sets the override of one id on a running server, and prints it.",
        "",
        "The override is in force on this server at once, and soon on servers with the same table."
      },
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice overrides set ApiCallsPerKey k --burst 500 --count 500 --period 1m \\",
        "       --until 2027-03-01 --server http://127.0.0.1:8080 --token-file ops.token"
      })
  private static final class SetOverride extends SetCommand {

    @Mixin private QuotaOptions quota = new QuotaOptions();

    @Option(
        names = "--until",
        paramLabel = "TIME",
        description =
            "The end of the override by the server's clock: 2027-03-01 (the start of that day in"
                + " UTC), a time such as 2027-03-01T12:00:00+01:00, or never. If not given, an"
                + " existing override keeps its end.")
    private @Nullable String until;

    @Option(
        names = "--force",
        description =
            "Allow an override to become lower: a lower rate, a smaller burst at the same rate, or fewer quotas.")
    private boolean force;

    SetOverride() {
      super(PATH);
    }

    @Override
    boolean force() {
      return force;
    }

    @Override
    void addTo(Map<String, Object> body) {
      quota.addTo(body);
      if (until != null) {
        body.put("until", until);
      }
    }
  }

  @Command(
      name = "remove",
      description = "Removes an override that was set on a running server.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides remove ApiCallsPerKey k --server http://127.0.0.1:8080")
  private static final class RemoveOverride extends RemoveCommand {

    RemoveOverride() {
      super(PATH);
    }
  }

  @Command(
      name = "list",
      description = "Prints the overrides that are in force on a running server, one per line.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides list --limit ApiCallsPerKey --server http://127.0.0.1:8080")
  private static final class ListOverrides extends ListCommand {

    ListOverrides() {
      super(PATH, "overrides");
    }
  }

  @Command
  private static final class SwitchOverride extends ConsoleCommand {

    private final boolean enabled;

    @Mixin private OverrideIdOptions override = new OverrideIdOptions();
    @Mixin private DatabaseOptions database = new DatabaseOptions();

    private SwitchOverride(boolean enabled) {
      this.enabled = enabled;
    }

    static CommandLine commandLine(Console console, boolean enabled) {
      CommandLine command = console.lineOf(new SwitchOverride(enabled));
      command
          .getCommandSpec()
          .usageMessage()
          .description(
              enabled
                  ? "Enables a disabled override in the table."
                  : "Disables an override, which stays in the table.")
          .footerHeading("%nExample:%n")
          .footer(
              "  sluice overrides %s NewOrdersPerAccount 12345678 \\"
                  .formatted(enabled ? "enable" : "disable"),
              "       --db postgresql://sluice@db/limits");
      return command;
    }

    @Override
    public Integer call() {
      Catalogue catalogue = override.catalogue();
      LimitName name = catalogue.get(override.limit());
      // A row of www.example.com, which a file can have, is not the row of example.com.
      String exact = override.exact(catalogue, Strictness.LENIENT);
      String widened = override.canonical(catalogue, Strictness.LENIENT);
      for (String id : exact.equals(widened) ? List.of(exact) : List.of(exact, widened)) {
        if (database.onTable(catalogue, table -> table.setEnabled(name, id, enabled))) {
          console.err().println((enabled ? "enabled " : "disabled ") + name.bucketKey(id));
          return Exit.DONE;
        }
      }
      console.err().println("there is no override " + name.bucketKey(exact) + " in the table");
      return Exit.NO;
    }
  }

  /** The parameters that name one override. */
  private static final class OverrideIdOptions {

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    private String limit = "";

    @Parameters(index = "1", paramLabel = "ID", description = "The id, as in an override file.")
    private String id = "";

    @Mixin private LimitFileOptions files = new LimitFileOptions();

    Catalogue catalogue() {
      return files.catalogue();
    }

    String limit() {
      return limit;
    }

    String id() {
      return id;
    }

    /** Returns the canonical id; for a name below a registered domain, the domain. */
    String canonical(Catalogue catalogue, Strictness strictness) {
      return catalogue.get(limit).overrideId().widened(exact(catalogue, strictness));
    }

    /** Returns the canonical id as it was written; throws for an invalid id. */
    String exact(Catalogue catalogue, Strictness strictness) {
      return catalogue.get(limit).overrideId().canonical(id, strictness);
    }
  }

  /** Options for one quota (burst, count, period) or for several quotas (one option per quota). */
  private static final class QuotaOptions {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command = CommandSpec.create();

    @Option(names = "--burst", paramLabel = "N", description = "The tokens of a full bucket.")
    private @Nullable Long burst;

    @Option(
        names = "--count",
        paramLabel = "N",
        description = "The tokens that are refilled per period.")
    private @Nullable Long count;

    @Option(
        names = "--period",
        paramLabel = "PERIOD",
        description = "The period, such as 1s, 180m, 1h30m, 7d or PT3H.")
    private @Nullable String period;

    @Option(
        names = "--quota",
        paramLabel = "QUOTA",
        description =
            "A quota, instead of --burst, --count and --period: '10 per 1s' or '10 per 1s, burst 20'. Repeat it for several quotas.")
    private List<String> quotas = List.of();

    /** Adds the quotas to the body of a request; the server parses their texts. */
    void addTo(Map<String, Object> body) {
      requireOneWay();
      if (burst != null && count != null && period != null) {
        body.put("burst", burst);
        body.put("count", count);
        body.put("period", period);
      } else {
        body.put("quotas", quotas);
      }
    }

    /**
     * Returns the quotas.
     *
     * @throws InputException if the quotas are missing or not valid
     */
    List<Quota> quotas() {
      requireOneWay();
      try {
        return burst != null && count != null && period != null
            ? List.of(Quota.burst(burst).refill(count, GoDuration.parse(period)))
            : Quota.ofOneLimit(quotas.stream().map(QuotaText::parse).toList());
      } catch (IllegalArgumentException e) {
        throw new InputException(String.valueOf(e.getMessage()));
      }
    }

    private void requireOneWay() {
      List<String> missing = new ArrayList<>();
      addIfMissing(burst, "--burst N", missing);
      addIfMissing(count, "--count N", missing);
      addIfMissing(period, "--period PERIOD", missing);
      if (!quotas.isEmpty() && missing.size() < 3) {
        throw new InputException(
            "found --quota beside --burst, --count or --period, expected one or the other");
      }
      if (quotas.isEmpty() && !missing.isEmpty()) {
        throw new InputException(
            "%s needs %s%s"
                .formatted(
                    command.qualifiedName(),
                    String.join(", ", missing),
                    missing.size() < 3 ? "" : ", or --quota QUOTA"));
      }
    }

    private static void addIfMissing(@Nullable Object value, String label, List<String> missing) {
      if (value == null) {
        missing.add(label);
      }
    }
  }
}
