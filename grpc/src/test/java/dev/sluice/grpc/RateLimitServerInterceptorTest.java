// SPDX-License-Identifier: Apache-2.0
package dev.sluice.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.rpc.RetryInfo;
import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.RefusalHook;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import io.grpc.CallOptions;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls over real gRPC, on a clock that the test moves. */
class RateLimitServerInterceptorTest {

  private static final Metadata.Key<String> API_KEY =
      Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);

  private static final Metadata.Key<String> RATE_LIMIT =
      Metadata.Key.of("ratelimit", Metadata.ASCII_STRING_MARSHALLER);

  private static final long WAIT_NANOS = 1_500_000_000;

  private final ManualTime time = new ManualTime();
  private final AtomicReference<Metadata> headers = new AtomicReference<>();
  private final AtomicReference<Metadata> trailers = new AtomicReference<>();
  private Echo echo;
  private ManagedChannel channel;
  private Limiter decider;
  private RequestLimiter limiter;
  private RefusalHook hook = (request, decision, prepared) -> prepared;

  private void changeStatusTo(int status) {
    hook = (request, decision, prepared) -> prepared.withStatus(status);
  }

  private void start(Rule... rules) throws Exception {
    start(BucketStore.inMemory(time), rules);
  }

  private void start(BucketStore store, Rule... rules) throws Exception {
    Limits limits =
        Limits.builder(Catalogue.of(LimitName.builder(1001, "CallsPerKey").build()))
            .limit("CallsPerKey", Quota.burst(2).refill(1, Duration.ofMillis(1_500)))
            .build();
    decider =
        Limiter.builder(new CurrentLimits(limits), store).onFailure(FailureRule.fail()).build();
    RequestLimiter.Builder builder = RequestLimiter.builder(decider);
    for (Rule rule : rules) {
      builder.rule(rule);
    }
    limiter = builder.onDenied(hook).onError(hook).build();
    echo = new Echo(RateLimitServerInterceptor.of(limiter));
    channel = echo.channel(MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
  }

  @AfterEach
  void stop() {
    Echo.close(channel);
    echo.close();
    limiter.close();
  }

  private static Rule.Builder perKey(String path) {
    return Rule.on(path).limit("CallsPerKey", VaryBy.header("X-Api-Key"));
  }

  private String say(String words, ClientInterceptor... interceptors) {
    return ClientCalls.blockingUnaryCall(
        ClientInterceptors.intercept(channel, interceptors), Echo.SAY, CallOptions.DEFAULT, words);
  }

  private static ClientInterceptor key(String key) {
    Metadata metadata = new Metadata();
    metadata.put(API_KEY, key);
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  private static Status.Code code(Supplier<String> call) {
    try {
      var unused = call.get();
      return Status.Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  private static Rule estimated(long tokens) {
    Estimate estimate = Estimate.mean(1, tokens); // its first answer is the upper bound
    return perKey("/test.Echo/*").estimate(request -> estimate.of("all")).build();
  }

  private long left(String key) {
    return decider.check("CallsPerKey", key, 0).remaining();
  }

  @Test
  void trueCostOfACall_replacesItsEstimate() throws Exception {
    start(estimated(2));

    assertThat(say("hello", key("a"))).isEqualTo("hello");
    assertThat(left("a")).as("no cost was set").isZero();
    assertThat(say("cost 1", key("b"))).isEqualTo("cost 1");
    assertThat(left("b")).isEqualTo(1);
    assertThat(headers.get().get(RATE_LIMIT)).isEqualTo("\"CallsPerKey\";r=0");
    assertThat(trailers.get().get(RATE_LIMIT)).isEqualTo("\"CallsPerKey\";r=1");
    assertThat(code(() -> say("cost 0", key("c")))).isEqualTo(Status.Code.UNKNOWN);
    assertThat(left("c")).as("a cost of 0 is refused").isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void call_isAnswered_ifItsTrailersCannotBeRead(boolean isSettlement) throws Exception {
    BucketStore inMemory = BucketStore.inMemory(time);
    start(
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            Op op = charges.get(0).op();
            if (isSettlement && op != Op.SPEND && op != Op.CHECK) {
              throw new StoreException("away");
            }
            if (!isSettlement && op == Op.CHECK) {
              throw new IllegalStateException("as the test wants");
            }
            return inMemory.charge(charges);
          }
        },
        estimated(2));

    assertThat(say("cost 1", key("a"))).isEqualTo("cost 1");

    assertThat(headers.get().get(RATE_LIMIT)).isEqualTo("\"CallsPerKey\";r=0");
    assertThat(trailers.get().get(RATE_LIMIT)).isNull();
  }

  @Test
  void lastCostOfAStream_isChargedAtItsEnd() throws Exception {
    start(estimated(2));
    BlockingQueue<String> heard = new LinkedBlockingQueue<>();
    StreamObserver<String> calls =
        ClientCalls.asyncBidiStreamingCall(
            ClientInterceptors.intercept(channel, key("a")).newCall(Echo.CHAT, CallOptions.DEFAULT),
            new StreamObserver<>() {
              @Override
              public void onNext(String words) {
                heard.add(words);
              }

              @Override
              public void onError(Throwable failure) {
                heard.add("failed");
              }

              @Override
              public void onCompleted() {
                heard.add("completed");
              }
            });
    calls.onNext("cost 2");
    calls.onNext("cost 1");
    assertThat(heard.take()).isEqualTo("cost 2");
    assertThat(heard.take()).isEqualTo("cost 1");
    assertThat(left("a")).as("before the end").isZero();
    calls.onCompleted();
    assertThat(heard.take()).isEqualTo("completed");
    assertThat(left("a")).isEqualTo(1);
  }

  @Test
  void costWithoutAnEstimate_changesNothing() throws Exception {
    start(perKey("/test.Echo/*").build());

    assertThat(say("cost 2", key("a"))).isEqualTo("cost 2");

    assertThat(left("a")).isEqualTo(1);
  }

  @Test
  void call_overTheLimit_isExhausted_andSaysHowLongToWait() throws Exception {
    start(perKey("/test.Echo/*").build());
    assertThat(say("one", key("ann"))).isEqualTo("one");
    assertThat(say("two", key("ann"))).isEqualTo("two");
    assertThat(((Decision) echo.decision()).remaining()).isZero();

    assertThatThrownBy(() -> say("three", key("ann")))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            refused -> {
              assertThat(refused.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
              assertThat(refused.getStatus().getDescription()).contains("CallsPerKey");
              long nanos = waitNanos(refused);
              assertThat(nanos).isBetween(WAIT_NANOS, WAIT_NANOS * 103 / 100);
              assertThat(refused.getTrailers().get(Statuses.PUSHBACK))
                  .isEqualTo(Long.toString((nanos + 999_999) / 1_000_000));
            });
    assertThat(say("four", key("bob"))).isEqualTo("four");
    time.advance(Duration.ofMillis(1_500));
    assertThat(say("five", key("ann"))).isEqualTo("five");
    assertThat(echo.heard()).isEqualTo(4);
  }

  @Test
  void denials_ofTheSameMoment_haveDifferentWaits() throws Exception {
    start(perKey("/test.Echo/*").build());
    Set<Long> waits = new HashSet<>();
    for (int i = 0; i < 22; i++) {
      try {
        assertThat(say("more", key("ann"))).isEqualTo("more");
      } catch (StatusRuntimeException refused) {
        waits.add(waitNanos(refused));
      }
    }
    assertThat(waits).hasSizeGreaterThan(10);
  }

  private static long waitNanos(StatusRuntimeException refused) {
    com.google.protobuf.Duration delay = retryInfo(refused).getRetryDelay();
    return Duration.ofSeconds(delay.getSeconds(), delay.getNanos()).toNanos();
  }

  private static RetryInfo retryInfo(StatusRuntimeException refused) {
    try {
      return StatusProto.fromThrowable(refused).getDetails(0).unpack(RetryInfo.class);
    } catch (com.google.protobuf.InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void call_thatPasses_saysWhatIsLeft() throws Exception {
    start(perKey("/test.Echo/*").build());
    assertThat(say("one", key("ann"))).isEqualTo("one");

    assertThat(headers.get().get(RATE_LIMIT)).isEqualTo("\"CallsPerKey\";r=1");
    assertThat(trailers.get().get(RATE_LIMIT)).as("only after a settlement").isNull();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void call_ofTwoInterceptors_saysWhatTheStricterLeaves_once(boolean isStricterFirst)
      throws Exception {
    start(perKey("/test.Echo/*").build());
    Rule ofAll = Rule.on("/**").limit("CallsPerKey", VaryBy.constant("all")).cost(2).build();
    Echo.close(channel);
    echo.close();
    try (RequestLimiter other = RequestLimiter.builder(decider).rule(ofAll).build()) {
      echo =
          new Echo(
              RateLimitServerInterceptor.of(isStricterFirst ? other : limiter),
              RateLimitServerInterceptor.of(isStricterFirst ? limiter : other));
      channel = echo.channel(MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));

      assertThat(say("one", key("ann"))).isEqualTo("one");

      assertThat(headers.get().getAll(RATE_LIMIT)).containsExactly("\"CallsPerKey\";r=0");
      assertThat(((Decision) echo.decision()).remaining()).isZero();
    }
  }

  @Test
  void rule_isForItsMethodsOnly() throws Exception {
    start(perKey("/test.Echo/Chat").build());
    for (int i = 0; i < 5; i++) {
      assertThat(say("" + i)).isEqualTo("" + i);
    }
    assertThat(echo.decision()).isNull();
  }

  @Test
  @SuppressWarnings({"NullAway", "CheckReturnValue"}) // nulls are what this is about
  void null_isRefusedAtTheDoor() throws Exception {
    start(perKey("/test.Echo/*").build());
    assertThatThrownBy(() -> RateLimitServerInterceptor.of(null)).hasMessage("limiter");
    assertThatThrownBy(() -> PacedGrpc.interceptor(null)).hasMessage("pacer");
  }

  @Test
  void call_withoutItsId_isAnInvalidArgument_thatSaysWhatIsMissing() throws Exception {
    start(perKey("/test.Echo/*").build());

    assertThatThrownBy(() -> say("one"))
        .hasMessage(
            "INVALID_ARGUMENT: the request lacks the header X-Api-Key, which a limit needs");
    assertThat(echo.heard()).isZero();
  }

  @Test
  void address_ofTheClient_isTheConnections() throws Exception {
    start(Rule.on("/test.Echo/Say").limit("CallsPerKey", VaryBy.clientAddress()).build());
    assertThat(say("one")).isEqualTo("one");

    assertThat(((Decision) echo.decision()).transaction().id()).isEqualTo("127.0.0.1");
  }

  @Test
  void countOnly_failedCalls_goodOnesCostNothing() throws Exception {
    start(perKey("/test.Echo/Say").countOnly(401).build());
    for (int i = 0; i < 5; i++) {
      assertThat(say("good", key("ann"))).isEqualTo("good");
    }
    for (int i = 0; i < 2; i++) {
      assertThat(code(() -> say("UNAUTHENTICATED", key("ann"))))
          .isEqualTo(Status.Code.UNAUTHENTICATED);
    }
    assertThat(code(() -> say("good", key("ann")))).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
  }

  /** Which gRPC answers itself, with UNKNOWN. */
  @Test
  void countOnly_exceptionOfTheHandler_isA500() throws Exception {
    start(perKey("/test.Echo/Say").countOnly(401).build());

    for (int i = 0; i < 5; i++) {
      assertThat(code(() -> say("throw", key("ann")))).isEqualTo(Status.Code.UNKNOWN);
    }
  }

  @Test
  void store_thatFails_isUnavailable() throws Exception {
    start(
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new StoreException("away");
          }
        },
        perKey("/test.Echo/*").build());

    assertThat(code(() -> say("one", key("ann")))).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(echo.heard()).isZero();
  }

  @Test
  void quotaFunction_thatFails_isInternal() throws Exception {
    start(
        Rule.on("/test.Echo/*")
            .limit(
                "CallsPerKey",
                request -> {
                  throw new IllegalStateException("the database is away");
                },
                VaryBy.header("X-Api-Key"))
            .build());

    assertThatThrownBy(() -> say("one", key("ann")))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            refused -> {
              assertThat(refused.getStatus().getCode()).isEqualTo(Status.Code.INTERNAL);
              assertThat(refused.getStatus().getDescription())
                  .isEqualTo("the quota of the call is unknown");
            });
  }

  /** The status of an HTTP response does not change what a client of gRPC retries after. */
  @Test
  void denial_whoseHookChoosesAnotherStatus_isExhausted() throws Exception {
    changeStatusTo(403);
    start(perKey("/test.Echo/*").cost(2).build());
    assertThat(say("one", key("ann"))).isEqualTo("one");

    assertThat(code(() -> say("two", key("ann")))).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
  }

  @ParameterizedTest
  @CsvSource({"400, INVALID_ARGUMENT", "401, UNAUTHENTICATED", "403, PERMISSION_DENIED"})
  void error_whoseHookChoosesAnotherStatus_hasItsCode(int status, Status.Code code)
      throws Exception {
    changeStatusTo(status);
    start(perKey("/test.Echo/*").build());

    assertThat(code(() -> say("one"))).isEqualTo(code);
  }

  @Test
  void statuses_haveTheirHttpCounterpart() throws Exception {
    start(perKey("/test.Echo/*").countAllButSuccess().build());
    assertThat(say("good", key("ann"))).isEqualTo("good");
    for (Status.Code code : Status.Code.values()) {
      assertThat(Statuses.http(code.toStatus())).as(code.name()).isBetween(200, 599);
    }
  }
}
