// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Caller;
import dev.sluice.server.access.Permission;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Json;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.http.HttpFailures.Bodies;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.Denials.Denial;
import dev.sluice.web.PlainRequest;
import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import dev.sluice.wire.DecisionWriter;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.internal.LimitPlaces;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** {@code POST /v1/explain}: why an id is denied, or which rule matches. Charges nothing. */
final class ExplainResource extends JsonResource {

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final RuntimeLimits runtime;
  private final Denials denials;

  ExplainResource(Limiter limiter, RuntimeLimits runtime, Denials denials) {
    this.limiter = limiter;
    this.async = limiter.async();
    this.runtime = runtime;
    this.denials = denials;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(ServiceRequestContext context, byte[] json) {
    Queries.require(context, List.of());
    Question question = Question.read(json);
    Caller caller = AccessPart.caller(context);
    RuleReadings readings = question.method == null ? null : readings(question, caller);
    String limit = question.limit;
    String id = question.id;
    if (limit == null || id == null) {
      return CompletableFuture.completedFuture(answer(null, readings));
    }
    Transaction transaction =
        caller.lookUp(List.of(limit), () -> limiter.transaction(limit, id).withCost(0));
    return async
        .check(transaction)
        .thenCombine(
            async.check(transaction.withCost(1)),
            (state, one) -> answer(explained(state, one, transaction, caller), readings));
  }

  private AggregatedHttpResponse answer(
      @Nullable ExplainedBucket bucket, @Nullable RuleReadings readings) {
    List<String> lines = new ArrayList<>(bucket == null ? List.of() : lines(bucket));
    if (readings != null) {
      lines.addAll(readings.lines());
    }
    return Answers.json(
        HttpStatus.OK,
        json -> {
          if (bucket != null) {
            write(bucket, json);
          }
          if (readings != null) {
            readings.write(json);
          }
          json.put("lines", lines);
        });
  }

  /** The state of a bucket, and the decision about a next request with cost 1. */
  private record ExplainedBucket(
      Decision state,
      Decision next,
      Transaction transaction,
      boolean showsDenials,
      @Nullable Penalty penalty,
      String limitedBy,
      @Nullable String place) {

    String limit() {
      return transaction.name().name();
    }

    private String shown(Quota quota) {
      if (!state.decidedBy().knowsBucket() || !next.decidedBy().knowsBucket()) {
        return "the tokens left are unknown";
      }
      return "%s of %s tokens left, %s"
          .formatted(
              state.remaining(),
              quota.burst(),
              next.allowed()
                  ? "a request passes now"
                  : "a request passes in " + time(next.retryInNanos()));
    }
  }

  private ExplainedBucket explained(
      Decision state, Decision next, Transaction transaction, Caller caller) {
    Limits limits = limiter.limits().get();
    LimitOverride override = limits.overrideFor(transaction.name(), transaction.id());
    boolean isKept = override != null && runtime.isKept(override);
    Penalty penalty = limits.penaltyFor(transaction.name(), transaction.id());
    String usual = transaction.quota() == null ? "nothing" : "default";
    String set = isKept ? "override set at run time" : "override deployed with the limits";
    return new ExplainedBucket(
        DecisionWriter.ofOne(state),
        DecisionWriter.ofOne(next),
        transaction,
        caller.may(Permission.ADMIN),
        penalty != null && PenaltyResource.isInForce(penalty) ? penalty : null,
        override == null ? usual : set,
        override == null
            ? LimitPlaces.of(limits, transaction.name().name())
            : isKept ? null : LimitPlaces.of(limits, override));
  }

  private void write(ExplainedBucket bucket, Json json) {
    json.put(
            "bucket", state -> state.raw(raw -> DecisionWriter.writeInto(bucket.state, false, raw)))
        .put("limitedBy", bucket.limitedBy)
        .put("place", bucket.place);
    Penalty penalty = bucket.penalty;
    if (penalty != null) {
      json.put(
          "penalty", one -> one.put("until", penalty.until()).put("comment", penalty.comment()));
    }
    json.put("keepsDenials", denials.keepsLast());
    if (bucket.showsDenials) {
      json.putEach(
              "denials",
              denials.last(bucket.limit(), bucket.transaction.id()),
              (denial, one) -> denial.write(denial.id(), one))
          .put("idInDenialLog", denials.idInLog(bucket.transaction.id()));
    }
  }

  private List<String> lines(ExplainedBucket bucket) {
    List<String> lines = new ArrayList<>();
    String id = SafeText.printable(bucket.transaction.id());
    Transaction strictest = bucket.state.quotas().isEmpty() ? null : bucket.state.transaction();
    Quota quota = (strictest == null ? bucket.transaction : strictest).quota();
    String place = bucket.place == null ? "" : " (" + SafeText.printable(bucket.place) + ")";
    if (quota == null) {
      lines.add("%s does not limit %s%s".formatted(bucket.limit(), id, place));
    } else {
      lines.add("%s of %s: %s".formatted(bucket.limit(), id, bucket.shown(quota)));
      lines.add(
          "limited by the %s%s: %s"
              .formatted(
                  bucket.limitedBy,
                  place,
                  bucket.transaction.quotas().stream()
                      .map(ExplainResource::text)
                      .collect(Collectors.joining(" and "))));
    }
    if (bucket.state.degraded()) {
      lines.add(
          "the store does not answer; the failure rule %s decides"
              .formatted(bucket.state.decidedBy().word()));
    }
    Penalty penalty = bucket.penalty;
    if (penalty != null) {
      lines.add(
          "penalty until %s%s"
              .formatted(
                  penalty.until(),
                  penalty.comment().isEmpty() ? "" : ": " + SafeText.printable(penalty.comment())));
    }
    addDenials(bucket, lines);
    return lines;
  }

  private static String text(Quota quota) {
    return "%s per %s, burst %s"
        .formatted(quota.count(), GoDuration.shortened(quota.period()), quota.burst());
  }

  private void addDenials(ExplainedBucket bucket, List<String> lines) {
    if (!denials.keepsLast()) {
      lines.add("the server does not keep the last denials; start the server with --top-denied");
    } else if (!bucket.showsDenials) {
      lines.add("the last denials are shown only to callers with the role admin");
    } else {
      List<Denial> last = denials.last(bucket.limit(), bucket.transaction.id());
      if (last.isEmpty()) {
        lines.add("no denial is kept");
      }
      last.forEach(denial -> lines.add(SafeText.printable(line(denial))));
    }
  }

  private static String line(Denial denial) {
    String request =
        Stream.of(denial.asked().method(), denial.asked().path())
            .filter(Objects::nonNull)
            .collect(Collectors.joining(" "));
    String rule = denial.asked().rule();
    return "denied at %s, door %s%s%s: cost %s, %s, decided by %s%s"
        .formatted(
            denial.at(),
            denial.asked().door(),
            request.isEmpty() ? "" : ", " + request,
            rule == null ? "" : ", rule " + rule,
            denial.cost(),
            denial.retryInNanos() == 0
                ? "waiting does not help"
                : "retry in " + time(denial.retryInNanos()),
            denial.decidedBy(),
            denial.penalized() ? " with a penalty" : "");
  }

  /** Returns a time in seconds, or in milliseconds below one second; rounded up. */
  private static String time(long nanos) {
    Duration whole =
        nanos < 1_000_000_000
            ? Duration.ofMillis((nanos + 999_999) / 1_000_000)
            : Duration.ofSeconds((nanos - 1) / 1_000_000_000 + 1);
    return GoDuration.shortened(whole);
  }

  /** Explains which rule matches each possible interpretation of a request. */
  private RuleReadings readings(Question question, Caller caller) {
    if (!caller.mayUseAll()) {
      throw RefusedException.forbidden(
          "the rules name limits that this token may not use; explaining rules needs a token for all limits",
          null);
    }
    try {
      return RuleReadings.of(question.request(), limiter.limits().get());
    } catch (UnusableRequestException e) { // the target is not even a path
      throw new WireException("target", e.detail());
    }
  }

  /** The body of a request to explain; without a method in the body, no rules are explained. */
  private record Question(
      @Nullable String limit,
      @Nullable String id,
      @Nullable String method,
      String target,
      @Nullable String client,
      Map<String, String> headers) {

    private static final List<String> FIELDS = List.of("limit", "id", "method", "target", "client");

    static Question read(byte[] body) {
      Map<String, String> texts = new LinkedHashMap<>();
      Map<String, String> headers = new LinkedHashMap<>();
      Bodies.object(body)
          .forEach(
              (name, value) -> {
                String field = String.valueOf(name);
                if (field.equals("headers")) {
                  require(value instanceof Map, field, "expected an object");
                  ((Map<?, ?>) value)
                      .forEach(
                          (one, text) ->
                              headers.put(String.valueOf(one), text(text, "headers." + one)));
                } else {
                  require(
                      FIELDS.contains(field),
                      field,
                      "found an unknown field, expected limit, id, method, target, client or headers");
                  texts.put(field, text(value, field));
                }
              });
      return of(texts, headers);
    }

    private static Question of(Map<String, String> texts, Map<String, String> headers) {
      require(
          texts.containsKey("limit") == texts.containsKey("id"),
          texts.containsKey("limit") ? "id" : "limit",
          "found one without the other, expected both limit and id");
      require(
          texts.containsKey("method") == texts.containsKey("target"),
          texts.containsKey("method") ? "target" : "method",
          "found one without the other, expected both method and target");
      require(
          texts.containsKey("limit") || texts.containsKey("method"),
          null,
          "expected limit and id, or method and target, or all four");
      String client = texts.get("client");
      require(
          client == null || IpAddress.parse(client) != null, "client", "expected an IP address");
      return new Question(
          texts.get("limit"),
          texts.get("id"),
          texts.get("method"),
          texts.getOrDefault("target", ""),
          client,
          headers);
    }

    private static String text(@Nullable Object value, String field) {
      require(value instanceof String, field, "expected a text");
      return String.valueOf(value);
    }

    private static void require(boolean holds, @Nullable String field, String message) {
      if (!holds) {
        throw new WireException(field, message);
      }
    }

    PlainRequest request() {
      try {
        PlainRequest.Builder request = WebRequest.builder(String.valueOf(method), target);
        headers.forEach(request::header);
        return request.peer(client).build();
      } catch (IllegalArgumentException e) {
        throw new WireException("target", String.valueOf(e.getMessage()));
      }
    }
  }
}
