// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.grpcgreeter;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.examples.grpcgreeter.proto.GreetRequest;
import dev.sluice.examples.grpcgreeter.proto.GreeterGrpc;
import dev.sluice.examples.grpcgreeter.proto.GreeterGrpc.GreeterBlockingStub;
import dev.sluice.gcra.Quota;
import dev.sluice.grpc.PacedGrpc;
import dev.sluice.outbound.Pacer;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The server and two clients over real gRPC. */
class GreeterTest {

  private GreeterServer server;
  private ManagedChannel channel;

  @BeforeEach
  void start() throws IOException {
    server = new GreeterServer(0);
  }

  @AfterEach
  void stop() {
    var unused = channel.shutdownNow();
    server.close();
  }

  private static GreeterBlockingStub stub(Channel channel) {
    Metadata client = new Metadata();
    client.put(Metadata.Key.of("client-id", Metadata.ASCII_STRING_MARSHALLER), "ann");
    return GreeterGrpc.newBlockingStub(channel)
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(client));
  }

  /** Returns how many of the calls were denied. */
  private static int denied(GreeterBlockingStub stub, int calls) {
    int denied = 0;
    for (int i = 0; i < calls; i++) {
      try {
        assertThat(stub.greet(GreetRequest.newBuilder().setName("Ann").build()).getWords())
            .isEqualTo("Hello Ann");
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        denied++;
      }
    }
    return denied;
  }

  @Test
  void client_thatDoesNotWait_isDenied() throws Exception {
    channel =
        Grpc.newChannelBuilder("127.0.0.1:" + server.port(), InsecureChannelCredentials.create())
            .build();
    GreeterBlockingStub stub = stub(channel);
    // At once: one after the other, on a slow machine, they may keep to ten a second.
    Callable<Integer> caller = () -> denied(stub, 50);
    ExecutorService threads = Executors.newFixedThreadPool(10);
    int denied = 0;
    try {
      for (Future<Integer> one : threads.invokeAll(Collections.nCopies(10, caller))) {
        denied += one.get();
      }
    } finally {
      threads.shutdown();
    }
    assertThat(denied).isPositive();
  }

  // begin: client
  static ManagedChannel channel(int port) {
    Limit perHost = Limit.of(Quota.burst(1).refill(9, Duration.ofSeconds(1)));
    Pacer pacer = Pacer.builder(perHost, Duration.ofSeconds(10)).build();
    return Grpc.newChannelBuilder("127.0.0.1:" + port, InsecureChannelCredentials.create())
        .intercept(PacedGrpc.interceptor(pacer))
        .build();
  }

  // end: client

  @Test
  void client_thatWaits_isNotDenied() {
    channel = channel(server.port());

    assertThat(denied(stub(channel), 12)).isZero();
  }
}
