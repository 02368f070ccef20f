// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.Transaction;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.LimitFileOptions.RulesOption;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleBook.Explanation;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.Excess;
import dev.sluice.rules.RuleMatch.RuleCharge;
import dev.sluice.server.rls.NamedLimits;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.RequestFacts;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice explain-rule}: explains what a rule book charges a descriptor or a request. */
@Command(
    name = "explain-rule",
    description = {
      "Shows what a rule book charges for a request or a descriptor, the line of the matching rule, and why earlier rules do not match. Needs no store."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:a rule matches, or the descriptor contains a limit",
      "1:no rule matches, or the charge is not possible",
      "2:broken input"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice explain-rule --limits limits.yml --rules rules.yml POST /orders/7 \\",
      "       --client 192.0.2.7 --header 'Host: api.example.com'",
      "  sluice explain-rule --limits limits.yml --rules rules.yml --domain edge \\",
      "       --entry generic_key=checkout --entry user=alice --hits 3"
    })
final class ExplainRuleCommand extends ConsoleCommand {

  @Parameters(index = "0", arity = "0..1", paramLabel = "METHOD", description = "For example POST.")
  private @Nullable String method;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "TARGET",
      description = "The path and query, as the client sends them.")
  private @Nullable String target;

  @Mixin private LimitFileOptions files = new LimitFileOptions();

  @Mixin private RulesOption rules = new RulesOption();

  @Option(
      names = "--header",
      paramLabel = "HEADER",
      description = "A header of the request, as 'Name: value'. Repeatable.")
  private List<String> headers = new ArrayList<>();

  @Option(
      names = "--client",
      paramLabel = "ADDRESS",
      description = "The IP address of the client of a request.")
  private @Nullable String client;

  @Option(
      names = "--domain",
      paramLabel = "DOMAIN",
      defaultValue = "",
      description = "The descriptor's domain; required with --entry.")
  private String domain = "";

  @Option(
      names = "--entry",
      paramLabel = "KEY=VALUE",
      description = "An entry of the descriptor. Repeatable; the order counts.")
  private List<String> entries = new ArrayList<>();

  @Option(names = "--hits", paramLabel = "N", description = "The number of hits to charge (1).")
  private @Nullable Long hits;

  @Override
  public Integer call() {
    if (rules.file(files) == null && files.limits() == null) {
      throw new InputException("explain-rule needs --rules FILE and --limits FILE");
    }
    if (hits() < 0) {
      throw new InputException("--hits: found %s, expected a whole number >= 0".formatted(hits()));
    }
    Limits limits = files.files(Strictness.LENIENT, List.of(), rules).load();
    RuleBook book = RuleBook.of(limits);
    if (book.size() == 0) {
      throw new InputException(
          "found no rules in %s; write a section rules there, or name a file with --rules"
              .formatted(files.limits()));
    }
    try {
      return entries.isEmpty() ? tellRequest(book, limits) : tell(ofDescriptor(book), book, limits);
    } catch (UnusableRequestException e) {
      console.line("cannot be charged: " + e.detail());
    } catch (InvalidRequestException e) {
      console.line("cannot be charged: " + e.getMessage());
    }
    return Exit.NO;
  }

  private long hits() {
    return hits == null ? 1 : hits;
  }

  private Explanation ofDescriptor(RuleBook book) {
    if (method != null || client != null || !headers.isEmpty()) {
      throw new InputException("found both a request and --entry, expected one or the other");
    }
    if (domain.isEmpty()) {
      throw new InputException(
          "--entry requires --domain: a descriptor without a domain is refused");
    }
    return book.explain(domain, descriptor());
  }

  private List<DescriptorEntry> descriptor() {
    List<DescriptorEntry> descriptor = new ArrayList<>();
    for (String entry : entries) {
      int equals = entry.indexOf('=');
      if (equals < 1) {
        throw new InputException(
            "--entry: found %s, expected KEY=VALUE".formatted(SafeText.quote(entry)));
      }
      descriptor.add(new DescriptorEntry(entry.substring(0, equals), entry.substring(equals + 1)));
    }
    return descriptor;
  }

  /** Explains every interpretation of the request, since forward-auth charges for each of them. */
  private int tellRequest(RuleBook book, Limits limits) {
    String asked = method;
    String where = target;
    if (asked == null || where == null) {
      throw new InputException(
          "expected a request, as METHOD and TARGET such as GET /orders/7, or a descriptor, as --entry KEY=VALUE");
    }
    if (hits != null || !domain.isEmpty()) {
      throw new InputException(
          "%s requires --entry, since it belongs to a descriptor"
              .formatted(hits != null ? "--hits" : "--domain"));
    }
    if (client != null && IpAddress.parse(client) == null) {
      throw new InputException(
          "--client: found %s, expected an IP address".formatted(SafeText.quote(client)));
    }
    PlainRequest.Builder request = WebRequest.builder(asked, where).peer(client);
    for (String text : headers) {
      Map.Entry<String, String> header = header(text);
      request.header(header.getKey(), header.getValue());
    }
    List<RequestFacts> readings = book.readings(request.build(), ClientAddress.direct());
    boolean several = readings.size() > 1;
    boolean methods = differ(readings, RequestFacts::method);
    boolean paths = differ(readings, RequestFacts::pathText);
    List<String> similar = similarHeaders(readings);
    if (several) {
      String what =
          methods || paths == !similar.isEmpty()
              ? "request"
              : paths
                  ? "path"
                  : (similar.size() > 1 ? "headers " : "header ") + String.join(" and ", similar);
      console.line(
          "the %s can be interpreted in %s ways: the rules for all interpretations are charged"
              .formatted(what, readings.size()));
    }
    int code = Exit.NO;
    for (RequestFacts reading : readings) {
      if (several) {
        String path = SafeText.printable(reading.pathText());
        console.line(
            "read as %s%s%s:"
                .formatted(
                    methods ? reading.method() + " " : "",
                    path,
                    similar.stream()
                        .map(name -> shown(name, reading))
                        .collect(Collectors.joining())));
      }
      Explanation why = book.explain(reading);
      if (tell(why, book, limits) == Exit.DONE) {
        code = Exit.DONE;
      }
      if (why.unusable() != null) {
        return Exit.NO;
      }
    }
    return code;
  }

  /** Parses a header such as {@code Name: value}. */
  static Map.Entry<String, String> header(String text) {
    int colon = text.indexOf(':');
    if (colon < 1) {
      throw new InputException(
          "--header: found %s, expected 'Name: value'".formatted(SafeText.quote(text)));
    }
    return Map.entry(text.substring(0, colon).strip(), text.substring(colon + 1).strip());
  }

  private static <T> boolean differ(List<RequestFacts> readings, Function<RequestFacts, T> part) {
    return readings.stream().map(part).distinct().count() > 1;
  }

  /**
   * Returns the names of headers whose values differ between the interpretations, because the
   * request also has a header with a similar name.
   */
  private List<String> similarHeaders(List<RequestFacts> readings) {
    return headers.stream()
        .map(header -> header.substring(0, header.indexOf(':')).strip().replace('_', '-'))
        .collect(Collectors.toCollection(() -> new TreeSet<>(String.CASE_INSENSITIVE_ORDER)))
        .stream()
        .filter(name -> differ(readings, reading -> reading.headers(name)))
        .toList();
  }

  private static String shown(String header, RequestFacts reading) {
    List<String> values = reading.headers(header);
    return values.isEmpty()
        ? " without " + header
        : " with %s: %s".formatted(header, SafeText.printable(String.join(", ", values)));
  }

  private int tell(Explanation why, RuleBook book, Limits limits) {
    for (Explanation.PassedOver rule : why.passedOver()) {
      console.line("%s:%s: not this rule: %s".formatted(book.file(), rule.line(), rule.reason()));
    }
    Explanation.Unusable unusable = why.unusable();
    if (unusable != null) {
      console.line(
          "%s:%s: cannot be charged: %s"
              .formatted(book.file(), unusable.line(), unusable.detail()));
      return Exit.NO;
    }
    RuleMatch match = why.match();
    if (match == null) {
      return tellNamed(book, limits);
    }
    String all =
        switch (match.verdict()) {
          case UNLIMITED -> ": unlimited";
          case DENIES -> ": always denied";
          case CHARGES -> match.charges().isEmpty() && why.skipped().isEmpty() ? ": nothing" : "";
        };
    console.line("%s:%s: this rule%s".formatted(book.file(), match.line(), all));
    if (!match.replaces().isEmpty()) {
      console.line("  other descriptors are not charged " + String.join(", ", match.replaces()));
    }
    for (RuleCharge charge : match.charges()) {
      console.line("  " + shown(charge, limits));
    }
    for (Explanation.Skipped one : why.skipped()) {
      console.line("  " + skipped(one.limit(), one.reason()));
    }
    if (entries.isEmpty()) {
      requireChargeable(match, limits);
    }
    return Exit.DONE;
  }

  /**
   * Formats a charge; for a shadow charge with a mistake, formats the mistake, since a server skips
   * such a shadow charge.
   */
  private String shown(RuleCharge charge, Limits limits) {
    try {
      boolean hasExcess = !entries.isEmpty(); // excess allows a cost above the burst
      Transaction meant =
          hasExcess || !charge.shadow()
              ? charge.transaction(limits)
              : charge.transaction(limits, hits());
      String call = charge.call() == null ? "" : SafeText.quote(charge.call());
      return charge.excess() == Excess.SETTLE
          ? shown(meant, charge.cost(hits()), Excess.DEBT)
              + "; replaces the reservation of the request %s".formatted(call)
          : shown(meant, charge.cost(hits()), charge.excess())
              + (call.isEmpty() ? "" : "; reserved for the request " + call);
    } catch (InvalidRequestException e) {
      if (!charge.shadow()) {
        throw e;
      }
      return skipped(charge.limit(), e.getMessage());
    }
  }

  private static String skipped(String limit, @Nullable String reason) {
    return "%s in shadow, not charged: %s".formatted(limit, reason);
  }

  /**
   * Rejects a request whose cost is above the burst, unless the limit is in shadow. A descriptor
   * whose cost is above the burst is denied, not rejected.
   */
  private static void requireChargeable(RuleMatch match, Limits limits) {
    var unusedEnforced = match.enforced(limits, 1);
  }

  /** Explains a descriptor that no rule matches, but that can contain a limit. */
  private int tellNamed(RuleBook book, Limits limits) {
    Transaction named = NamedLimits.find(domain, descriptor(), limits);
    if (named == null) {
      console.line(
          !entries.isEmpty() && book.isRulesOnly(domain)
              ? "no rule matches, and rulesOnly contains the domain %s: nothing is charged"
                  .formatted(SafeText.printable(domain))
              : "no rule matches: nothing is charged");
      return Exit.NO;
    }
    console.line("no rule matches; the descriptor contains a limit");
    console.line("  " + shown(named, hits(), Excess.REJECT));
    return Exit.DONE;
  }

  private String shown(Transaction transaction, long cost, Excess excess) {
    return "%s %s (bucket %s), cost %s%s: %s"
        .formatted(
            transaction.name(),
            SafeText.printable(transaction.id()),
            SafeText.printable(transaction.bucketKey()),
            cost,
            transaction.isShadow() ? ", in shadow" : "",
            transaction.quotas().isEmpty()
                ? "not limited"
                : transaction.quotas().stream()
                        .map(ExplainRuleCommand::words)
                        .collect(Collectors.joining(" and "))
                    + excess(cost, excess, Quota.leastBurst(transaction.quotas())));
  }

  private static String words(Quota quota) {
    return "burst %s, then %s per %s"
        .formatted(quota.burst(), quota.count(), Quantities.brief(quota.period()));
  }

  private String excess(long cost, Excess excess, long burst) {
    return entries.isEmpty() || cost <= burst
        ? ""
        : "; the cost is above the burst: " + excess.name().toLowerCase(Locale.ROOT);
  }
}
