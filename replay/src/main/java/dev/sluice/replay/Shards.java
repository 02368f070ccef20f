// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.sluice.replay.ReplayResult.Bin;
import dev.sluice.replay.ReplayResult.Change;
import dev.sluice.replay.ReplayResult.Client;
import dev.sluice.replay.ReplayResult.Lacking;
import dev.sluice.replay.ReplayResult.Lines;
import dev.sluice.replay.ReplayResult.Log;
import dev.sluice.replay.ReplayResult.Row;
import dev.sluice.replay.ReplayResult.Series;
import dev.sluice.replay.ReplayResult.Shard;
import dev.sluice.replay.ReplayResult.Totals;
import dev.sluice.replay.ReplayResult.Uncharged;
import dev.sluice.replay.ReplayResult.WorstMinute;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Joins the results of all shards of the same logs. No client belongs to two shards, so every
 * number is the sum over all shards. The joined result equals the result of one replay of all
 * requests. Not thread-safe.
 */
public final class Shards {

  private static final int DEEPEST = 16;

  private final Map<Integer, String> files = new TreeMap<>(); // the file by the number of its shard
  private final List<ReplayResult> results = new ArrayList<>();

  public Shards() {}

  /**
   * Adds the result of a shard.
   *
   * @param json the output of {@link ReplayJson}
   * @throws LogException if the text is not the result of a shard, or does not fit the other
   *     results
   */
  public void add(String file, String json) {
    ReplayResult result;
    try (JsonParser parser = new JsonFactory().createParser(json)) {
      JsonToken unused = parser.nextToken();
      result = result(new Node("", value(parser, 0)));
    } catch (IOException | IllegalArgumentException | DateTimeException e) {
      throw new LogException(
          "%s: this is not the output of sluice replay --shard --json: %s"
              .formatted(file, String.valueOf(e.getMessage()).lines().findFirst().orElse("")));
    }
    Shard shard = Objects.requireNonNull(result.shard());
    if (!results.isEmpty()) {
      ReplayResult first = results.get(0);
      String of = files.values().iterator().next();
      if (Objects.requireNonNull(first.shard()).of() != shard.of()) {
        throw new LogException(
            "%s: found one of %s shards, but %s is one of %s shards"
                .formatted(file, shard.of(), of, Objects.requireNonNull(first.shard()).of()));
      }
      if (!sameLog(first.log(), result.log())
          || (first.change() == null) != (result.change() == null)) {
        throw new LogException(
            "%s: found a result with other logs or other options than %s".formatted(file, of));
      }
    }
    String twin = files.put(shard.number(), file);
    if (twin != null) {
      throw new LogException(
          "%s: found the shard %s of %s again, which is also in %s"
              .formatted(file, shard.number(), shard.of(), twin));
    }
    results.add(result);
  }

  private static boolean sameLog(Log one, Log two) {
    return withoutPlace(one.found()).equals(withoutPlace(two.found()))
        && one.skipped() == two.skipped()
        && one.format().equals(two.format())
        && one.zone().equals(two.zone());
  }

  /** Returns the counts without the path of a line, since each machine can have its own path. */
  private static Lines withoutPlace(Lines found) {
    return new Lines(found.lines(), found.unread(), null, found.late(), found.mostLateNanos());
  }

  /**
   * Joins the results.
   *
   * @throws LogException if a shard is missing
   */
  public ReplayResult joined() {
    int of = results.isEmpty() ? 1 : Objects.requireNonNull(results.get(0).shard()).of();
    for (int number = 1; number <= of; number++) {
      if (!files.containsKey(number)) {
        throw new LogException("the shard %s of %s is missing".formatted(number, of));
      }
    }
    List<WorstMinute> minutes = minutes();
    TimeLine time = new TimeLine(new ClientCounts(0), false);
    results.forEach(result -> time.join(result.series()));
    return new ReplayResult(
        log(),
        totals(ReplayResult::totals),
        rows(ReplayResult::rows),
        new Uncharged(
            sum(result -> result.uncharged().noRule()),
            sum(result -> result.uncharged().free()),
            sum(result -> result.uncharged().unusable()),
            sum(result -> result.uncharged().tooCostly()),
            sum(result -> result.uncharged().lackingCost()),
            results.get(0).uncharged().lacking()),
        ClientCounts.most(
            results.stream().flatMap(result -> result.mostDenied().stream()).toList()),
        TimeLine.worst(minutes),
        results.get(0).change() == null ? null : change(),
        time.series(),
        null);
  }

  private long sum(Function<ReplayResult, Long> of) {
    return results.stream().mapToLong(of::apply).sum();
  }

  private Log log() {
    Log log = results.get(0).log();
    List<Log> used =
        results.stream()
            .filter(result -> result.totals().requests() > 0)
            .map(ReplayResult::log)
            .toList();
    return new Log(
        log.found(),
        log.skipped(),
        used.stream().mapToLong(Log::firstNanos).min().orElse(0),
        used.stream().mapToLong(Log::lastNanos).max().orElse(0),
        log.format(),
        log.zone());
  }

  private Totals totals(Function<ReplayResult, Totals> of) {
    return new Totals(
        sum(result -> of.apply(result).requests()),
        sum(result -> of.apply(result).denied()),
        sum(result -> of.apply(result).clients()),
        sum(result -> of.apply(result).deniedClients()),
        results.stream().allMatch(result -> of.apply(result).exact()));
  }

  private Change change() {
    return new Change(
        totals(result -> change(result).totals()),
        sum(result -> change(result).newlyDenied()),
        sum(result -> change(result).newlyAllowed()),
        sum(result -> change(result).newlyDeniedClients()),
        sum(result -> change(result).newlyAllowedClients()),
        rows(result -> change(result).rows()));
  }

  private static Change change(ReplayResult result) {
    return Objects.requireNonNull(result.change());
  }

  private List<Row> rows(Function<ReplayResult, List<Row>> of) {
    Map<List<Object>, Row> rows = new LinkedHashMap<>();
    for (ReplayResult result : results) {
      for (Row row : of.apply(result)) {
        rows.merge(
            List.of(row.rule(), row.limit(), row.shadow()),
            row,
            (one, two) ->
                new Row(
                    one.rule(),
                    one.paths(),
                    one.limit(),
                    one.shadow(),
                    one.requests() + two.requests(),
                    one.denied() + two.denied(),
                    one.clients() + two.clients(),
                    one.deniedClients() + two.deniedClients(),
                    Math.max(one.longestWaitNanos(), two.longestWaitNanos())));
      }
    }
    return rows.values().stream().sorted(Comparator.comparingInt(Row::line)).toList();
  }

  private List<WorstMinute> minutes() {
    TreeMap<Long, WorstMinute> minutes = new TreeMap<>();
    for (ReplayResult result : results) {
      for (WorstMinute minute : Objects.requireNonNull(result.shard()).minutes()) {
        minutes.merge(
            minute.atNanos(),
            minute,
            (one, two) -> {
              WorstMinute most = Stream.of(one, two).min(WorstMinute.BY_CLIENT).orElseThrow();
              return new WorstMinute(
                  one.atNanos(), one.denied() + two.denied(), most.client(), most.ofClient());
            });
      }
    }
    return List.copyOf(minutes.values());
  }

  private static ReplayResult result(Node json) {
    Node log = json.get("log");
    Node uncharged = json.get("uncharged");
    Node series = json.get("series");
    Node worst = json.find("worstMinute");
    Node against = json.find("against");
    Node unread = log.find("firstNotUnderstood");
    long binNanos = series.number("binNanos");
    if (!TimeLine.isLength(binNanos)) {
      throw new IllegalArgumentException("series.binNanos is not 2^N minutes");
    }
    return new ReplayResult(
        new Log(
            new Lines(
                log.number("lines"),
                log.number("notUnderstood"),
                unread == null ? null : log.text("firstNotUnderstood"),
                log.number("late"),
                log.number("mostOutOfOrderNanos")),
            log.number("skipped"),
            log.number("firstNanos"),
            log.number("lastNanos"),
            log.text("format"),
            ZoneId.of(log.text("zone"))),
        totals(json.get("totals")),
        json.list("rules", Shards::row),
        new Uncharged(
            uncharged.number("noRule"),
            uncharged.number("free"),
            uncharged.number("unusable"),
            uncharged.number("tooCostly"),
            uncharged.number("lackingCost"),
            uncharged.list("lacking", one -> new Lacking(one.text("rule"), one.text("word")))),
        json.list(
            "mostDenied",
            one ->
                new Client(
                    one.text("client"),
                    one.number("requests"),
                    one.number("denied"),
                    one.number("deniedButServed"))),
        worst == null ? null : minute(worst),
        against == null
            ? null
            : new Change(
                totals(against.get("totals")),
                against.number("newlyDeniedRequests"),
                against.number("newlyAllowedRequests"),
                against.number("newlyDeniedClients"),
                against.number("newlyAllowedClients"),
                against.list("rules", Shards::row)),
        new Series(
            binNanos,
            series.list(
                "bins",
                one ->
                    new Bin(
                        one.number("atNanos"),
                        one.number("requests"),
                        one.number("denied"),
                        one.number(against == null ? "denied" : "againstDenied")))),
        shard(json.get("shard")));
  }

  private static Totals totals(Node json) {
    return new Totals(
        json.number("requests"),
        json.number("denied"),
        json.number("clients"),
        json.number("deniedClients"),
        json.is("exact"));
  }

  private static Row row(Node json) {
    Row row =
        new Row(
            json.text("rule"),
            json.text("paths"),
            json.text("limit"),
            json.is("shadow"),
            json.number("requests"),
            json.number("denied"),
            json.number("clients"),
            json.number("deniedClients"),
            json.number("longestWaitNanos"));
    int unused = row.line(); // throws if the rule has no line
    return row;
  }

  private static Shard shard(Node json) {
    long number = json.number("number");
    long of = json.number("of");
    if (number < 1 || number > of || of > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("there is no shard %s of %s".formatted(number, of));
    }
    return new Shard((int) number, (int) of, json.list("minutes", Shards::minute));
  }

  private static WorstMinute minute(Node json) {
    return new WorstMinute(
        json.number("atNanos"),
        json.number("denied"),
        json.text("client"),
        json.number("deniedOfClient"));
  }

  /**
   * Returns the value at the parser's position: a map, a list, a text, a whole number or a boolean.
   */
  private static @Nullable Object value(JsonParser parser, int depth) throws IOException {
    if (depth > DEEPEST) {
      throw new IllegalArgumentException("the values are nested too deeply");
    }
    JsonToken token = parser.currentToken();
    if (token == JsonToken.START_OBJECT) {
      Map<String, Object> map = new LinkedHashMap<>();
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        JsonToken unused = parser.nextToken();
        Object value = value(parser, depth + 1);
        if (value != null) {
          map.put(name, value);
        }
      }
      return map;
    }
    if (token == JsonToken.START_ARRAY) {
      List<Object> list = new ArrayList<>();
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        list.add(Objects.requireNonNullElse(value(parser, depth + 1), ""));
      }
      return list;
    }
    if (token == JsonToken.VALUE_NUMBER_INT) {
      return parser.getLongValue();
    }
    if (token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE) {
      return token == JsonToken.VALUE_TRUE;
    }
    return token == JsonToken.VALUE_STRING ? parser.getText() : null;
  }

  /** A JSON value, with its path for messages. */
  private record Node(String place, @Nullable Object value) {

    private <T> T as(Class<T> type) {
      if (!type.isInstance(value)) {
        throw new IllegalArgumentException(
            place.isEmpty() ? "expected a JSON object" : place + " is missing or of another type");
      }
      return type.cast(value);
    }

    Node get(String name) {
      return new Node(place.isEmpty() ? name : place + "." + name, as(Map.class).get(name));
    }

    @Nullable Node find(String name) {
      return as(Map.class).containsKey(name) ? get(name) : null;
    }

    long number(String name) {
      return get(name).as(Long.class);
    }

    String text(String name) {
      return get(name).as(String.class);
    }

    boolean is(String name) {
      return get(name).as(Boolean.class);
    }

    <T> List<T> list(String name, Function<Node, T> reader) {
      Node list = get(name);
      List<T> read = new ArrayList<>();
      for (Object one : list.as(List.class)) {
        read.add(reader.apply(new Node(list.place, one)));
      }
      return read;
    }
  }
}
