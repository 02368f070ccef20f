// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonGenerator;
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
import dev.sluice.server.base.Generations.Kind;
import dev.sluice.server.base.Generations.Watched;
import dev.sluice.server.base.Plurals;
import dev.sluice.server.http.Answers.AnswerForm;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.wire.DecisionWriter;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /v1/limits/{name}} returns a limit; {@code GET /v1/limits/{name}/buckets/{id}} returns
 * the state of a bucket. Neither request spends tokens.
 *
 * <p>This class itself splits the encoded path, since an id can be any percent-encoded text, even
 * with slashes and semicolons. Only an id ".." is impossible here: Armeria refuses the path segment
 * ".." in every spelling.
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
    return Answers.json(HttpStatus.OK, json -> LimitsResource.write(name, now, json));
  }

  /** Decodes a segment of a path. In a path, "+" does not mean a space. */
  private static String decoded(String encoded, String field) {
    return Queries.decoded(encoded.replace("+", "%2B"), field, field);
  }

  /**
   * {@code GET /v1/limits}: the configured limits with their defaults, and the generation of the
   * limit files.
   */
  static final class LimitsResource extends Resource {

    private final CurrentLimits current;
    private final Generations generations;

    LimitsResource(CurrentLimits current, Generations generations) {
      super(HttpMethod.GET);
      this.current = current;
      this.generations = generations;
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request) {
      Queries.require(context, List.of());
      Limits limits = current.get();
      Caller caller = AccessPart.caller(context);
      return CompletableFuture.completedFuture(
          Answers.tagged(
              request.headers().get(HttpHeaderNames.IF_NONE_MATCH),
              json -> {
                json.writeStartObject();
                json.writeArrayFieldStart("limits");
                for (LimitName name : limits.configured()) {
                  if (caller.mayUse(name.name())) {
                    write(name, limits, json);
                  }
                }
                json.writeEndArray();
                GenerationJson.write(generations, caller, json);
                json.writeEndObject();
              }));
    }

    static void write(LimitName name, Limits limits, JsonGenerator json) throws IOException {
      List<Quota> quotas = limits.defaultsFor(name);
      json.writeStartObject();
      json.writeStringField("name", name.name());
      if (name.number() != null) {
        json.writeNumberField("number", name.number());
      }
      json.writeStringField("id", name.id().name());
      json.writeBooleanField("limited", !quotas.isEmpty());
      if (quotas.isEmpty()) {
        DecisionWriter.writeReason(limits.coverage(name), json);
      } else {
        DecisionWriter.writeQuotas(quotas, json);
      }
      json.writeNumberField("overrides", limits.overridesOf(name).size());
      if (name.helpLink() != null) {
        json.writeStringField("helpLink", name.helpLink());
      }
      json.writeEndObject();
    }
  }

  /** Writes the generations of the files as a field of a response. */
  static final class GenerationJson {

    private GenerationJson() {}

    /**
     * Writes the generations with times instead of ages, so that the body changes only with a
     * generation. A caller that may not use every limit gets only the number of mistakes and
     * warnings, since the texts can name other limits.
     */
    static void write(Generations generations, Caller caller, JsonGenerator json)
        throws IOException {
      json.writeObjectFieldStart("generation");
      writeState(generations.of(Kind.LIMITS), caller, json);
      for (Kind kind : List.of(Kind.TOKENS, Kind.CERTIFICATES)) {
        if (generations.of(kind).isPresent()) {
          json.writeObjectFieldStart(kind.word());
          writeState(generations.of(kind), caller, json);
          json.writeEndObject();
        }
      }
      json.writeObjectFieldStart("runtime");
      writeLines("mistakes", "mistake", generations.mistakesBeside(), caller, json);
      json.writeEndObject();
      json.writeEndObject();
    }

    private static void writeState(Watched files, Caller caller, JsonGenerator json)
        throws IOException {
      Generations.State state = files.state();
      boolean putBack = files.isPutBack();
      json.writeObjectFieldStart("active");
      json.writeStringField("hash", state.active().hash());
      json.writeStringField("since", state.active().since().toString());
      if (putBack) {
        json.writeBooleanField("putBack", true);
      }
      writeLines("changed", "change", state.active().changes(), caller, json);
      json.writeEndObject();
      json.writeObjectFieldStart("offered");
      json.writeStringField("hash", state.offered().hash());
      json.writeStringField("since", state.offered().at().toString());
      writeLines("mistakes", "mistake", state.offered().mistakes(), caller, json);
      writeLines("warnings", "warning", state.offered().warnings(), caller, json);
      json.writeEndObject();
    }

    static void writeLines(
        String field, String word, List<String> all, Caller caller, JsonGenerator json)
        throws IOException {
      List<String> shown = all;
      if (!all.isEmpty() && !caller.mayUseAll()) {
        shown =
            List.of(
                "%s; a token without limits, or the server's log, names %s"
                    .formatted(Plurals.of(all.size(), word), all.size() == 1 ? "it" : "them"));
      }
      json.writeArrayFieldStart(field);
      for (String line : shown) {
        json.writeString(line);
      }
      json.writeEndArray();
    }
  }
}
