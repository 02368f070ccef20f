// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.outbound.Pacer;
import dev.sluice.outbound.RefusedRequestException;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls that wait before they leave, to a real server, on a clock that the test moves. */
class PacedGrpcTest {

  private static final Duration TOKEN = Duration.ofMillis(100);

  private final ManualTime time = new ManualTime();
  private final Limit limit = Limit.of(Quota.burst(1).refill(10, Duration.ofSeconds(1)), time);
  private Echo echo;
  private ManagedChannel channel;

  private void start(Duration maxWait) throws Exception {
    start(maxWait, new Echo());
  }

  private void start(Duration maxWait, Echo server) {
    echo = server;
    channel = echo.channel(PacedGrpc.interceptor(Pacer.builder(limit, maxWait).time(time).build()));
  }

  @AfterEach
  void stop() {
    Echo.close(channel);
    echo.close();
  }

  private Future<String> say(String words) {
    return ClientCalls.futureUnaryCall(channel.newCall(Echo.SAY, CallOptions.DEFAULT), words);
  }

  private static String heard(Future<String> answer)
      throws InterruptedException, ExecutionException, java.util.concurrent.TimeoutException {
    return answer.get(30, TimeUnit.SECONDS);
  }

  @Test
  void call_overTheRate_waitsForItsTurn() throws Exception {
    start(Duration.ofSeconds(10));
    assertThat(heard(say("one"))).isEqualTo("one");
    Future<String> second = say("two");
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();
    assertThat(echo.heard()).isEqualTo(1);

    time.advance(TOKEN);

    assertThat(heard(second)).isEqualTo("two");
  }

  @Test
  void blockingCall_thatWouldWaitTooLong_isRefusedAtOnce() throws Exception {
    start(TOKEN.minusNanos(1));
    assertThat(heard(say("one"))).isEqualTo("one");

    assertThatThrownBy(
            () -> ClientCalls.blockingUnaryCall(channel, Echo.SAY, CallOptions.DEFAULT, "two"))
        .isInstanceOf(StatusRuntimeException.class)
        .hasMessageStartingWith("RESOURCE_EXHAUSTED")
        .hasRootCauseInstanceOf(RefusedRequestException.class);
    assertThat(echo.heard()).isEqualTo(1);
  }

  /** Nobody else would tell: the exception ends in the stage that the call waited for. */
  @Test
  void call_thatCannotBeMade_isClosed() throws Exception {
    start(TOKEN);
    Channel broken =
        new Channel() {
          @Override
          public <Q, A> ClientCall<Q, A> newCall(
              MethodDescriptor<Q, A> method, CallOptions options) {
            throw new IllegalStateException("no call");
          }

          @Override
          public String authority() {
            return "localhost";
          }
        };
    Pacer pacer = Pacer.builder(limit, TOKEN).time(time).build();
    Channel paced = ClientInterceptors.intercept(broken, PacedGrpc.interceptor(pacer));
    Future<String> answer =
        ClientCalls.futureUnaryCall(paced.newCall(Echo.SAY, CallOptions.DEFAULT), "one");

    assertThatThrownBy(() -> heard(answer))
        .hasMessageContaining("INTERNAL: the call could not be started")
        .hasRootCauseMessage("no call");
  }

  @Test
  void call_whoseDeadlineIsTooShort_isRefusedAtOnce() throws Exception {
    start(Duration.ofHours(10));
    assertThat(heard(say("one"))).isEqualTo("one");
    for (int i = 0; i < 1_000; i++) { // 100 seconds
      var unused = say("waits");
    }

    assertThatThrownBy(
            () ->
                ClientCalls.blockingUnaryCall(
                    channel,
                    Echo.SAY,
                    CallOptions.DEFAULT.withDeadlineAfter(50, TimeUnit.SECONDS),
                    "last"))
        .hasMessageStartingWith("RESOURCE_EXHAUSTED");
  }

  @Test
  void call_cancelledWhileItWaits_isNotSent() throws Exception {
    start(Duration.ofSeconds(10));
    assertThat(heard(say("one"))).isEqualTo("one");
    Future<String> leaving = say("two");
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();
    Future<String> next = say("three");

    assertThat(leaving.cancel(true)).isTrue();
    time.advance(TOKEN.multipliedBy(2)); // who waits behind keeps its time

    assertThat(heard(next)).isEqualTo("three");
    assertThat(echo.heard()).isEqualTo(2);
  }

  @Test
  void context_cancelledWhileItWaits_givesUpItsTurn() throws Exception {
    start(Duration.ofSeconds(10));
    assertThat(heard(say("one"))).isEqualTo("one");
    Context.CancellableContext context = Context.current().withCancellation();
    Future<String> leaving = context.call(() -> say("two"));
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();

    assertThat(context.cancel(new IllegalStateException("no longer wanted"))).isTrue();

    assertThatThrownBy(() -> heard(leaving)).hasMessageContaining("CANCELLED");
    time.advance(TOKEN);
    assertThat(heard(say("three"))).isEqualTo("three");
  }

  @Test
  void stream_startedWhileItWaits_keepsItsOrder() throws Exception {
    start(Duration.ofSeconds(10));
    assertThat(heard(say("one"))).isEqualTo("one");
    BlockingQueue<String> answers = new LinkedBlockingQueue<>();
    ClientCall<String, String> call = channel.newCall(Echo.CHAT, CallOptions.DEFAULT);
    StreamObserver<String> stream =
        ClientCalls.asyncBidiStreamingCall(
            call,
            new StreamObserver<>() {
              @Override
              public void onNext(String words) {
                answers.add(words);
              }

              @Override
              public void onError(Throwable failure) {
                answers.add("failed: " + failure);
              }

              @Override
              public void onCompleted() {
                answers.add("(end)");
              }
            });
    stream.onNext("a");
    stream.onNext("b");
    assertThat(call.isReady()).isFalse();
    assertThat(time.awaitAlarm(Duration.ofSeconds(30))).as("somebody waits").isTrue();
    time.advance(TOKEN);
    stream.onNext("c");
    stream.onCompleted();

    for (String expected : List.of("a", "b", "c", "(end)")) {
      assertThat(answers.poll(30, TimeUnit.SECONDS)).isEqualTo(expected);
    }
  }

  @Test
  void call_afterADenial_waitsAsTheServerAsked() throws Exception {
    Limits limits =
        Limits.builder(Catalogue.of(LimitName.builder(1001, "AllCalls").jitter(0).build()))
            .limit("AllCalls", Quota.per(1, Duration.ofSeconds(30)))
            .build();
    try (RequestLimiter theirs =
        RequestLimiter.builder(Limiter.of(limits, BucketStore.inMemory(time)))
            .rule(Rule.on("/**").limit("AllCalls", VaryBy.constant("all")).build())
            .build()) {
      start(Duration.ofMinutes(1), new Echo(RateLimitServerInterceptor.of(theirs)));
      assertThat(heard(say("one"))).isEqualTo("one");
      time.advance(Duration.ofSeconds(10));
      assertThatThrownBy(() -> heard(say("two")))
          .cause()
          .satisfies(
              failure ->
                  assertThat(Status.fromThrowable(failure).getCode())
                      .isEqualTo(Status.Code.RESOURCE_EXHAUSTED));

      Future<String> third = say("three");
      time.advance(Duration.ofSeconds(20).minusNanos(1));
      assertThat(third).isNotDone();
      time.advance(Duration.ofNanos(1));

      assertThat(heard(third)).isEqualTo("three");
    }
  }

  @Test
  void call_whoseStatusDetailsCannotBeRead_endsWithItsStatus() throws Exception {
    byte[] ofAnotherCode =
        com.google.rpc.Status.newBuilder()
            .setCode(Status.Code.RESOURCE_EXHAUSTED.value())
            .build()
            .toByteArray();
    BlockingQueue<byte[]> details = new LinkedBlockingQueue<>();
    ServerInterceptor closing =
        new ServerInterceptor() {
          @Override
          public <Q, A> ServerCall.Listener<Q> interceptCall(
              ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            Metadata trailers = new Metadata();
            trailers.put(
                Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER),
                details.remove());
            call.close(Status.UNAVAILABLE, trailers);
            return new ServerCall.Listener<>() {};
          }
        };
    start(Duration.ofSeconds(10), new Echo(closing));

    for (byte[] unreadable : List.of(new byte[] {(byte) 0xff}, ofAnotherCode)) {
      details.add(unreadable);
      assertThatThrownBy(() -> heard(say("one"))).hasMessageContaining("UNAVAILABLE");
      time.advance(TOKEN);
    }
  }
}
