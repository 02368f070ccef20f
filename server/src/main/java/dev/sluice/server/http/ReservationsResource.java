package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpRequest;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.wire.WireReader;
import dev.sluice.server.wire.WireRequest;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** {@code POST /v1/reservations}: a spend that can be taken back by a token. */
final class ReservationsResource extends Resource {

  private static final String EXPIRES = "expires";
  private static final WireReader READER = WireReader.ofHttp();

  private final Acts acts;
  private final Reservations reservations;

  ReservationsResource(Acts acts, Reservations reservations) {
    super(HttpMethod.POST);
    this.acts = acts;
    this.reservations = reservations;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Fault unreadable = Bodies.unreadable(request, MediaType.JSON);
    return unreadable == null
        ? request.aggregate().thenCompose(body -> reserve(context, body))
        : request.aggregate().thenApply(body -> Answers.fault(unreadable));
  }

  private CompletionStage<AggregatedHttpResponse> reserve(
      ServiceRequestContext context, AggregatedHttpRequest request) {
    AnswerForm form = AnswerForm.of(context, EXPIRES);
    Duration life = Reservations.life(context.queryParams().get(EXPIRES), EXPIRES);
    byte[] json = request.content().array();
    WireRequest wire = READER.read(json, 0, json.length);
    return reservations
        .reserve(acts.transactions(wire), life)
        .thenApply(held -> Answers.held(held, wire.isBatch(), form));
  }
}
