// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.LimitFileOptions.AskedFor;
import dev.sluice.cli.LimitFileOptions.RulesOption;
import dev.sluice.cli.LimitFileOptions.TokensOption;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.Severity;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice lint}: reports every mistake of limit files in one run. */
@Command(
    name = "lint",
    description = {
      "Reports every mistake in limit files, a rule book or a file of tokens as file:line:column:"
          + " message, and doubtful entries as warnings.",
      "",
      "Without mistakes, the command also prints the most requests that each default allows in any"
          + " period: a full bucket at once, plus the tokens refilled in that period. For at most N"
          + " requests in any period, write a burst and a count whose sum is N."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {"0:no mistakes, perhaps warnings", "1:mistakes", "2:a file can't be read"},
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice lint limits.yml",
      "  sluice lint limits.yml overrides.yml names.yml",
      "  sluice lint limits.yml --rules rules.yml",
      "  sluice lint tokens.yml",
      "  sluice lint limits.yml --for LoginsPerIPAddress --for SignUpsPerIPAddress",
      "  sluice lint limits.yml --against limits.yml.old",
      "  sluice lint --strict --overrides overrides.yml"
    })
final class LintCommand extends ConsoleCommand {

  @Parameters(
      arity = "0..*",
      paramLabel = "FILE",
      description =
          "Files with defaults, overrides, names, rules or tokens, at most one of each kind; the"
              + " content shows the kind.")
  private List<Path> given = List.of();

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Mixin private RulesOption rules = new RulesOption();

  @Mixin private TokensOption tokens = new TokensOption();

  @Mixin private AskedFor askedFor = new AskedFor();

  @Option(
      names = "--strict",
      description = "Refuse non-canonical ids and special-purpose addresses.")
  private boolean strict;

  @Option(
      names = "--against",
      paramLabel = "FILE",
      description =
          "A file with the limits or names in force until now. The command warns of each limit"
              + " whose bucket keys change, since all its buckets then start full. Repeatable.")
  private List<Path> before = List.of();

  @Override
  public Integer call() {
    given.forEach(file -> files.add(file, rules, tokens));
    if (files.none() && rules.file(files) == null && tokens.file() == null) {
      throw new InputException("name at least one file, for example: sluice lint limits.yml");
    }
    Strictness strictness = strict ? Strictness.STRICT : Strictness.LENIENT;
    LimitFiles read =
        files.files(strictness, askedFor.requirements(MissingDefault.REFUSE), rules, tokens);
    List<Problem> problems = before.isEmpty() ? read.lint() : read.lint(limitsBefore());
    console.print(() -> problems.forEach(problem -> console.line(problem.toString())));
    long warnings = problems.stream().filter(p -> p.severity() == Severity.WARNING).count();
    long mistakes = problems.size() - warnings;
    console.err().println(counted(mistakes, "mistake") + ", " + counted(warnings, "warning"));
    if (mistakes > 0) {
      return Exit.NO;
    }
    sayWorstPeriods(read.load());
    return Exit.DONE;
  }

  private Limits limitsBefore() {
    LimitFileOptions old = new LimitFileOptions();
    before.forEach(file -> old.add(file, new RulesOption(), new TokensOption()));
    if (old.none()) {
      throw new InputException(
          "--against: found no limits or names in "
              + before.stream().map(Path::toString).collect(Collectors.joining(", ")));
    }
    return old.load();
  }

  /**
   * Prints, for each default, the most requests that the limit allows in any period. A burst of 10
   * with 5 per minute is often read as "at most 10 a minute", but allows 15.
   */
  private void sayWorstPeriods(Limits limits) {
    for (LimitName name : limits.catalogue().names()) {
      BigInteger debt = BigInteger.valueOf(limits.debtOf(name));
      for (Quota quota : limits.defaultsFor(name)) {
        BigInteger burst = BigInteger.valueOf(quota.burst());
        long meanwhile = quota.period().toNanos() / quota.intervalNanos();
        BigInteger most = burst.add(BigInteger.valueOf(meanwhile));
        console
            .err()
            .printf(
                "%s: at most %s in any %s, %s of them at once%s%n",
                name,
                most,
                Quantities.brief(quota.period()),
                burst,
                debt.signum() == 0
                    ? ""
                    : ", and a debt of up to %s".formatted(burst.multiply(debt)));
      }
    }
  }

  private static String counted(long n, String noun) {
    return (n == 0 ? "no" : Long.toString(n)) + " " + noun + (n == 1 ? "" : "s");
  }
}
