// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.WholeResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * A service for one path and one method. A {@code HEAD} request is handled like {@code GET},
 * without the body. An {@code OPTIONS} request returns the allowed methods. All other methods are
 * refused. Thread-safe; runs on event loops, so it must not block.
 */
abstract class MethodService implements HttpService {

  private final HttpMethod method;
  private final String allowed;

  MethodService(HttpMethod method) {
    this.method = method;
    this.allowed = method == HttpMethod.GET ? "GET, HEAD, OPTIONS" : method + ", OPTIONS";
  }

  /** Responds to a request whose method is the path's method; must not throw. */
  abstract HttpResponse respond(ServiceRequestContext context, HttpRequest request);

  @Override
  public final HttpResponse serve(ServiceRequestContext context, HttpRequest request) {
    HttpMethod asked = request.method();
    if (asked == HttpMethod.OPTIONS) {
      return Answers.methods(allowed).toHttpResponse();
    }
    boolean head = asked == HttpMethod.HEAD && method == HttpMethod.GET;
    if (asked != method && !head) {
      return Answers.wrongMethod(asked.name(), allowed).toHttpResponse();
    }
    return respond(context, request);
  }

  /**
   * A service that sends each response as a whole. Failures become problem details. Thread-safe.
   */
  abstract static class Resource extends MethodService {

    Resource(HttpMethod method) {
      super(method);
    }

    /**
     * Responds to a request whose method is the resource's method. May throw an exception, or
     * return a stage that fails.
     */
    abstract CompletionStage<AggregatedHttpResponse> answer(
        ServiceRequestContext context, HttpRequest request);

    @Override
    final HttpResponse respond(ServiceRequestContext context, HttpRequest request) {
      return WholeResponse.of(
          caught(context, request)
              .handle(
                  (answer, failure) ->
                      failure == null ? answer : HttpFailures.answer(context, failure)),
          context);
    }

    /** Returns a resource for GET whose answers are known at once. */
    static Resource get(Function<ServiceRequestContext, AggregatedHttpResponse> answer) {
      return new Resource(HttpMethod.GET) {
        @Override
        CompletionStage<AggregatedHttpResponse> answer(
            ServiceRequestContext context, HttpRequest request) {
          return CompletableFuture.completedFuture(answer.apply(context));
        }
      };
    }

    /** Returns a resource for GET that makes its answers on threads that may block. */
    static Resource blocking(Function<ServiceRequestContext, AggregatedHttpResponse> answer) {
      return new Resource(HttpMethod.GET) {
        @Override
        CompletionStage<AggregatedHttpResponse> answer(
            ServiceRequestContext context, HttpRequest request) {
          return CompletableFuture.supplyAsync(
              () -> answer.apply(context), context.blockingTaskExecutor());
        }
      };
    }

    /** Declares that the body arrives in pieces, and that the response is sent as a whole. */
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
}
