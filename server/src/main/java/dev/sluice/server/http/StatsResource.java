// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.LimitOverride;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.http.HttpPart.BuildInfo;
import dev.sluice.server.http.HttpPart.ServerState;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.server.stats.RateHistory.Day;
import dev.sluice.server.stats.RateHistory.SpendOutcome;
import dev.sluice.server.stats.TopDenied;
import dev.sluice.server.stats.TopDenied.Denied;
import dev.sluice.store.StoreException;
import dev.sluice.wire.WireException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.search.Search;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The figures of a running server, which contain no ids except for the ids denied most. */
final class StatsResource {

  /** Matches the gauge of a circuit breaker of any kind of store, such as of Redis. */
  private static final Predicate<String> BREAKER =
      Pattern.compile("ratelimits\\.[a-z]+\\.up").asMatchPredicate();

  private static final String SERIES = "series";
  private static final String SINCE = "since";
  private static final String LIMIT = "limit";

  private final ServerState state;
  private final @Nullable TopDenied topDenied;
  private final long startNanos = System.nanoTime();

  /** Makes the server's figures; {@code topDenied} is null if denied ids are not recorded. */
  StatsResource(ServerState state, @Nullable TopDenied topDenied) {
    this.state = state;
    this.topDenied = topDenied;
  }

  /**
   * Answers {@code GET /v1/stats}: the decisions of the last minute, and the state of the store, of
   * its circuit breakers and of the ports. The query {@code series=A,B} selects the limits that get
   * a number for each second. With a query such as {@code since=1h}, the totals cover a longer time
   * than the last minute. Blocks while the store is pinged.
   */
  AggregatedHttpResponse stats(ServiceRequestContext context) {
    Queries.require(context, List.of(SERIES, SINCE));
    Caller caller = AccessPart.caller(context);
    String series = context.queryParams().get(SERIES);
    Set<String> only = series == null ? null : new HashSet<>(List.of(series.split(",", -1)));
    int steps = steps(context.queryParams().get(SINCE));
    String problem = problem();
    return Answers.json(
        HttpStatus.OK,
        json -> {
          json.put("version", BuildInfo.version())
              .put("host", state.host())
              .putSeconds("uptimeSeconds", System.nanoTime() - startNanos)
              .put("ending", state.traffic().isEnding())
              .put("connections", state.traffic().connections())
              .putEach(
                  "doors",
                  state.doors().get(),
                  (door, one) ->
                      one.put("protocol", door.protocol()).put("address", door.address()))
              .put("store", store -> writeStore(caller, problem, store))
              // A server is up if its circuit breaker is closed.
              .putEach(
                  "breakers",
                  breakers(state.meters()),
                  (up, one) ->
                      one.put("server", Objects.requireNonNullElse(up.getId().getTag("server"), ""))
                          .put("up", up.value() > 0));
          writeDegraded(caller, json);
          writeEnds(caller, json);
          json.put("rates", rates -> writeRates(caller, only, steps, rates))
              .put("topDenied", topDenied != null);
        });
  }

  /** Returns how many steps of the history {@code since} covers; 0 for the last minute. */
  static int steps(@Nullable String since) {
    if (since == null) {
      return 0;
    }
    long seconds;
    try {
      seconds = GoDuration.parse(since).toSeconds();
    } catch (IllegalArgumentException e) {
      seconds = 0;
    }
    if (seconds < RateHistory.DAY_STEP_SECONDS
        || seconds > (RateHistory.DAY_STEPS - 1L) * RateHistory.DAY_STEP_SECONDS) {
      throw new WireException(
          SINCE, "found %s, expected 5m to 24h, such as 1h".formatted(SafeText.quote(since)));
    }
    // The newest step is incomplete, so one more step is needed to cover the whole time.
    return (int) ((seconds - 1) / RateHistory.DAY_STEP_SECONDS + 2);
  }

  /** Returns the gauge of each circuit breaker, whatever the kind of the store. */
  static Collection<Gauge> breakers(MeterRegistry meters) {
    return Search.in(meters).name(BREAKER).gauges();
  }

  /** Returns why the server cannot decide now. Only the log contains the store's error message. */
  private @Nullable String problem() {
    try {
      state.ready().run();
      return null;
    } catch (StoreException e) {
      return "the store does not answer";
    } catch (NotReadyException e) {
      return Objects.requireNonNullElse(e.getMessage(), "not ready");
    }
  }

  private void writeStore(Caller caller, @Nullable String problem, Json json) {
    List<String> servers = state.servers().get();
    OptionalLong live = state.store().liveBuckets();
    OptionalLong most = state.store().maxLiveBuckets();
    json.put("name", state.storeName())
        .put("ready", problem == null)
        .put("problem", problem)
        .put("liveBuckets", live.isPresent() ? live.getAsLong() : null)
        .put("maxLiveBuckets", most.isPresent() ? most.getAsLong() : null)
        .put("serverCount", servers.isEmpty() ? null : servers.size())
        .put("servers", servers.isEmpty() || !caller.mayUseAll() ? null : servers);
  }

  /** Writes the limits that are decided by their failure rule at the moment. */
  private void writeDegraded(Caller caller, Json json) {
    json.putEach(
        "degraded",
        state.history().degraded().entrySet().stream()
            .filter(one -> caller.mayUse(one.getKey()))
            .toList(),
        (limit, one) ->
            one.put("limit", limit.getKey())
                .put("rule", state.failureRule().apply(limit.getKey()))
                .put("since", limit.getValue()));
  }

  /** Writes when the certificate expires, and how many overrides end soon. */
  private void writeEnds(Caller caller, Json json) {
    json.put("certificateEnd", state.certificateEnd().get());
    List<LimitOverride> ending =
        state.runtime().ending().stream().filter(one -> caller.mayUse(one.name().name())).toList();
    if (!ending.isEmpty()) {
      json.put(
          "endingOverrides",
          one -> one.put("count", ending.size()).put("first", ending.get(0).until()));
    }
  }

  private void writeRates(Caller caller, @Nullable Set<String> only, int steps, Json json) {
    RateHistory history = state.history();
    Predicate<String> asked = limit -> only == null || only.contains(limit);
    json.put("seconds", RateHistory.SECONDS)
        .putEach(
            "limits",
            history.rates(asked.and(caller::mayUse)),
            (rates, one) -> write(rates.counts(), one.put("limit", rates.limit())))
        .putEach(
            "totals",
            (steps == 0 ? history.totals(caller::mayUse) : history.totals(caller::mayUse, steps))
                .entrySet(),
            (totals, one) -> write(totals.getValue(), one.put("limit", totals.getKey())));
  }

  private static void write(Map<SpendOutcome, ?> counts, Json json) {
    counts.forEach((outcome, count) -> json.put(field(outcome), count));
  }

  /** Returns the JSON field of an outcome, such as {@code shadowDenied} for SHADOW_DENIED. */
  private static String field(SpendOutcome outcome) {
    String name = outcome.name().toLowerCase(Locale.ROOT);
    int gap = name.indexOf('_');
    return gap < 0
        ? name
        : name.substring(0, gap)
            + Character.toUpperCase(name.charAt(gap + 1))
            + name.substring(gap + 2);
  }

  /** Answers {@code GET /v1/rates?limit=NAME}: the decisions of the last day of one limit. */
  AggregatedHttpResponse rates(ServiceRequestContext context) {
    Queries.require(context, List.of(LIMIT));
    String limit = context.queryParams().get(LIMIT);
    if (limit == null) {
      throw new WireException(LIMIT, "the query parameter limit is missing");
    }
    AccessPart.caller(context)
        .lookUp(List.of(limit), () -> state.runtime().limits().get().catalogue().get(limit));
    Day day = state.history().day(limit);
    return Answers.json(
        HttpStatus.OK,
        json ->
            write(
                day.counts(),
                json.put(LIMIT, limit)
                    .put("stepSeconds", RateHistory.DAY_STEP_SECONDS)
                    .put("steps", RateHistory.DAY_STEPS)
                    .put("lastSeconds", day.lastSeconds())));
  }

  /** Answers {@code GET /v1/admin/top-denied}: the ids that each limit denied most. */
  AggregatedHttpResponse topDenied(ServiceRequestContext context) {
    Queries.require(context, List.of());
    Caller caller = AccessPart.caller(context);
    Map<String, List<Denied>> top = topDenied == null ? Map.of() : topDenied.top();
    return Answers.json(
        HttpStatus.OK,
        json ->
            json.put("kept", topDenied != null)
                .putSeconds("windowSeconds", TopDenied.WINDOW.toNanos())
                .putEach(
                    "limits",
                    top.entrySet().stream().filter(one -> caller.mayUse(one.getKey())).toList(),
                    (limit, one) ->
                        one.put("limit", limit.getKey())
                            .putEach(
                                "ids",
                                limit.getValue(),
                                (denied, id) ->
                                    id.put("id", denied.id())
                                        .put("atLeast", denied.atLeast())
                                        .put("atMost", denied.atMost()))));
  }
}
