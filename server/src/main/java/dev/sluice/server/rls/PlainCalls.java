// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.protobuf.CodedOutputStream;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.SimpleDecoratingHttpService;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitServiceGrpc;
import dev.sluice.internal.async.Stages;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.net.Requests;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.net.WholeResponse;
import dev.sluice.server.rls.GrpcRequests.GrpcStatuses;
import dev.sluice.server.rls.RateLimitService.RateLimitRequests;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.zip.GZIPInputStream;

/**
 * Serves {@code ShouldRateLimit} calls in the form that almost all proxies send: over HTTP/2, with
 * one uncompressed message. Bypasses Armeria's gRPC classes, which would double the cost of a call.
 * Armeria handles all other calls of {@code ShouldRateLimit}, with the same responses. Thread-safe;
 * runs on event loops and never blocks.
 */
final class PlainCalls extends SimpleDecoratingHttpService {

  static final String METHOD = RateLimitServiceGrpc.SERVICE_NAME + "/ShouldRateLimit";

  static final String PATH = "/" + METHOD;
  private static final String PROTO = Requests.GRPC + "+proto";
  private static final String ENCODING = "grpc-encoding";
  private static final String IDENTITY = "identity";

  /**
   * The length of a gRPC message's prefix in bytes: one for compression, four for the message
   * length.
   */
  private static final int PREFIX = 5;

  private static final Status NO_MESSAGE =
      Status.INVALID_ARGUMENT.withDescription("the body is empty, expected one message");

  private static final ResponseHeaders HEADERS =
      ResponseHeaders.builder(HttpStatus.OK)
          .set(HttpHeaderNames.CONTENT_TYPE, PROTO)
          .set(ENCODING, IDENTITY)
          .set("grpc-accept-encoding", "gzip")
          .build();
  private static final HttpHeaders OK =
      HttpHeaders.builder().endOfStream(true).add("grpc-status", "0").build();

  private final RateLimitRequests requests;
  private final RlsMeters meters;

  PlainCalls(HttpService library, RateLimitRequests requests, RlsMeters meters) {
    super(library);
    this.requests = requests;
    this.meters = meters;
  }

  /** Tells Armeria to stream the request body, and to send the response as a whole. */
  @Override
  public ExchangeType exchangeType(RoutingContext context) {
    return context.path().equals(PATH)
        ? ExchangeType.REQUEST_STREAMING
        : super.exchangeType(context);
  }

  @Override
  public HttpResponse serve(ServiceRequestContext context, HttpRequest request) throws Exception {
    GrpcRequests.requireDeadline(context);
    byte[] body = Requests.body(context);
    if (body.length == 0 && request.method() == HttpMethod.POST) {
      return HttpResponse.of(GrpcRequests.trailers(NO_MESSAGE));
    }
    if (isPlain(context, request.headers()) && isOneMessage(body)) {
      return answer(context, body);
    }
    return context.path().equals(PATH) && isTooLargeUnpacked(request.headers(), body)
        ? answered(requests.tooLarge(), System.nanoTime()).toHttpResponse()
        : unwrap().serve(context, unread(request, body));
  }

  /**
   * Whether a gzip message exceeds the bound after decompression; Armeria would return an error.
   */
  private static boolean isTooLargeUnpacked(RequestHeaders headers, byte[] body) {
    if (!headers.get(ENCODING, IDENTITY).equals("gzip") || body.length <= PREFIX || body[0] != 1) {
      return false;
    }
    try (InputStream message =
        new GZIPInputStream(new ByteArrayInputStream(body, PREFIX, body.length - PREFIX))) {
      return message.skip(SluiceServer.MAX_BODY + 1) > SluiceServer.MAX_BODY;
    } catch (IOException e) {
      return false; // Armeria reports that the message cannot be decompressed
    }
  }

  /** Returns a request whose body Armeria can read, since this class has read the original body. */
  private static HttpRequest unread(HttpRequest request, byte[] body) {
    return HttpRequest.of(request.headers(), HttpData.wrap(body));
  }

  private static boolean isPlain(ServiceRequestContext context, RequestHeaders headers) {
    String type = headers.get(HttpHeaderNames.CONTENT_TYPE, "");
    return context.path().equals(PATH)
        && context.sessionProtocol().isMultiplex()
        && headers.method() == HttpMethod.POST
        && (type.equals(Requests.GRPC) || type.equals(PROTO))
        && headers.get(ENCODING, IDENTITY).equals(IDENTITY);
  }

  /** Whether a body is exactly one gRPC message; Armeria reports the error of any other body. */
  private static boolean isOneMessage(byte[] body) {
    return body.length >= PREFIX
        && body[0] == 0
        && ByteBuffer.wrap(body).getInt(1) == body.length - PREFIX;
  }

  private HttpResponse answer(ServiceRequestContext context, byte[] body) {
    long start = System.nanoTime();
    CompletableFuture<?> givenUp = context.whenRequestCancelling();
    CompletionStage<RateLimitResponse> decided;
    try {
      RateLimitRequest request = RequestMessages.read(body, PREFIX);
      decided =
          requests.decide(request, AccessPart.caller(context), RateLimitService.DOOR, givenUp);
    } catch (RuntimeException e) {
      return failed(e, start).toHttpResponse();
    }
    CompletableFuture<AggregatedHttpResponse> response =
        decided
            .handle(
                (answer, failure) ->
                    failure == null ? answered(answer, start) : failed(failure, start))
            .toCompletableFuture();
    if (!response.isDone()) {
      Stages.onSuccess(givenUp, why -> giveUp(response, start));
    }
    return WholeResponse.of(response, context);
  }

  private void giveUp(CompletableFuture<AggregatedHttpResponse> response, long start) {
    Status late = GrpcStatuses.late();
    if (response.complete(trailers(late))) { // otherwise the response was sent and counted earlier
      meters.failed(late, start);
    }
  }

  private AggregatedHttpResponse answered(RateLimitResponse answer, long start) {
    meters.answered(answer, start);
    return answer(answer);
  }

  static AggregatedHttpResponse answer(RateLimitResponse answer) {
    return AggregatedHttpResponse.of(HEADERS, framed(answer), OK);
  }

  private AggregatedHttpResponse failed(Throwable failure, long start) {
    Status status = GrpcStatuses.status(failure);
    meters.failed(status, start);
    return trailers(status);
  }

  private static AggregatedHttpResponse trailers(Status status) {
    return AggregatedHttpResponse.of(GrpcRequests.trailers(status));
  }

  private static HttpData framed(RateLimitResponse answer) {
    int length = answer.getSerializedSize();
    byte[] frame = new byte[PREFIX + length];
    ByteBuffer.wrap(frame).putInt(1, length);
    CodedOutputStream out = CodedOutputStream.newInstance(frame, PREFIX, length);
    try {
      answer.writeTo(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the target is in memory
    }
    return HttpData.wrap(frame);
  }
}
