// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.replay.Fit;
import dev.sluice.replay.Fit.Attack;
import dev.sluice.replay.Fit.Point;
import dev.sluice.replay.Fit.Prefer;
import dev.sluice.replay.Replay;
import dev.sluice.replay.ReplayResult;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice fit}: suggests the quota of a limit from access logs. */
@Command(
    name = "fit",
    description = {
      "Suggests the quota of a limit from access logs: for each of several rates, the smallest"
          + " burst that never denies a request of most ids of the limit. Prints YAML, with the"
          + " other choices as comments. The clients in the comments are addresses.",
      "",
      "The limit must be in --limits, but only its period is used. Ids with an override are left"
          + " out. Requests that other limits would deny are also counted."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice fit --limits limits.yml --limit CallsPerClient \\",
      "       --count 'CallsPerClient={ip}' access.log",
      "  sluice fit --limits limits.yml --rules rules.yml --limit LoginsPerClient \\",
      "       --never-deny 99.9%% --attack 2026-11-26T10:00Z..2026-11-26T11:00Z \\",
      "       access.log"
    })
final class FitCommand extends ConsoleCommand {

  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);
  private static final List<Long> RATES =
      List.of(1L, 2L, 5L, 10L, 20L, 50L, 100L, 200L, 500L, 1000L, 2000L, 5000L, 10_000L);

  @Mixin private LimitFileOptions files = new LimitFileOptions();
  @Mixin private LogOptions log = new LogOptions();

  @Option(
      names = "--limit",
      paramLabel = "NAME",
      required = true,
      description = "The limit to fit.")
  private String limit = "";

  @Option(
      names = "--never-deny",
      paramLabel = "PERCENT",
      description = "The share of ids that are never denied a request (99.9%%).")
  private String neverDeny = "99.9%";

  @Option(
      names = "--prefer",
      paramLabel = "WHAT",
      description =
          "What the best choice minimizes: worst (the default), the requests that an id can send"
              + " in a minute; burst, the burst; rate, the rate; or strict, burst + count, the most"
              + " requests in any period.")
  private String prefer = "worst";

  @Option(
      names = "--attack",
      paramLabel = "FROM..TO",
      description =
          "The time of an attack. The heavy ids are the fewest ids that sent half of the requests"
              + " in this time; the best choice denies the largest number of these ids."
              + " Requests in this time do not count for --never-deny.")
  private @Nullable String attack;

  @Option(
      names = "--rates",
      paramLabel = "COUNT",
      split = ",",
      description = "The counts per period to try; 1, 2, 5, 10 and so on to 10000 if not given.")
  private List<Long> rates = new ArrayList<>();

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE|-",
      description = "Access logs, as for sluice replay; - is standard input.")
  private List<String> logs = new ArrayList<>();

  @Override
  public Integer call() {
    if (files.limits() == null) {
      throw new InputException(
          "the option --limits FILE is missing: the file declares the limit and its period");
    }
    BigDecimal percent = percent();
    Prefer best = Quantities.word("--prefer", prefer, Prefer.class);
    Attack marked = attack();
    Limits limits = log.limits(files, console);
    Duration period = period(limits);
    Fit fit = new Fit(quotas(period), marked);
    List<LogOptions.Source> sources = LogOptions.sources(logs, console);
    Replay replay = Replay.of(limits, sources).demands(limit, fit);
    ReplayResult read = log.run(replay, sources, console);
    List<Point> curve = fit.curve(percent);
    if (curve.isEmpty()) {
      throw new InputException(
          fit.ids() == 0
              ? "no request is charged to %s%s; ids with an override are left out"
                  .formatted(limit, marked == null ? "" : " outside the attack")
              : "no burst is large enough: too many ids have requests with a huge cost");
    }
    if (marked != null && fit.heavyIds() == 0) {
      ReplayResult.Log times = read.log();
      throw new InputException(
          "--attack: no request in this time is charged to %s; the log's times are %s to %s"
              .formatted(
                  limit,
                  time(times.firstNanos(), times.zone()),
                  time(times.lastNanos(), times.zone())));
    }
    fit.lines(limit, percent, curve, best.of(curve), Quantities.brief(period), read)
        .forEach(console::line);
    return Exit.DONE;
  }

  private static OffsetDateTime time(long nanos, ZoneId zone) {
    return Instant.ofEpochSecond(0, nanos).atZone(zone).toOffsetDateTime();
  }

  private Duration period(Limits limits) {
    try {
      LimitName name = limits.configured(limit);
      Quota quota = limits.defaultFor(name);
      if (quota == null) {
        throw new InputException(
            "--limit: %s has no default; add a default (only its period is used)".formatted(limit));
      }
      if (limits.defaultsFor(name).size() > 1) {
        throw new InputException(
            "--limit: %s has several quotas, expected a limit with one quota; remove the others"
                .formatted(limit));
      }
      return quota.period();
    } catch (InvalidRequestException e) {
      throw new InputException("--limit: " + e.getMessage());
    }
  }

  private List<Quota> quotas(Duration period) {
    for (Long rate : rates) {
      if (!Quota.faults(1, rate, period).isEmpty()) {
        throw new InputException("--rates: " + Quota.faults(1, rate, period).get(0).message());
      }
    }
    return (rates.isEmpty() ? RATES : rates)
        .stream()
            .filter(rate -> Quota.faults(1, rate, period).isEmpty())
            .distinct()
            .sorted()
            .map(rate -> Quota.burst(1).refill(rate, period))
            .toList();
  }

  private BigDecimal percent() {
    String expected = "a percentage above 0% and up to 100%, such as 99.9%";
    BigDecimal percent = Quantities.percent("--never-deny", neverDeny, expected);
    if (percent.signum() == 0 || percent.compareTo(HUNDRED) > 0) {
      throw new InputException(
          "--never-deny: found %s, expected %s".formatted(SafeText.quote(neverDeny), expected));
    }
    return percent;
  }

  private @Nullable Attack attack() {
    if (attack == null) {
      return null;
    }
    int dots = attack.indexOf("..");
    if (dots < 0) {
      throw new InputException(
          "--attack: found %s, expected FROM..TO such as 2026-11-26T10:00Z..2026-11-26T11:00Z"
              .formatted(SafeText.quote(attack)));
    }
    long from = log.nanos("--attack", attack.substring(0, dots));
    long to = log.nanos("--attack", attack.substring(dots + 2));
    if (to <= from) {
      throw new InputException(
          "--attack: found %s, whose end is not after its beginning"
              .formatted(SafeText.quote(attack)));
    }
    return new Attack(from, to);
  }
}
