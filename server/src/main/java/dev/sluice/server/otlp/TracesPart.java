// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.otlp;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.logging.RequestLog;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.Part.Decorators;
import dev.sluice.server.net.Requests;
import dev.sluice.server.tls.TlsIdentity.Tls;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Makes spans by OpenTelemetry's conventions, without ids, addresses or tokens. Immutable. */
record TracesPart(Tracer tracer) implements Part {

  /** The routes that are never traced: the web page, probes, metrics, and the API description. */
  private static final Set<String> UNTRACED =
      Set.of(
          "/",
          "/page/*",
          "/healthz",
          "/readyz",
          "/metrics",
          "/openapi.json",
          "/grpc.health.v1.Health/Check",
          "/grpc.health.v1.Health/Watch");

  private static final Set<String> FAILURES_OF_GRPC = Set.of("2", "4", "12", "13", "14", "15");
  private static final TextMapPropagator PROPAGATOR = W3CTraceContextPropagator.getInstance();
  private static final int FIRST_FAILURE = 500;

  @Override
  public void addTo(ServerBuilder server) {}

  @Override
  public void addFirst(Decorators decorators) {
    decorators.add(new Traced(tracer));
  }

  /** Begins a span when a request arrives, and ends the span after the response. */
  private record Traced(Tracer tracer) implements DecoratingHttpServiceFunction {

    @Override
    public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
        throws Exception {
      Route route = context.config().route();
      if (!route.isFallback() && !UNTRACED.contains(route.patternString())) {
        boolean isGrpc = Requests.isGrpc(context, request.headers());
        Span span = begin(context, route.patternString(), request.headers(), isGrpc);
        if (span.isRecording()) {
          Stages.onSuccess(context.log().whenComplete(), log -> end(span, log, isGrpc));
        }
      }
      return next.serve(context, request);
    }

    private Span begin(
        ServiceRequestContext context, String path, RequestHeaders headers, boolean isGrpc) {
      Context caller = PROPAGATOR.extract(Context.root(), headers, Headers.INSTANCE);
      String name = isGrpc ? path.substring(1) : context.method().name() + " " + path;
      Span span =
          tracer.spanBuilder(name).setSpanKind(SpanKind.SERVER).setParent(caller).startSpan();
      if (!span.isRecording()) {
        return span;
      }
      if (isGrpc) {
        int slash = name.lastIndexOf('/');
        span.setAttribute("rpc.system", "grpc")
            .setAttribute("rpc.service", name.substring(0, Math.max(slash, 0)))
            .setAttribute("rpc.method", name.substring(slash + 1));
      } else {
        SessionProtocol protocol = context.sessionProtocol();
        span.setAttribute("http.request.method", context.method().name())
            .setAttribute("http.route", path)
            .setAttribute("url.scheme", Tls.session(context) == null ? "http" : "https")
            .setAttribute("network.protocol.version", protocol.isMultiplex() ? "2" : "1.1");
      }
      return span;
    }

    private static void end(Span span, RequestLog log, boolean isGrpc) {
      if (isGrpc) {
        String status =
            log.responseTrailers().get("grpc-status", log.responseHeaders().get("grpc-status", ""));
        span.setAttribute("rpc.grpc.status_code", status.isEmpty() ? -1 : Long.parseLong(status));
        if (status.isEmpty() || FAILURES_OF_GRPC.contains(status)) {
          span.setStatus(StatusCode.ERROR);
        }
      } else {
        int status = log.responseStatus().code();
        span.setAttribute("http.response.status_code", status);
        if (status >= FIRST_FAILURE || status == 0) {
          span.setAttribute("error.type", Integer.toString(status)).setStatus(StatusCode.ERROR);
        }
      }
      span.end();
    }
  }

  /** Reads trace headers from a request. */
  private enum Headers implements TextMapGetter<RequestHeaders> {
    INSTANCE;

    @Override
    public Iterable<String> keys(RequestHeaders headers) {
      return List.of();
    }

    @Override
    public @Nullable String get(@Nullable RequestHeaders headers, String name) {
      return headers == null ? null : headers.get(name);
    }
  }
}
