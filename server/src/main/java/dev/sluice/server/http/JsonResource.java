// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.Reservation.Costs;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.http.Answers.AnswerForm;
import dev.sluice.server.http.HttpFailures.Bodies;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.server.net.Requests;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.stats.Denials.DeniedRequest;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import dev.sluice.wire.WireReader;
import dev.sluice.wire.WireRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A resource that accepts transactions as JSON in a POST. Thread-safe. */
abstract class JsonResource extends Resource {

  private static final WireReader READER = WireReader.ofHttp();

  JsonResource() {
    super(HttpMethod.POST);
  }

  /** Responds to a JSON request; may throw, or return a failing stage. */
  abstract CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, byte[] json);

  /** Called if the body cannot be read, for resources that record failed requests. */
  void unreadable(ServiceRequestContext context, String why) {}

  /** Parses the body. Mistakes of the query are reported before mistakes of the body. */
  static WireRequest read(byte[] json, Mistakes ofQuery) {
    return READER.read(json, ofQuery);
  }

  @Override
  final CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Fault unreadable = Bodies.unreadable(request, MediaType.JSON);
    if (unreadable == null) {
      return answer(context, Requests.body(context));
    }
    unreadable(context, unreadable.detail());
    return CompletableFuture.completedFuture(Answers.fault(unreadable));
  }

  /** Returns the original request, if the client describes it in the headers that proxies use. */
  private static DeniedRequest asked(ServiceRequestContext context) {
    RequestHeaders headers = context.request().headers();
    return DeniedRequest.of(
        "http", headers.get(AskedRequest.METHOD), headers.get(AskedRequest.URI), null);
  }

  /** {@code POST /v1/check}, {@code spend}, {@code refund} and {@code reset} with a JSON body. */
  static final class ActResource extends JsonResource {

    private final Act act;
    private final LimiterCalls acts;

    ActResource(Act act, LimiterCalls acts) {
      this.act = act;
      this.acts = acts;
    }

    @Override
    void unreadable(ServiceRequestContext context, String why) {
      acts.refused(act, AccessPart.caller(context), why);
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(ServiceRequestContext context, byte[] json) {
      boolean decides = act == Act.CHECK || act == Act.SPEND;
      Mistakes mistakes = new Mistakes();
      AnswerForm form =
          decides ? AnswerForm.of(context, mistakes) : AnswerForm.fixed(context, mistakes);
      WireRequest wire;
      try {
        wire = read(json, mistakes);
      } catch (WireException e) {
        unreadable(context, String.valueOf(e.getMessage()));
        throw e;
      }
      return acts.send(act, wire, AccessPart.caller(context), () -> asked(context))
          .thenApply(
              decision ->
                  act == Act.RESET
                      ? Answers.reset(decision)
                      : Answers.decision(decision.orElseThrow(), wire, form));
    }
  }

  /** {@code POST /v1/reservations}: a spend that can be cancelled by a token. */
  static final class ReservationsResource extends JsonResource {

    private static final String EXPIRES = "expires";

    private final LimiterCalls acts;
    private final Reservations reservations;

    ReservationsResource(LimiterCalls acts, Reservations reservations) {
      this.acts = acts;
      this.reservations = reservations;
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(ServiceRequestContext context, byte[] json) {
      Mistakes mistakes = new Mistakes();
      AnswerForm form = AnswerForm.of(context, mistakes, EXPIRES);
      Duration life =
          mistakes.read(
              () -> Reservations.life(context.queryParams().get(EXPIRES), EXPIRES), Duration.ZERO);
      WireRequest wire = read(json, mistakes);
      return reservations
          .reserve(acts.transactions(wire, AccessPart.caller(context)), life)
          .thenApply(
              held -> {
                acts.reported(held.decision(), () -> asked(context));
                return Answers.held(held, wire.isBatch(), form);
              });
    }
  }

  /**
   * {@code POST /v1/reservations/{token}/cancel} and {@code settle}: refunds the tokens of a
   * reservation, or replaces them by the true cost. {@code cancel} ignores the body.
   */
  static final class TokenResource extends Resource {

    static final String UNDER = "/v1/reservations/";

    private static final Pattern PATH =
        Pattern.compile(UNDER + "(?<token>[^/?]+)/(?<use>cancel|settle)\\??");

    private final Reservations reservations;

    TokenResource(Reservations reservations) {
      super(HttpMethod.POST);
      this.reservations = reservations;
    }

    @Override
    CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request) {
      Queries.require(context, List.of());
      String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
      Matcher path = PATH.matcher(rawPath);
      if (!path.matches()) {
        return CompletableFuture.completedFuture(Answers.fault(Fault.notFound(rawPath)));
      }
      String token = path.group("token");
      return path.group("use").equals("settle")
          ? settle(context, request, token)
          : reservations
              .cancel(token, AccessPart.caller(context)::requireLimit)
              .thenApply(nothing -> cancelled());
    }

    private CompletionStage<AggregatedHttpResponse> settle(
        ServiceRequestContext context, HttpRequest request, String token) {
      Fault unreadable = Bodies.unreadable(request, MediaType.JSON);
      if (unreadable != null) {
        return CompletableFuture.completedFuture(Answers.fault(unreadable));
      }
      Costs costs = WireReader.readCosts(Requests.body(context));
      try {
        return reservations
            .settle(token, AccessPart.caller(context)::requireLimit, costs)
            .thenApply(Answers::settled);
      } catch (InvalidRequestException e) {
        throw new WireException("costs", String.valueOf(e.getMessage()));
      }
    }

    private static AggregatedHttpResponse cancelled() {
      return Answers.json(HttpStatus.OK, json -> json.put("cancelled", true));
    }
  }
}
