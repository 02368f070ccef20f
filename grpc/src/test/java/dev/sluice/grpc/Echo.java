// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** A real server with a service that says what it hears, and a channel to it. */
final class Echo implements AutoCloseable {

  private static final MethodDescriptor.Marshaller<String> TEXT =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(String value) {
          return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
          try {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  /** Fails with the status that it is sent, if that is the name of one; throws if told so. */
  static final MethodDescriptor<String, String> SAY =
      method("test.Echo/Say", MethodDescriptor.MethodType.UNARY);

  static final MethodDescriptor<String, String> CHAT =
      method("test.Echo/Chat", MethodDescriptor.MethodType.BIDI_STREAMING);

  private final AtomicInteger heard = new AtomicInteger();
  private final AtomicReference<Object> decision = new AtomicReference<>();
  private final Server server;

  Echo(ServerInterceptor... interceptors) throws IOException {
    ServerServiceDefinition service =
        ServerServiceDefinition.builder("test.Echo")
            .addMethod(SAY, ServerCalls.asyncUnaryCall(this::say))
            .addMethod(CHAT, ServerCalls.asyncBidiStreamingCall(this::chat))
            .build();
    server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .addService(ServerInterceptors.intercept(service, interceptors))
            .build()
            .start();
  }

  private static MethodDescriptor<String, String> method(
      String name, MethodDescriptor.MethodType type) {
    return MethodDescriptor.<String, String>newBuilder(TEXT, TEXT)
        .setFullMethodName(name)
        .setType(type)
        .build();
  }

  private void say(String words, StreamObserver<String> answer) {
    heard.incrementAndGet();
    decision.set(RateLimitServerInterceptor.DECISION.get());
    setCost(words);
    for (Status.Code code : Status.Code.values()) {
      if (words.equals(code.name())) {
        answer.onError(code.toStatus().asRuntimeException());
        return;
      }
    }
    if (words.equals("throw")) {
      throw new IllegalStateException("as the test wants");
    }
    answer.onNext(words);
    answer.onCompleted();
  }

  /** The words "cost 7" set a cost of 7. */
  private static void setCost(String words) {
    if (words.startsWith("cost ")) {
      RateLimitServerInterceptor.cost(Long.parseLong(words.substring("cost ".length())));
    }
  }

  private StreamObserver<String> chat(StreamObserver<String> answers) {
    heard.incrementAndGet();
    return new StreamObserver<>() {
      @Override
      public void onNext(String words) {
        setCost(words);
        answers.onNext(words);
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {
        answers.onCompleted();
      }
    };
  }

  ManagedChannel channel(ClientInterceptor... interceptors) {
    return Grpc.newChannelBuilder(
            "127.0.0.1:" + server.getPort(), InsecureChannelCredentials.create())
        .intercept(interceptors)
        .build();
  }

  /** Calls of the service so far. */
  int heard() {
    return heard.get();
  }

  Object decision() {
    return decision.get();
  }

  static void close(Channel channel) {
    var unused = ((ManagedChannel) channel).shutdownNow();
  }

  @Override
  public void close() {
    var unused = server.shutdownNow();
  }
}
