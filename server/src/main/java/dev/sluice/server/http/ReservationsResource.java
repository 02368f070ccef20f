// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.Acts;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireRequest;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** {@code POST /v1/reservations}: a spend that can be taken back by a token. */
final class ReservationsResource extends JsonResource {

  private static final String EXPIRES = "expires";

  private final Acts acts;
  private final Reservations reservations;

  ReservationsResource(Acts acts, Reservations reservations) {
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
        .thenApply(held -> Answers.held(held, wire.isBatch(), form));
  }
}
