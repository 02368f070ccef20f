// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.WholeResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A path whose answer is known as a whole; whatever fails becomes a problem. Thread-safe. */
abstract class Resource extends MethodService {

  Resource(HttpMethod method) {
    super(method);
  }

  /** Answers a request of the resource's method; may throw, or fail later. */
  abstract CompletionStage<AggregatedHttpResponse> answer(
      ServiceRequestContext context, HttpRequest request);

  @Override
  final HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
    return WholeResponse.of(
        caught(context, request)
            .handle(
                (answer, failure) -> failure == null ? answer : Failures.answer(context, failure)),
        context);
  }

  /** A body arrives in pieces; the answer goes as a whole. */
  @Override
  public final ExchangeType exchangeType(RoutingContext context) {
    return ExchangeType.REQUEST_STREAMING;
  }

  private CompletionStage<AggregatedHttpResponse> caught(
      ServiceRequestContext context, HttpRequest request) {
    try {
      return answer(context, request);
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }
}
