// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.SimpleDecoratingHttpService;
import dev.sluice.server.net.Piecewise;

/** gRPC's reflection, whose clients ask the next question when they have read an answer. */
final class Reflection extends SimpleDecoratingHttpService implements Piecewise {

  Reflection(HttpService reflection) {
    super(reflection);
  }

  @Override
  public HttpResponse serve(ServiceRequestContext context, HttpRequest request) throws Exception {
    return unwrap().serve(context, request);
  }
}
