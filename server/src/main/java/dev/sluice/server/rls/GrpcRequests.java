// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.server.net.Requests;
import dev.sluice.server.rls.RateLimitService.BadRequest;
import dev.sluice.server.rls.RlsPart.LateGrpc;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Applies the rules for every gRPC request, known or not: the request's deadline applies if it is
 * shorter than the server's, and a refusal by the server becomes a gRPC status. Other requests pass
 * unchanged.
 */
final class GrpcRequests implements DecoratingHttpServiceFunction {

  private static final Pattern TIMEOUT = Pattern.compile("([0-9]{1,8})([HMSmun])");
  private static final String UNITS = "HMSmun";
  private static final TimeUnit[] SIZES = {
    TimeUnit.HOURS,
    TimeUnit.MINUTES,
    TimeUnit.SECONDS,
    TimeUnit.MILLISECONDS,
    TimeUnit.MICROSECONDS,
    TimeUnit.NANOSECONDS
  };

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request) {
    if (!Requests.isGrpc(request.headers())) {
      return Requests.pass(next, context, request);
    }
    try {
      setDeadline(context, request.headers().get("grpc-timeout"));
      if (context.config().service().as(LateGrpc.class) == null) {
        return HttpResponse.of(
            trailers(
                Status.UNIMPLEMENTED.withDescription(
                    "no service has the method " + context.path())));
      }
      return Requests.pass(next, context, request).recover(GrpcRequests::failed);
    } catch (RuntimeException e) {
      return failed(e);
    }
  }

  private static void setDeadline(ServiceRequestContext context, @Nullable String header) {
    if (header == null) {
      return;
    }
    Matcher timeout = TIMEOUT.matcher(header);
    if (!timeout.matches()) {
      throw new BadRequest("grpc-timeout: expected up to eight digits and one of H, M, S, m, u, n");
    }
    long nanos = SIZES[UNITS.indexOf(timeout.group(2))].toNanos(Long.parseLong(timeout.group(1)));
    if (TimeUnit.NANOSECONDS.toMillis(nanos) < context.requestTimeoutMillis()) {
      context.setRequestTimeout(TimeoutMode.SET_FROM_START, Duration.ofNanos(Math.max(1, nanos)));
    }
  }

  private static HttpResponse failed(Throwable failure) {
    return HttpResponse.of(trailers(GrpcStatuses.status(failure)));
  }

  /** Returns an answer without a message, whose headers are its trailers. */
  static ResponseHeaders trailers(Status status) {
    ResponseHeadersBuilder headers =
        ResponseHeaders.builder(HttpStatus.OK)
            .set(HttpHeaderNames.CONTENT_TYPE, Requests.GRPC)
            .set("grpc-status", Integer.toString(status.getCode().value()));
    String description = status.getDescription();
    if (description != null) {
      headers.set("grpc-message", encoded(description));
    }
    return headers.build();
  }

  /**
   * Encodes a message as gRPC requires: all but printable ASCII, and the percent sign. Some clients
   * show the text undecoded.
   */
  private static String encoded(String text) {
    StringBuilder encoded = new StringBuilder(text.length());
    for (byte one : text.getBytes(StandardCharsets.UTF_8)) {
      if (one >= ' ' && one <= '~' && one != '%') {
        encoded.append((char) one);
      } else {
        encoded.append('%').append(HexFormat.of().withUpperCase().toHexDigits(one));
      }
    }
    return encoded.toString();
  }
}
