// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static dev.sluice.cli.ServerClient.objects;
import static dev.sluice.cli.ServerClient.text;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Console.JsonOption;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.internal.text.GoDuration;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * The base of the commands {@code limits}, {@code stats} and {@code top}, which show a running
 * server.
 */
abstract class ViewCommand extends ConsoleCommand {

  private static final String LIMITS = "/v1/limits";
  private static final String STATS = "/v1/stats";

  /** The statistics without the counts of each second. */
  private static final String TOTALS = STATS + "?series=";

  private static final String TOP_DENIED = "/v1/admin/top-denied";
  private static final int HASH_DIGITS = 12;

  @Option(
      names = "--server",
      paramLabel = "URL",
      defaultValue = DoorOptions.USUAL_SERVER,
      description = "The server (${DEFAULT-VALUE}).")
  private String server = DoorOptions.USUAL_SERVER;

  @Mixin private ServerClientOptions options = new ServerClientOptions();

  final ServerClient client() {
    return options.client(server, console);
  }

  @Command(
      name = "limits",
      description = "Prints the limits that are in force on a running server.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  sluice limits",
        "  sluice limits --server https://sluice.example --token-file ops.token"
      })
  static final class LimitsView extends ViewCommand {

    @Mixin private JsonOption json = new JsonOption();

    @Override
    public Integer call() {
      ServerClient client = client();
      if (!json.isForPeople(console)) {
        console.line(client.get(LIMITS));
        return Exit.DONE;
      }
      Map<String, Object> answer = client.object(LIMITS);
      List<List<String>> rows = new ArrayList<>();
      rows.add(List.of("LIMIT", "QUOTA", "ID", "OVERRIDES"));
      for (Map<String, Object> one : objects(answer, "limits")) {
        rows.add(List.of(text(one, "name"), quota(one), text(one, "id"), text(one, "overrides")));
      }
      table(rows, 3).forEach(console::line);
      files(answer).forEach(console::line);
      return Exit.DONE;
    }

    private static String quota(Map<String, Object> limit) {
      if (!Boolean.TRUE.equals(limit.get("limited"))) {
        return text(limit, "reason");
      }
      List<Map<String, Object>> quotas = objects(limit, "quotas");
      return (quotas.isEmpty() ? List.of(limit) : quotas)
          .stream().map(LimitsView::one).collect(Collectors.joining(" and "));
    }

    private static String one(Map<String, Object> limit) {
      String period = Quantities.brief(GoDuration.parse(text(limit, "period")));
      String rate = text(limit, "count") + " per " + period;
      String burst = text(limit, "burst");
      return burst.equals(text(limit, "count")) ? rate : rate + ", burst " + burst;
    }
  }

  @Command(
      name = "stats",
      description =
          "Prints the state of a running server, and each limit's decisions in the last minute.",
      footerHeading = "%nExample:%n",
      footer = "  sluice stats --server https://sluice.example --token-file ops.token")
  static final class StatsView extends ViewCommand {

    @Mixin private JsonOption json = new JsonOption();
    @Mixin private SinceOption since = new SinceOption();

    @Override
    public Integer call() {
      ServerClient client = client();
      if (json.isForPeople(console)) {
        Map<String, Object> stats = client.object(since.totals());
        state(stats).forEach(console::line);
        files(client.object(LIMITS)).forEach(console::line);
        console.line("");
        table(decisions(stats, since.heading(), Integer.MAX_VALUE), 1).forEach(console::line);
      } else {
        console.line(client.get(since.isGiven() ? since.totals() : STATS));
      }
      return Exit.DONE;
    }
  }

  @Command(
      name = "top",
      description = {
        "Shows a running server live: its store and files, the limits that deny most, and the ids"
            + " that are denied most. Ctrl-C ends the command.",
        "",
        "If the output is not a terminal, the command prints one screen and ends."
      },
      footerHeading = "%nExample:%n",
      footer = "  sluice top --server https://sluice.example --token-file ops.token")
  static final class TopView extends ViewCommand {

    private static final int ROWS = 8;
    private static final String CLEAR = "\033[H\033[J";

    @Option(
        names = "--interval",
        paramLabel = "PERIOD",
        defaultValue = "2s",
        description = "The time between two screens (${DEFAULT-VALUE}).")
    private String interval = "2s";

    @Mixin private SinceOption since = new SinceOption();

    @Override
    public Integer call() throws InterruptedException {
      Duration pause = Quantities.positive("--interval", interval);
      ServerClient client = client();
      if (!console.isTerminal()) {
        screen(client).forEach(console::line);
        return Exit.DONE;
      }
      boolean answered = false;
      while (true) {
        List<String> lines;
        try {
          lines = screen(client);
          answered = true;
        } catch (ExitException e) {
          if (!answered || e.code() != Exit.UNREACHABLE) {
            throw e;
          }
          lines = List.of(String.valueOf(e.getMessage()), "Trying again.");
        }
        StringBuilder all = new StringBuilder(CLEAR);
        lines.forEach(line -> all.append(cut(line)).append('\n'));
        console.line(all.toString().stripTrailing());
        console.flush();
        TimeUnit.NANOSECONDS.sleep(pause.toNanos());
      }
    }

    private String cut(String line) {
      return line.length() <= console.width() ? line : line.substring(0, console.width());
    }

    private List<String> screen(ServerClient client) {
      Map<String, Object> stats = client.object(since.totals());
      List<String> lines = new ArrayList<>(state(stats));
      lines.addAll(files(client.object(LIMITS)));
      lines.add("");
      lines.addAll(table(decisions(stats, since.heading(), ROWS), 1));
      lines.add("");
      lines.addAll(mostDenied(client.object(TOP_DENIED)));
      return lines;
    }

    private static List<String> mostDenied(Map<String, Object> top) {
      if (!Boolean.TRUE.equals(top.get("kept"))) {
        return List.of("To see the ids that are denied most, start the server with --top-denied.");
      }
      record Denied(String limit, String id, long times) {}
      List<Denied> all = new ArrayList<>();
      for (Map<String, Object> limit : objects(top, "limits")) {
        for (Map<String, Object> id : objects(limit, "ids")) {
          all.add(new Denied(text(limit, "limit"), text(id, "id"), number(id.get("atLeast"))));
        }
      }
      all.sort(Comparator.comparingLong(Denied::times).reversed());
      List<List<String>> rows = new ArrayList<>();
      rows.add(List.of("DENIED MOST, LAST 5-10 MIN", "ID", "TIMES"));
      all.stream()
          .limit(ROWS)
          .forEach(one -> rows.add(List.of(one.limit(), one.id(), count(one.times()))));
      return table(rows, 2);
    }
  }

  private static List<String> state(Map<String, Object> stats) {
    List<String> lines = new ArrayList<>();
    double uptimeNanos = Double.parseDouble(text(stats, "uptimeSeconds")) * 1e9;
    lines.add(
        "sluice %s, up %s, connections: %s%s"
            .formatted(
                text(stats, "version"),
                Quantities.rounded((long) uptimeNanos),
                text(stats, "connections"),
                Boolean.TRUE.equals(stats.get("ending")) ? ", stopping" : ""));
    Map<String, Object> store = object(stats, "store");
    String live =
        store.containsKey("liveBuckets")
            ? ", %s of %s buckets in use"
                .formatted(
                    count(number(store.get("liveBuckets"))),
                    count(number(store.get("maxLiveBuckets"))))
            : "";
    lines.add(
        "store %s: %s%s"
            .formatted(
                text(store, "name"),
                Boolean.TRUE.equals(store.get("ready")) ? "ready" : text(store, "problem"),
                live));
    for (Map<String, Object> breaker : objects(stats, "breakers")) {
      if (!Boolean.TRUE.equals(breaker.get("up"))) {
        lines.add("marked down: " + text(breaker, "server"));
      }
    }
    return lines;
  }

  /** Returns the lines about the files in force, and each mistake in newer files. */
  private static List<String> files(Map<String, Object> limits) {
    Map<String, Object> generation = object(limits, "generation");
    Map<String, Object> active = object(generation, "active");
    List<String> mistakes = ServerClient.mistakes(generation);
    List<String> lines = new ArrayList<>();
    String hash = text(active, "hash");
    lines.add(
        "%s, in force since %s, %s"
            .formatted(
                hash.length() < HASH_DIGITS // the hash is "none"
                    ? "sample limits"
                    : "limits " + hash.substring(0, HASH_DIGITS),
                text(active, "since").replaceFirst("\\.\\d+Z$", "Z"),
                mistakes.isEmpty() ? "no mistakes" : "newer files have mistakes:"));
    mistakes.forEach(one -> lines.add("  " + one));
    if (Boolean.TRUE.equals(active.get("putBack"))) {
      lines.add("a rollback is in force until changed files are applied or the server restarts");
    }
    return lines;
  }

  /** The option for the time in which decisions are counted. */
  private static final class SinceOption {

    private static final Duration LEAST = Duration.ofMinutes(5);
    private static final Duration MOST = Duration.ofHours(24);

    @Option(
        names = "--since",
        paramLabel = "TIME",
        description =
            "The length of time over which decisions are counted, 5m to 24h; up to five minutes more"
                + " are counted. If not given, the last minute.")
    private @Nullable String since;

    boolean isGiven() {
      return since != null;
    }

    String totals() {
      Duration time = time();
      return time == null ? TOTALS : TOTALS + "&since=" + Quantities.brief(time);
    }

    String heading() {
      Duration time = time();
      return time == null ? "LAST MINUTE" : "LAST " + Quantities.brief(time);
    }

    private @Nullable Duration time() {
      if (since == null) {
        return null;
      }
      Duration time = Quantities.positive("--since", since);
      if (time.compareTo(LEAST) < 0 || time.compareTo(MOST) > 0) {
        throw new InputException("--since: found %s, expected 5m to 24h".formatted(since));
      }
      return time;
    }
  }

  private static List<List<String>> decisions(Map<String, Object> stats, String heading, int most) {
    record Minute(String limit, long allowed, long denied, long shadow) {
      private String share() {
        return allowed + denied == 0
            ? "-"
            : String.format(Locale.ROOT, "%.1f %%", 100.0 * denied / (allowed + denied));
      }
    }
    List<Minute> all = new ArrayList<>();
    for (Map<String, Object> one : objects(object(stats, "rates"), "totals")) {
      all.add(
          new Minute(
              text(one, "limit"),
              number(one.get("allowed")),
              number(one.get("denied")),
              number(one.get("shadowDenied"))));
    }
    all.sort(
        Comparator.comparingLong(Minute::denied)
            .thenComparing(Minute::allowed)
            .reversed()
            .thenComparing(Minute::limit));
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of(heading, "ALLOWED", "DENIED", "SHARE DENIED", "SHADOW DENIED"));
    all.stream()
        .limit(most)
        .forEach(
            one ->
                rows.add(
                    List.of(
                        one.limit(),
                        count(one.allowed()),
                        count(one.denied()),
                        one.share(),
                        count(one.shadow()))));
    return rows;
  }

  /**
   * Returns the lines of a table. The first {@code left} columns are aligned left, the other
   * columns right.
   */
  private static List<String> table(List<List<String>> rows, int left) {
    int columns = rows.get(0).size();
    List<String> lines = new ArrayList<>();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < columns; i++) {
        int column = i;
        int width = rows.stream().mapToInt(one -> one.get(column).length()).max().orElse(1);
        line.append(("%" + (i < left ? "-" : "") + width + "s  ").formatted(row.get(i)));
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }

  private static String count(long n) {
    return String.format(Locale.ROOT, "%,d", n);
  }

  private static long number(@Nullable Object value) {
    return value instanceof Number one ? one.longValue() : 0;
  }

  private static Map<String, Object> object(Map<String, Object> of, String field) {
    return ServerClient.asObject(of.get(field));
  }
}
