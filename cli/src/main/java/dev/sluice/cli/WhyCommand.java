// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.replay.Replay;
import dev.sluice.replay.Replay.Step;
import dev.sluice.replay.ReplayResult;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice why}: explains why a client was denied, from a running server or access logs. */
@Command(
    name = "why",
    description = {
      "With --server, explains the state of a bucket: its tokens, the limit in force, a penalty,"
          + " and its last denials (with --top-denied and the role admin). With --request, the"
          + " command also explains which rule matches a request.",
      "",
      "With --log, shows each request of access logs that was charged to the bucket: the tokens"
          + " before and after the request, why it was denied, and when it would have been allowed."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:no request was denied, or the server sent an explanation",
      "1:a request was denied, or no request was charged to the bucket",
      "2:broken input",
      "3:the server sent no response"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice why LoginsPerClient 203.0.113.7 --server http://127.0.0.1:8080",
      "  sluice why LoginsPerClient 203.0.113.7 --limits limits.yml --rules rules.yml \\",
      "       --log access.log --at 2026-11-26T10:31:00Z"
    })
final class WhyCommand extends ConsoleCommand {

  private static final int SHOWN = 40;
  private static final int AFTER = 5;
  private static final int BAR = 20;

  @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
  private String limit = "";

  @Parameters(index = "1", paramLabel = "ID", description = "The bucket's id, such as 203.0.113.7.")
  private String id = "";

  @Mixin private LimitFileOptions files = new LimitFileOptions();
  @Mixin private LogOptions log = new LogOptions();

  @Option(
      names = "--log",
      paramLabel = "FILE|-",
      description = "An access log, or - for standard input. Repeatable.")
  private List<String> logs = new ArrayList<>();

  @Option(
      names = "--at",
      paramLabel = "TIME",
      description =
          "Shows the requests up to this time, such as 2026-11-26T10:31:00Z, and a few later"
              + " requests. If not given, shows the last requests up to the last denial.")
  private @Nullable String at;

  @Option(
      names = "--server",
      paramLabel = "URL",
      description = "The address of a running server, such as http://127.0.0.1:8080.")
  private @Nullable String server;

  @Option(
      names = "--request",
      paramLabel = "'METHOD TARGET'",
      description = "A request whose matching rule the server explains, such as 'GET /orders/7'.")
  private @Nullable String request;

  @Option(
      names = "--header",
      paramLabel = "HEADER",
      description = "A header of --request, as 'Name: value'. Repeatable.")
  private List<String> headers = new ArrayList<>();

  @Option(
      names = "--client",
      paramLabel = "ADDRESS",
      description = "The IP address of the client of --request (ID, if it is an IP address).")
  private @Nullable String client;

  @Mixin private ServerClientOptions clientOptions = new ServerClientOptions();

  private final Deque<Step> latest = new ArrayDeque<>();
  private final Deque<Step> shown = new ArrayDeque<>();
  private long charged;
  private long denied;
  private int after;

  @Override
  public Integer call() {
    String url = server;
    if (url != null) {
      return explain(url);
    }
    if (logs.isEmpty()) {
      throw new InputException(
          "expected --server URL of a running server, or --log FILE with --limits FILE");
    }
    String ofServer = request != null ? "--request" : ofRequest();
    ofServer = ofServer != null ? ofServer : clientOptions.given();
    if (ofServer != null) {
      throw new InputException(ofServer + ": requires --server URL, but the options name logs");
    }
    if (files.limits() == null) {
      throw new InputException(
          "the option --limits FILE is missing: the requests are decided with these limits");
    }
    long until = at == null ? Long.MAX_VALUE : log.nanos("--at", at);
    Limits limits = log.limits(files, console);
    List<Quota> quotas = quotas(limits, limit, id);
    List<LogOptions.Source> sources = LogOptions.sources(logs, console);
    Replay replay = Replay.of(limits, sources).watch(limit, id, step -> take(step, until));
    ReplayResult result = log.run(replay, sources, console);
    if (charged == 0) {
      console.line(
          "None of %s requests is charged to %s of %s.%s"
              .formatted(result.totals().requests(), limit, SafeText.printable(id), advice(id)));
      return Exit.NO;
    }
    console.print(() -> steps(quotas, result.log().zone()));
    return denied == 0 ? Exit.DONE : Exit.NO;
  }

  private void steps(List<Quota> quotas, ZoneId zone) {
    console.line(
        "%s requests are charged to %s of %s (%s); %s of them are denied."
            .formatted(charged, limit, SafeText.printable(id), said(quotas), denied));
    if (quotas.size() > 1) {
      console.line("The limit has several quotas; the tokens are those of the emptiest bucket.");
    }
    console.line("");
    long burst = Quota.leastBurst(quotas);
    (after == 0 ? latest : shown).forEach(step -> console.line(line(step, burst, zone)));
  }

  private static String advice(String id) {
    IpAddress address = IpAddress.parse(id);
    IpAddress range = address == null || address.isIpv4() ? address : address.prefix(64);
    return range == null || range.equals(address)
        ? ""
        : " {ip} charges all IPv6 clients of a /64 range to one id: try %s.".formatted(range);
  }

  private int explain(String url) {
    if (!logs.isEmpty()
        || !files.none()
        || log.isAskedFor()
        || log.format() != null
        || at != null) {
      throw new InputException(
          "found --server beside an option for logs or limit files, expected one or the other");
    }
    if (request == null && ofRequest() != null) {
      throw new InputException(ofRequest() + ": requires --request 'METHOD TARGET'");
    }
    Map<String, Object> question = new LinkedHashMap<>(Map.of("limit", limit, "id", id));
    if (request != null) {
      int space = request.indexOf(' ');
      if (space < 1) {
        throw new InputException(
            "--request: found %s, expected a method and a target such as 'GET /orders/7'"
                .formatted(SafeText.quote(request)));
      }
      question.put("method", request.substring(0, space));
      question.put("target", request.substring(space + 1));
      if (client != null || IpAddress.parse(id) != null) {
        question.put("client", client != null ? client : id);
      }
      Map<String, String> values = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
      for (String header : headers) {
        Map.Entry<String, String> one = ExplainRuleCommand.header(header);
        values.merge(one.getKey(), one.getValue(), (first, next) -> first + ", " + next);
      }
      question.put("headers", values);
    }
    clientOptions.client(url, console).explain(question).forEach(console::line);
    return Exit.DONE;
  }

  /** Returns an option that is given and belongs to {@code --request}; null if there is none. */
  private @Nullable String ofRequest() {
    return !headers.isEmpty() ? "--header" : client != null ? "--client" : null;
  }

  private static String said(List<Quota> quotas) {
    return quotas.stream()
        .map(
            quota ->
                "%s per %s, burst %s"
                    .formatted(quota.count(), Quantities.brief(quota.period()), quota.burst()))
        .collect(Collectors.joining(" and "));
  }

  /** Returns the quotas of an id, at least one. */
  static List<Quota> quotas(Limits limits, String limit, String id) {
    try {
      LimitName name = limits.configured(limit);
      String canonical = name.id().canonical(id, Strictness.LENIENT);
      List<Quota> quotas = limits.quotasFor(name, canonical);
      if (quotas.isEmpty()) {
        throw new InputException(
            "%s does not limit %s, so the limit denies no request of this id"
                .formatted(limit, SafeText.printable(id)));
      }
      return quotas;
    } catch (InvalidRequestException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  /** Keeps the last requests up to {@code --at} or the last denial, and a few later requests. */
  private void take(Step step, long until) {
    charged++;
    denied += step.denied() ? 1 : 0;
    boolean isWanted = at == null ? step.denied() || denied == 0 : step.atNanos() <= until;
    after = isWanted ? 0 : after + 1;
    if (after == 1) {
      shown.clear();
      shown.addAll(latest);
    }
    if (after > 0 && after <= AFTER) {
      shown.addLast(step);
    }
    latest.addLast(step);
    if (latest.size() > SHOWN) {
      latest.removeFirst();
    }
  }

  private static String line(Step step, long burst, ZoneId zone) {
    Instant when = Instant.ofEpochSecond(0, step.atNanos());
    int full = (int) (BAR * ((double) step.after() / Math.max(1, burst)));
    String what =
        !step.denied()
            ? "allowed"
            : step.retryInNanos() == 0
                ? "denied by %s, never passes: its cost is above the burst"
                    .formatted(step.deniedBy())
                : "denied by %s, would pass after %s"
                    .formatted(step.deniedBy(), Quantities.rounded(step.retryInNanos()));
    return String.format(
        Locale.ROOT,
        "%s  %s%s  %,d -> %,d  %s%s  %s",
        DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(LocalDateTime.ofInstant(when, zone)),
        "#".repeat(full),
        ".".repeat(BAR - full),
        step.before(),
        step.after(),
        what,
        step.status() < 0 ? "" : ", answered " + step.status(),
        SafeText.printable(step.request()));
  }
}
