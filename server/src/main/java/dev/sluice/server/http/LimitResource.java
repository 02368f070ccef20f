// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.Generations.Active;
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.Offered;
import dev.sluice.server.base.Generations.Watched;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.Plurals;
import dev.sluice.server.http.Answers.AnswerForm;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.wire.DecisionWriter;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v1/limits/{name}} returns a limit; {@code GET /v1/limits/{name}/buckets/{id}} returns
 * the state of a bucket. Reading a limit or a bucket spends no tokens.
 *
 * <p>This class itself splits the encoded path, since an id can be any percent-encoded text, even
 * with slashes and semicolons. Only the id ".." cannot be sent in a path: Armeria refuses the path
 * segment ".." in every spelling.
 */
final class LimitResource extends Resource {

  static final String UNDER = "/v1/limits/";

  private static final Pattern PATH =
      Pattern.compile(UNDER + "(?<limit>[^/?]+)(?:/buckets/(?<id>[^?]*))?\\??");

  private final CurrentLimits limits;
  private final AsyncLimiter limiter;

  LimitResource(Limiter limiter) {
    super(HttpMethod.GET);
    this.limits = limiter.limits();
    this.limiter = limiter.async();
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    AnswerForm form = AnswerForm.fixed(context);
    String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
    Matcher path = PATH.matcher(rawPath);
    if (!path.matches()) {
      return CompletableFuture.completedFuture(Answers.fault(Fault.notFound(rawPath)));
    }
    String limit = decoded(path.group("limit"), "limit");
    String id = path.group("id");
    AccessPart.caller(context).lookUp(List.of(limit), () -> limits.get().catalogue().get(limit));
    return id == null
        ? CompletableFuture.completedFuture(described(limit))
        : limiter
            .check(limit, decoded(id, "id"), 0)
            .thenApply(decision -> Answers.bucket(decision, overrideId(decision), form));
  }

  private @Nullable String overrideId(Decision decision) {
    Transaction asked = DecisionWriter.ofOne(decision).transaction();
    LimitOverride override =
        asked == null ? null : limits.get().overrideFor(asked.name(), asked.id());
    return override == null ? null : override.id();
  }

  private AggregatedHttpResponse described(String limit) {
    Limits now = limits.get();
    LimitName name = now.configured(limit);
    return Answers.json(HttpStatus.OK, json -> write(name, now, json));
  }

  /** Decodes a segment of a path. In a path, "+" does not mean a space. */
  private static String decoded(String encoded, String field) {
    return Queries.decoded(encoded.replace("+", "%2B"), field, field);
  }

  /** Answers {@code GET /v1/limits}: the limits in force, and their generation. */
  static AggregatedHttpResponse all(
      ServiceRequestContext context, Limits limits, Generations generations) {
    Queries.require(context, List.of());
    Caller caller = AccessPart.caller(context);
    return Answers.tagged(
        context.request().headers().get(HttpHeaderNames.IF_NONE_MATCH),
        json -> {
          json.putEach(
              "limits",
              limits.configured().stream().filter(name -> caller.mayUse(name.name())).toList(),
              (name, one) -> write(name, limits, one));
          GenerationJson.write(generations, caller, json);
        });
  }

  private static void write(LimitName name, Limits limits, Json json) {
    List<Quota> quotas = limits.defaultsFor(name);
    json.put("name", name.name())
        .put("number", name.number())
        .put("id", name.id().name())
        .put("limited", !quotas.isEmpty())
        .raw(
            raw -> {
              if (quotas.isEmpty()) {
                DecisionWriter.writeReason(limits.coverage(name), raw);
              } else {
                DecisionWriter.writeQuotas(quotas, raw);
              }
            })
        .put("overrides", limits.overridesOf(name).size())
        .put("helpLink", name.helpLink());
  }

  /** Writes the generations of the files as a field of a response. */
  static final class GenerationJson {

    private GenerationJson() {}

    /** Writes the generations; a caller that may use only some limits sees no text of mistakes. */
    static void write(Generations generations, Caller caller, Json json) {
      json.put(
          "generation",
          all -> {
            writeState(generations.of(Kind.LIMITS), caller, all);
            for (Kind kind : List.of(Kind.TOKENS, Kind.CERTIFICATES)) {
              if (generations.of(kind).isPresent()) {
                all.put(kind.word(), one -> writeState(generations.of(kind), caller, one));
              }
            }
            all.put(
                "runtime",
                one -> one.put("mistakes", lines("mistake", generations.mistakesBeside(), caller)));
          });
    }

    private static void writeState(Watched files, Caller caller, Json json) {
      Active active = files.state().active();
      Offered offered = files.state().offered();
      json.put(
              "active",
              one ->
                  one.put("hash", active.hash())
                      .put("since", active.since())
                      .put("putBack", files.isPutBack() ? true : null)
                      .put("changed", lines("change", active.changes(), caller)))
          .put(
              "offered",
              one ->
                  one.put("hash", offered.hash())
                      .put("since", offered.at())
                      .put("mistakes", lines("mistake", offered.mistakes(), caller))
                      .put("warnings", lines("warning", offered.warnings(), caller)));
    }

    /**
     * Returns lines about limits; for a caller that may not use all limits, one line with the
     * number of these lines.
     */
    static List<String> lines(String word, List<String> all, Caller caller) {
      return all.isEmpty() || caller.mayUseAll()
          ? all
          : List.of(
              "%s; a token for all limits, or the server's log, shows %s"
                  .formatted(Plurals.of(all.size(), word), all.size() == 1 ? "it" : "them"));
    }
  }
}
