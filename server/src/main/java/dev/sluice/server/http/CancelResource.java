// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.reservation.Reservations;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code POST /v1/reservations/{token}/cancel}: gives back what the token stands for. A body is
 * ignored: the token says all.
 */
final class CancelResource extends Resource {

  static final String UNDER = "/v1/reservations/";

  private static final Pattern PATH = Pattern.compile(UNDER + "(?<token>[^/?]+)/cancel\\??");

  private final Reservations reservations;

  CancelResource(Reservations reservations) {
    super(HttpMethod.POST);
    this.reservations = reservations;
  }

  @Override
  CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request) {
    Queries.require(context, List.of());
    String rawPath = String.valueOf(context.routingContext().requestTarget().rawPath());
    Matcher path = PATH.matcher(rawPath);
    return path.matches()
        ? reservations.cancel(path.group("token")).thenApply(nothing -> cancelled())
        : CompletableFuture.completedFuture(Answers.fault(Fault.notFound(rawPath)));
  }

  private static AggregatedHttpResponse cancelled() {
    return Answers.json(
        HttpStatus.OK,
        json -> {
          json.writeStartObject();
          json.writeBooleanField("cancelled", true);
          json.writeEndObject();
        });
  }
}
