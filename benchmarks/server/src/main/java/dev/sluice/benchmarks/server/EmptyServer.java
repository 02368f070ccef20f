// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.server;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.grpc.GrpcService;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import dev.sluice.envoy.RateLimitResponse.Code;
import dev.sluice.envoy.RateLimitResponse.DescriptorStatus;
import dev.sluice.envoy.RateLimitServiceGrpc;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;

/**
 * A server that makes no decisions, but uses the same libraries as the Sluice server, and reads and
 * writes the same JSON and gRPC messages. Sluice's own code costs the difference between the
 * figures of the two servers.
 */
public final class EmptyServer {

  private static final JsonFactory JSON = new JsonFactory();

  private EmptyServer() {}

  /**
   * Listens on a free loopback port until somebody ends the process.
   *
   * @param args no arguments
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] args) throws InterruptedException {
    Server server =
        Server.builder()
            .http(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .service(
                "/v1/spend",
                (context, request) ->
                    HttpResponse.of(request.aggregate().thenApply(body -> answer(body.content()))))
            .service("/v1/forward-auth", (context, request) -> HttpResponse.of(HttpStatus.OK))
            .service(
                GrpcService.builder()
                    .addService(new EmptyMethod())
                    .useClientTimeoutHeader(false)
                    .build())
            .build();
    server.start().join();
    System.out.println("listening on http://127.0.0.1:" + server.activeLocalPort());
    new CountDownLatch(1).await();
  }

  private static HttpResponse answer(HttpData body) {
    try (JsonParser parser = JSON.createParser(body.toInputStream())) {
      int texts = 0;
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        texts += token.isScalarValue() ? parser.getText().length() : 0;
      }
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (JsonGenerator json = JSON.createGenerator(out)) {
        write(json, texts);
      }
      return HttpResponse.of(HttpStatus.OK, MediaType.JSON, HttpData.wrap(out.toByteArray()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes the same fields as a real response, with numbers of the same length. */
  private static void write(JsonGenerator json, int texts) throws IOException {
    json.writeStartObject();
    json.writeBooleanField("allowed", texts > 0);
    json.writeStringField("limit", "Requests");
    json.writeStringField("bucket", "1:user-4711");
    json.writeNumberField("remaining", 999_999_999);
    json.writeNumberField("burst", 1_000_000_000);
    json.writeNumberField("retryInNanos", 0L);
    json.writeNumberField("retryInSeconds", 0);
    json.writeNumberField("resetInNanos", 1_000_000_000L);
    json.writeNumberField("resetInSeconds", 1);
    json.writeEndObject();
  }

  private static final class EmptyMethod extends RateLimitServiceGrpc.RateLimitServiceImplBase {
    @Override
    public void shouldRateLimit(
        RateLimitRequest request, StreamObserver<RateLimitResponse> observer) {
      observer.onNext(
          RateLimitResponse.newBuilder()
              .setOverallCode(Code.OK)
              .addStatuses(
                  DescriptorStatus.newBuilder().setCode(Code.OK).setLimitRemaining(999_999_999))
              .build());
      observer.onCompleted();
    }
  }
}
