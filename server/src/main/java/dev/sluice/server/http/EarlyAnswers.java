// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.ServiceRequestContext;

/**
 * Makes an answer of what goes wrong before the library sees it. The library resets an HTTP/2
 * stream at once where a request failed before its body was there, and the client may lose the
 * answer with it. gRPC has answers of its own kind. Stateless and thread-safe.
 */
final class EarlyAnswers implements DecoratingHttpServiceFunction {

  private final Failures failures;

  EarlyAnswers(Failures failures) {
    this.failures = failures;
  }

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
      throws Exception {
    if (request.headers().get("content-type", "").startsWith("application/grpc")) {
      return next.serve(context, request);
    }
    HttpResponse response;
    try {
      response = next.serve(context, request);
    } catch (Exception e) {
      response = HttpResponse.ofFailure(e);
    }
    return response.recover(cause -> answer(context, request, cause));
  }

  private HttpResponse answer(ServiceRequestContext context, HttpRequest request, Throwable cause) {
    if (cause instanceof HttpStatusException status) {
      return failures
          .renderStatus(
              context, context.config(), request.headers(), status.httpStatus(), null, cause)
          .toHttpResponse();
    }
    HttpResponse answer = failures.onServiceException(context, cause);
    return answer == null ? HttpResponse.ofFailure(cause) : answer;
  }
}
