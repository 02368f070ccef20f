// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.grpcgreeter;

import dev.sluice.Limiter;
import dev.sluice.examples.grpcgreeter.proto.GreetReply;
import dev.sluice.examples.grpcgreeter.proto.GreetRequest;
import dev.sluice.examples.grpcgreeter.proto.GreeterGrpc;
import dev.sluice.gcra.Quota;
import dev.sluice.grpc.RateLimitServerInterceptor;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;

/** Greets each client five times at once, and then ten times a second. */
final class GreeterServer implements AutoCloseable {

  private static final Catalogue NAMES =
      Catalogue.of(LimitName.builder("GreetingsPerClient").build());

  private final RequestLimiter rules;
  private final Server server;

  GreeterServer(int port) throws IOException {
    Limits limits =
        Limits.builder(NAMES)
            .limit("GreetingsPerClient", Quota.burst(5).refill(10, Duration.ofSeconds(1)))
            .build();
    rules = rules(Limiter.of(limits, BucketStore.inMemory()));
    // begin: server
    server =
        Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
            .intercept(RateLimitServerInterceptor.of(rules))
            .addService(new Greeter())
            .build()
            .start();
    // end: server
  }

  // begin: rules
  static RequestLimiter rules(Limiter limiter) {
    return RequestLimiter.builder(limiter)
        .rule(
            Rule.on("/greetings.Greeter/*")
                .limit("GreetingsPerClient", VaryBy.header("client-id"))
                .build())
        .build();
  }

  // end: rules

  private static final class Greeter extends GreeterGrpc.GreeterImplBase {
    @Override
    public void greet(GreetRequest request, StreamObserver<GreetReply> reply) {
      reply.onNext(GreetReply.newBuilder().setWords("Hello " + request.getName()).build());
      reply.onCompleted();
    }
  }

  int port() {
    return server.getPort();
  }

  @Override
  public void close() {
    var unused = server.shutdownNow();
    rules.close();
  }

  public static void main(String[] arguments) throws Exception {
    try (GreeterServer greeter = new GreeterServer(50_051)) {
      System.out.println("greets on 127.0.0.1:" + greeter.port());
      greeter.server.awaitTermination();
    }
  }
}
