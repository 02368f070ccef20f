package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpRequest;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Transaction;
import dev.sluice.limit.Limits;
import dev.sluice.limit.MissingDefault;
import dev.sluice.server.wire.WireException;
import dev.sluice.server.wire.WireReader;
import dev.sluice.server.wire.WireRequest;
import dev.sluice.text.Suggestion;
import dev.sluice.web.HeaderProfile;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** {@code POST /v1/check}, {@code spend}, {@code refund} and {@code reset}: one act, as JSON. */
final class ActResource extends Resource {

  private static final String STATUS = "status";
  private static final String HEADERS = "headers";
  private static final List<String> FAMILIES = List.of("none", "ietf", "legacy", "github");
  private static final String IDENTITY = "identity";
  private static final WireReader READER = WireReader.ofHttp();

  private final Act act;
  private final MissingDefault onMissing;
  private final Limiter limiter;
  private final AsyncLimiter async;

  ActResource(Act act, Limiter limiter, MissingDefault onMissing) {
    super(HttpMethod.POST);
    this.act = act;
    this.onMissing = onMissing;
    this.limiter = limiter;
    this.async = limiter.async();
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Fault unreadable = unreadable(request);
    return unreadable == null
        ? request.aggregate().thenCompose(body -> decide(context, body))
        : request.aggregate().thenApply(body -> Answers.fault(unreadable));
  }

  /** What is wrong with the way in which the body is written; null for plain JSON. */
  private static @Nullable Fault unreadable(HttpRequest request) {
    MediaType type = request.contentType();
    if (type == null || !type.is(MediaType.JSON.withoutParameters())) {
      return Fault.wrongMediaType(request.headers().get(HttpHeaderNames.CONTENT_TYPE));
    }
    String encoding = request.headers().get(HttpHeaderNames.CONTENT_ENCODING, IDENTITY);
    return encoding.equalsIgnoreCase(IDENTITY) ? null : Fault.wrongEncoding(encoding);
  }

  private CompletionStage<AggregatedHttpResponse> decide(
      ServiceRequestContext context, AggregatedHttpRequest request) {
    HttpStatus denied = statusOfDenial(context);
    HeaderProfile headers = headers(context);
    byte[] json = request.content().array();
    WireRequest wire = READER.read(json, 0, json.length);
    Limits limits = limiter.limits().get();
    List<Transaction> transactions =
        act == Act.RESET
            ? wire.toResets(limits, onMissing)
            : wire.toTransactions(limits, onMissing);
    return switch (act) {
      case CHECK -> answered(async.check(transactions), wire, denied, headers);
      case SPEND -> answered(async.spend(transactions), wire, denied, headers);
      case REFUND -> answered(async.refund(transactions), wire, HttpStatus.OK, headers);
      case RESET -> async.reset(transactions).thenApply(nothing -> reset());
    };
  }

  private static CompletionStage<AggregatedHttpResponse> answered(
      CompletionStage<Decision> decided,
      WireRequest wire,
      HttpStatus denied,
      HeaderProfile headers) {
    return decided.thenApply(
        decision ->
            Answers.decision(
                decision, wire.isBatch(), decision.denied() ? denied : HttpStatus.OK, headers));
  }

  private static AggregatedHttpResponse reset() {
    return Answers.json(
        HttpStatus.OK,
        json -> {
          json.writeStartObject();
          json.writeBooleanField("reset", true);
          json.writeEndObject();
        });
  }

  private boolean hasAnswer() {
    return act == Act.CHECK || act == Act.SPEND;
  }

  /** Which headers tell the decision once more, for callers that pass them on. */
  private static HeaderProfile headers(ServiceRequestContext context) {
    String wanted = context.queryParams().get(HEADERS, "none");
    return switch (wanted) {
      case "none" -> HeaderProfile.NONE;
      case "ietf" -> HeaderProfile.IETF;
      case "legacy" -> HeaderProfile.LEGACY;
      case "github" -> HeaderProfile.GITHUB;
      default ->
          throw new WireException(
              HEADERS,
              "found another family of headers, expected one of %s%s"
                  .formatted(String.join(", ", FAMILIES), Suggestion.didYouMean(wanted, FAMILIES)));
    };
  }

  /** 200, unless the caller is a proxy that understands nothing but a status. */
  private HttpStatus statusOfDenial(ServiceRequestContext context) {
    Queries.require(context, hasAnswer() ? List.of(STATUS, HEADERS) : List.of());
    String wanted = context.queryParams().get(STATUS, "200");
    return switch (wanted) {
      case "200" -> HttpStatus.OK;
      case "429" -> HttpStatus.TOO_MANY_REQUESTS;
      default ->
          throw new WireException(
              STATUS, "found another value, expected 200 or 429, the status of a denial");
    };
  }
}
