// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.HttpStatusException;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.Requests;

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
    return Requests.isGrpc(request.headers())
        ? next.serve(context, request)
        : Requests.pass(next, context, request).recover(cause -> answer(context, request, cause));
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
