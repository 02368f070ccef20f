// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.LimitOverride;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.NotReadyException;
import dev.sluice.server.http.HttpPart.BuildInfo;
import dev.sluice.server.http.HttpPart.ServerState;
import dev.sluice.server.http.HttpPart.ServerState.OpenDoor;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.server.stats.RateHistory.Day;
import dev.sluice.server.stats.RateHistory.Rates;
import dev.sluice.server.stats.RateHistory.SpendOutcome;
import dev.sluice.server.stats.TopDenied;
import dev.sluice.server.stats.TopDenied.Denied;
import dev.sluice.store.StoreException;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireException;
import io.micrometer.core.instrument.Gauge;
import java.io.IOException;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v1/stats}: the decisions of the last minute, and the state of the store, of its
 * circuit breakers and of the doors. The query {@code series=A,B} selects the limits that get a
 * number for each second. With {@code since=1h}, the totals cover a longer time. The response
 * contains no ids.
 */
final class StatsResource extends Resource {

  private static final String SERIES = "series";
  private static final String SINCE = "since";

  private final ServerState state;
  private final boolean keepsDenied;
  private final long startNanos = System.nanoTime();

  StatsResource(ServerState state, boolean keepsDenied) {
    super(HttpMethod.GET);
    this.state = state;
    this.keepsDenied = keepsDenied;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of(SERIES, SINCE));
    // A ping of the store must not block an event loop.
    Caller caller = AccessPart.caller(context);
    String series = context.queryParams().get(SERIES);
    Set<String> only = series == null ? null : new HashSet<>(List.of(series.split(",", -1)));
    int steps = steps(context.queryParams().get(SINCE));
    return CompletableFuture.supplyAsync(
        () -> stats(caller, only, steps), context.blockingTaskExecutor());
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

  private AggregatedHttpResponse stats(Caller caller, @Nullable Set<String> only, int steps) {
    String problem = problem();
    return Answers.json(
        HttpStatus.OK,
        json -> {
          json.writeStartObject();
          json.writeStringField("version", BuildInfo.version());
          json.writeStringField("host", state.host());
          DecisionWriter.writeSeconds("uptimeSeconds", System.nanoTime() - startNanos, json);
          json.writeBooleanField("ending", state.traffic().isEnding());
          json.writeNumberField("connections", state.traffic().connections());
          writeDoors(json);
          writeStore(caller, problem, json);
          writeBreakers(json);
          writeDegraded(caller, json);
          writeEnds(caller, json);
          writeRates(caller, only, steps, json);
          json.writeBooleanField("topDenied", keepsDenied);
          json.writeEndObject();
        });
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

  private void writeDoors(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("doors");
    for (OpenDoor door : state.doors().get()) {
      json.writeStartObject();
      json.writeStringField("protocol", door.protocol());
      json.writeStringField("address", door.address());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private void writeStore(Caller caller, @Nullable String problem, JsonGenerator json)
      throws IOException {
    json.writeObjectFieldStart("store");
    json.writeStringField("name", state.storeName());
    json.writeBooleanField("ready", problem == null);
    if (problem != null) {
      json.writeStringField("problem", problem);
    }
    OptionalLong live = state.store().liveBuckets();
    if (live.isPresent()) {
      json.writeNumberField("liveBuckets", live.getAsLong());
    }
    OptionalLong most = state.store().maxLiveBuckets();
    if (most.isPresent()) {
      json.writeNumberField("maxLiveBuckets", most.getAsLong());
    }
    List<String> servers = state.servers().get();
    if (!servers.isEmpty()) {
      json.writeNumberField("serverCount", servers.size());
    }
    if (!servers.isEmpty() && caller.mayUseAll()) {
      json.writeArrayFieldStart("servers");
      for (String server : servers) {
        json.writeString(server);
      }
      json.writeEndArray();
    }
    json.writeEndObject();
  }

  /**
   * Writes the state of each of the store's servers: a server is up if its circuit breaker is
   * closed.
   */
  private void writeBreakers(JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("breakers");
    for (Gauge up : state.meters().find("ratelimits.redis.up").gauges()) {
      json.writeStartObject();
      json.writeStringField("server", Objects.requireNonNullElse(up.getId().getTag("server"), ""));
      json.writeBooleanField("up", up.value() > 0);
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /** Writes the limits that are decided by their failure rule at the moment. */
  private void writeDegraded(Caller caller, JsonGenerator json) throws IOException {
    json.writeArrayFieldStart("degraded");
    for (Map.Entry<String, Instant> one : state.history().degraded().entrySet()) {
      if (caller.mayUse(one.getKey())) {
        json.writeStartObject();
        json.writeStringField("limit", one.getKey());
        json.writeStringField("rule", state.failureRule().apply(one.getKey()));
        json.writeStringField("since", one.getValue().toString());
        json.writeEndObject();
      }
    }
    json.writeEndArray();
  }

  /** Writes the end of the certificate, and the number of overrides that end soon. */
  private void writeEnds(Caller caller, JsonGenerator json) throws IOException {
    Instant certificate = state.certificateEnd().get();
    if (certificate != null) {
      json.writeStringField("certificateEnd", certificate.toString());
    }
    List<LimitOverride> ending =
        state.runtime().ending().stream().filter(one -> caller.mayUse(one.name().name())).toList();
    if (!ending.isEmpty()) {
      json.writeObjectFieldStart("endingOverrides");
      json.writeNumberField("count", ending.size());
      json.writeStringField("first", String.valueOf(ending.get(0).until()));
      json.writeEndObject();
    }
  }

  private void writeRates(Caller caller, @Nullable Set<String> only, int steps, JsonGenerator json)
      throws IOException {
    json.writeObjectFieldStart("rates");
    json.writeNumberField("seconds", RateHistory.SECONDS);
    json.writeArrayFieldStart("limits");
    RateHistory history = state.history();
    Predicate<String> asked = limit -> only == null || only.contains(limit);
    for (Rates one : history.rates(asked.and(caller::mayUse))) {
      json.writeStartObject();
      json.writeStringField("limit", one.limit());
      writeCounts(one.counts(), json);
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("totals");
    for (Map.Entry<String, Map<SpendOutcome, Long>> one :
        (steps == 0 ? history.totals(caller::mayUse) : history.totals(caller::mayUse, steps))
            .entrySet()) {
      json.writeStartObject();
      json.writeStringField("limit", one.getKey());
      for (Map.Entry<SpendOutcome, Long> total : one.getValue().entrySet()) {
        json.writeNumberField(field(total.getKey()), total.getValue());
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void writeCounts(Map<SpendOutcome, List<Integer>> all, JsonGenerator json)
      throws IOException {
    for (Map.Entry<SpendOutcome, List<Integer>> counts : all.entrySet()) {
      json.writeArrayFieldStart(field(counts.getKey()));
      for (int count : counts.getValue()) {
        json.writeNumber(count);
      }
      json.writeEndArray();
    }
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

  /** {@code GET /v1/rates?limit=NAME}: the decisions of the last day of one limit. */
  static final class RatesResource extends Resource {

    private static final String LIMIT = "limit";

    private final ServerState state;

    RatesResource(ServerState state) {
      super(HttpMethod.GET);
      this.state = state;
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request) {
      Queries.require(context, List.of(LIMIT));
      String limit = context.queryParams().get(LIMIT);
      if (limit == null) {
        throw new WireException(LIMIT, "the query parameter limit is missing");
      }
      AccessPart.caller(context)
          .lookUp(List.of(limit), () -> state.runtime().limits().get().catalogue().get(limit));
      Day day = state.history().day(limit);
      return CompletableFuture.completedFuture(
          Answers.json(
              HttpStatus.OK,
              json -> {
                json.writeStartObject();
                json.writeStringField(LIMIT, limit);
                json.writeNumberField("stepSeconds", RateHistory.DAY_STEP_SECONDS);
                json.writeNumberField("steps", RateHistory.DAY_STEPS);
                json.writeNumberField("lastSeconds", day.lastSeconds());
                writeCounts(day.counts(), json);
                json.writeEndObject();
              }));
    }
  }

  /**
   * {@code GET /v1/admin/top-denied}: the ids that each limit denied most in the last minutes, if
   * the server records denied ids.
   */
  static final class TopDeniedResource extends Resource {

    private final @Nullable TopDenied topDenied;

    TopDeniedResource(@Nullable TopDenied topDenied) {
      super(HttpMethod.GET);
      this.topDenied = topDenied;
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request) {
      Queries.require(context, List.of());
      Caller caller = AccessPart.caller(context);
      Map<String, List<Denied>> top = topDenied == null ? Map.of() : topDenied.top();
      return CompletableFuture.completedFuture(
          Answers.json(
              HttpStatus.OK,
              json -> {
                json.writeStartObject();
                json.writeBooleanField("kept", topDenied != null);
                DecisionWriter.writeSeconds("windowSeconds", TopDenied.WINDOW.toNanos(), json);
                json.writeArrayFieldStart("limits");
                for (Map.Entry<String, List<Denied>> limit : top.entrySet()) {
                  if (caller.mayUse(limit.getKey())) {
                    write(limit.getKey(), limit.getValue(), json);
                  }
                }
                json.writeEndArray();
                json.writeEndObject();
              }));
    }

    private static void write(String limit, List<Denied> ids, JsonGenerator json)
        throws IOException {
      json.writeStartObject();
      json.writeStringField("limit", limit);
      json.writeArrayFieldStart("ids");
      for (Denied one : ids) {
        json.writeStartObject();
        json.writeStringField("id", one.id());
        json.writeNumberField("atLeast", one.atLeast());
        json.writeNumberField("atMost", one.atMost());
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeEndObject();
    }
  }
}
