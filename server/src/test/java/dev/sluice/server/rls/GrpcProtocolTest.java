// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.Eventually.await;
import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static dev.sluice.server.rls.TestRlsServer.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.linecorp.armeria.client.ClientRequestContextCaptor;
import com.linecorp.armeria.client.Clients;
import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.client.grpc.GrpcClients;
import com.linecorp.armeria.client.retry.RetryRule;
import com.linecorp.armeria.client.retry.RetryingClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpRequestWriter;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.grpc.GrpcService;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.Aside;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Permission;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.RlsPart.LateGrpc;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.web.HeaderProfile;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceStub;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc.HealthBlockingStub;
import io.grpc.reflection.v1.ServerReflectionGrpc.ServerReflectionStub;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The protocol around the question: health, reflection, deadlines, bounds, bad input, the end. */
@Tag("slow")
final class GrpcProtocolTest {

  private static final String METHOD =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  private static final String HEALTH = "/grpc.health.v1.Health/Check";
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final int GOAWAY = 7;
  private static final int FRAME_SIZE_ERROR = 6;

  private final GatedStore store = new GatedStore();
  private final TestRlsServer server = new TestRlsServer(limits(), store);

  private static Limits limits() {
    return Limits.builder(Catalogue.of(LimitName.builder(1, "PerUser").build()))
        .limit("PerUser", Quota.per(1_000, Duration.ofMinutes(1)))
        .build();
  }

  @AfterEach
  void stop() {
    store.gate.complete(null);
    server.close();
  }

  /** Answers when the test says so, and is away when it says so. */
  private static final class GatedStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory();
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CompletableFuture<Void> gate = new CompletableFuture<>();
    private volatile boolean gated;
    private volatile boolean away;
    private volatile CompletableFuture<List<Reading>> last = new CompletableFuture<>();

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      if (!gated) {
        return memory.chargeAsync(charges);
      }
      CompletableFuture<List<Reading>> answer = new CompletableFuture<>();
      last = answer;
      var unused = gate.thenRun(() -> answer.complete(memory.charge(charges)));
      asked.countDown();
      return answer;
    }

    @Override
    public void ping() {
      if (away) {
        throw new StoreException("the store is away");
      }
    }
  }

  private HealthBlockingStub health() {
    return GrpcClients.newClient(server.uri(), HealthBlockingStub.class);
  }

  private ServingStatus health(String service) {
    return health().check(HealthCheckRequest.newBuilder().setService(service).build()).getStatus();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "ratelimit", "envoy.service.ratelimit.v3.RateLimitService"})
  void health_followsReadiness(String service) {
    assertThat(health(service)).isEqualTo(ServingStatus.SERVING);
    store.away = true;
    assertThat(health(service)).isEqualTo(ServingStatus.NOT_SERVING);
    store.away = false;
    server.traffic.unready();
    assertThat(health(service)).isEqualTo(ServingStatus.NOT_SERVING);
  }

  /** The HTTP library caches paths as they were first spelled, for the whole process. */
  @Test
  void pathInAnotherSpelling_isRefused_andDoesNotShutTheDoorForOthers() throws Exception {
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    for (String path : List.of(METHOD, HEALTH)) {
      for (int i = 0; i < 2; i++) {
        HttpResponse<Void> refused =
            client.send(
                java.net.http.HttpRequest.newBuilder(
                        URI.create("http://" + HostPort.format(server.address()) + "/" + path))
                    .header("Content-Type", "application/grpc")
                    .POST(BodyPublishers.ofByteArray(new byte[5]))
                    .build(),
                BodyHandlers.discarding());
        assertThat(refused.headers().firstValue("grpc-message").orElseThrow())
            .contains("/" + path + " is spelled differently");
      }
    }
    assertThat(health("")).isEqualTo(ServingStatus.SERVING);
    assertThat(server.ask(descriptor("PerUser", "ann")).getStatuses(0).getLimitRemaining())
        .isEqualTo(999);
    LateGrpc late =
        new LateGrpc(() -> GrpcService.builder().build(), Map.of("a/B", Permission.DECIDE));
    assertThat(late.shouldCachePath("/a/B", null, Route.builder().exact("/a/B").build())).isFalse();
  }

  @Test
  void health_ofAnotherService_isNotFound() {
    assertThatThrownBy(() -> health("nobody"))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.NOT_FOUND));
  }

  @Test
  void watch_isNotImplemented() {
    assertThatThrownBy(() -> health().watch(HealthCheckRequest.getDefaultInstance()).next())
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED));
  }

  private static List<ServerReflectionRequest> questions() {
    return List.of(
        ServerReflectionRequest.newBuilder().setListServices("").build(),
        ServerReflectionRequest.newBuilder()
            .setFileContainingSymbol("envoy.service.ratelimit.v3.RateLimitService")
            .build(),
        ServerReflectionRequest.newBuilder()
            .setFileByFilename("envoy/config/core/v3/base.proto")
            .build(),
        ServerReflectionRequest.newBuilder().setFileContainingSymbol("nope").build());
  }

  /** A client of reflection reads an answer before it asks the next question. */
  @Test
  void reflection_answersOneQuestionAfterTheOther_eachOnce() throws Exception {
    BlockingQueue<ServerReflectionResponse> answers = new LinkedBlockingQueue<>();
    CompletableFuture<Void> ended = new CompletableFuture<>();
    StreamObserver<ServerReflectionRequest> asked = reflection(answers, ended);
    List<ServerReflectionResponse> all = new ArrayList<>();

    for (ServerReflectionRequest question : questions()) {
      asked.onNext(question);
      all.add(next(answers));
    }
    asked.onCompleted();
    ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);

    assertThat(answers).isEmpty();
    assertThat(all).extracting(ServerReflectionResponse::getOriginalRequest).isEqualTo(questions());
    assertThat(all.get(0).getListServicesResponse().getServiceList())
        .extracting("name")
        .contains(
            "envoy.service.ratelimit.v3.RateLimitService",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection");
    assertThat(all.get(1).getFileDescriptorResponse().getFileDescriptorProtoList()).isNotEmpty();
    assertThat(all.get(2).getFileDescriptorResponse().getFileDescriptorProtoList()).isNotEmpty();
    assertThat(all.get(3).getErrorResponse().getErrorCode())
        .isEqualTo(Status.Code.NOT_FOUND.value());
  }

  @Test
  void reflection_answersQuestionsThatArriveAtOnce_eachOnce() throws Exception {
    for (int i = 0; i < 20; i++) {
      BlockingQueue<ServerReflectionResponse> answers = new LinkedBlockingQueue<>();
      CompletableFuture<Void> ended = new CompletableFuture<>();
      StreamObserver<ServerReflectionRequest> asked = reflection(answers, ended);

      questions().forEach(asked::onNext);
      asked.onCompleted();
      ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);

      assertThat(answers)
          .extracting(ServerReflectionResponse::getOriginalRequest)
          .containsExactlyElementsOf(questions());
    }
  }

  private StreamObserver<ServerReflectionRequest> reflection(
      BlockingQueue<ServerReflectionResponse> answers, CompletableFuture<Void> ended) {
    return GrpcClients.newClient(server.uri(), ServerReflectionStub.class)
        .serverReflectionInfo(
            new StreamObserver<>() {
              @Override
              public void onNext(ServerReflectionResponse answer) {
                answers.add(answer);
              }

              @Override
              public void onError(Throwable failure) {
                ended.completeExceptionally(failure);
              }

              @Override
              public void onCompleted() {
                ended.complete(null);
              }
            });
  }

  private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
    return Objects.requireNonNull(queue.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
  }

  private static <T> StreamObserver<T> observer(BlockingQueue<T> answers) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T answer) {
        answers.add(answer);
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {}
    };
  }

  @Test
  void deadline_endsTheWait_andWhatHasNotLeftIsNotCharged() {
    var client = server.client();
    var unused = client.shouldRateLimit(request(descriptor("PerUser", "joe")).build());
    store.gated = true;
    assertThatThrownBy(
            () ->
                client
                    .withDeadlineAfter(4, TimeUnit.SECONDS)
                    .shouldRateLimit(request(descriptor("PerUser", "ann")).build()))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED));
    await().untilAsserted(() -> assertThat(store.last).isCancelled());
  }

  /** A deadline that a client sends by itself, without keeping to it. */
  @ParameterizedTest
  @CsvSource({"identity, true", "identity, false", "gzip, true", "gzip, false"})
  void deadline_isKeptByTheServer_andCountedOnce(String encoding, boolean first) {
    if (!first) {
      var unused = post(METHOD, framed(message("bob")), "grpc-encoding", encoding);
      server.meters.clear();
    }
    store.gated = true;
    AggregatedHttpResponse response =
        post(METHOD, framed(message("ann")), "grpc-timeout", "100m", "grpc-encoding", encoding);
    assertThat(response.trailers().get("grpc-status", response.headers().get("grpc-status")))
        .isEqualTo(Integer.toString(Status.Code.DEADLINE_EXCEEDED.value()));
    // Armeria may send this status before the server gives the charge up.
    await()
        .untilAsserted(
            () -> assertThat(server.meters.find("sluice.rls.requests").timers()).isNotEmpty());
    store.gate.complete(null);
    server.stop();
    assertThat(server.meters.find("sluice.rls.requests").timers())
        .extracting(timer -> timer.getId().getTag("result"), Timer::count)
        .containsExactly(tuple("deadline_exceeded", 1L));
  }

  @Test
  void deadlineThatIsNone_isAnInvalidArgument() {
    AggregatedHttpResponse response = post(METHOD, framed(message("ann")), "grpc-timeout", "soon");
    assertThat(status(response)).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(response.headers().get("grpc-message"))
        .isEqualTo("grpc-timeout: expected up to eight digits and one of H, M, S, m, u, n");
  }

  /** The same message, once by the way of the library, since its header names an encoding. */
  @Test
  void plainCall_getsTheAnswerThatTheLibraryGives() {
    AggregatedHttpResponse plain = post(METHOD, framed(message("ann")));
    AggregatedHttpResponse byLibrary =
        post(METHOD, framed(message("bob")), "grpc-encoding", "gzip");
    assertThat(byLibrary.status()).isEqualTo(plain.status());
    assertThat(byLibrary.headers().contentType()).isEqualTo(plain.headers().contentType());
    assertThat(byLibrary.content()).isEqualTo(plain.content());
    assertThat(byLibrary.trailers().get("grpc-status"))
        .isEqualTo(plain.trailers().get("grpc-status"))
        .isEqualTo("0");
  }

  /** Else a proxy with {@code failure_mode_deny: false} would let it pass all limits. */
  @ParameterizedTest
  @CsvSource({"h2c, identity", "h2c, gzip", "h1c, identity"})
  void valueThatIsNotUtf8_isDenied_andDoesNotOpenTheOtherLimits(String protocol, String encoding)
      throws Exception {
    RateLimitOverride limit =
        RateLimitOverride.newBuilder().setRequestsPerUnit(100).setUnit(RateLimitUnit.HOUR).build();
    byte[] asked =
        notUtf8(
            request(
                descriptor("PerUser", "ann"),
                descriptor("PerUser", "caf\37"),
                descriptor("caf\37", "b"),
                descriptor("a", "b\37").setLimit(limit)));
    AggregatedHttpResponse response =
        post(protocol, METHOD, framed(asked), "grpc-encoding", encoding);

    assertThat(status(response)).isEqualTo(Status.Code.OK);
    byte[] content = response.content().array();
    RateLimitResponse answer =
        RateLimitResponse.parseFrom(Arrays.copyOfRange(content, 5, content.length));
    assertThat(answer.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(answer.getStatusesList())
        .extracting(DescriptorStatus::getCode)
        .containsExactly(Code.OK, Code.OVER_LIMIT, Code.OK, Code.OVER_LIMIT);
    assertThat(answer.getRawBody().toStringUtf8()).contains("not text in UTF-8");
    assertThat(server.ask(descriptor("PerUser", "ann")).getStatuses(0).getLimitRemaining())
        .as("nothing was charged")
        .isEqualTo(999);
  }

  /** As bytes, with one that begins no character in place of each U+001F. */
  private static byte[] notUtf8(RateLimitRequest.Builder request) {
    byte[] bytes = request.build().toByteArray();
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = bytes[i] == 0x1f ? (byte) 0xff : bytes[i];
    }
    return bytes;
  }

  @ParameterizedTest
  @CsvSource({"h2c, identity", "h2c, gzip", "h1c, identity"})
  void messageThatIsAnother_isAnInvalidArgument(String protocol, String encoding) {
    byte[] message = {0x0a, 100, 'x'}; // a domain that is longer than the message
    AggregatedHttpResponse response =
        post(protocol, METHOD, framed(message), "grpc-encoding", encoding);
    assertThat(status(response)).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(response.headers().get("grpc-message")).contains("not a RateLimitRequest");
    byte[] domain = {0x0a, 1, (byte) 0xff};
    AggregatedHttpResponse unreadable =
        post(protocol, METHOD, framed(domain), "grpc-encoding", encoding);
    assertThat(status(unreadable)).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(unreadable.headers().get("grpc-message")).contains("domain");
    AggregatedHttpResponse probe = post(protocol, HEALTH, framed(message));
    assertThat(status(probe)).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(probe.headers().get("grpc-message")).contains("that this method does not accept");
  }

  @ParameterizedTest
  @CsvSource({"h2c, 0", "h1c, 0", "h2c, 3", "h1c, 3"})
  void bodyWithoutAMessage_isToldAsTheClientsMistake(String protocol, int bytes) {
    for (String path : List.of(METHOD, HEALTH)) {
      AggregatedHttpResponse response = post(protocol, path, new byte[bytes]);
      assertThat(response.headers().get("grpc-message"))
          .isEqualTo(
              bytes == 0
                  ? "the body is empty, expected one message"
                  : "the request ends in the middle of a message");
    }
    assertServes();
  }

  private static byte[] message(String id) {
    return request(descriptor("PerUser", id)).build().toByteArray();
  }

  /** A message as gRPC frames it. */
  private static byte[] framed(byte[] message) {
    byte[] framed = new byte[message.length + 5];
    framed[1] = (byte) (message.length >>> 24);
    framed[2] = (byte) (message.length >>> 16);
    framed[3] = (byte) (message.length >>> 8);
    framed[4] = (byte) message.length;
    System.arraycopy(message, 0, framed, 5, message.length);
    return framed;
  }

  private AggregatedHttpResponse post(String path, byte[] body, String... more) {
    return post("h2c", path, body, more);
  }

  private AggregatedHttpResponse post(String protocol, String path, byte[] body, String... more) {
    return post(server, protocol, path, body, more);
  }

  private static AggregatedHttpResponse post(
      TestRlsServer server, String protocol, String path, byte[] body, String... more) {
    var headers =
        RequestHeaders.builder(HttpMethod.POST, path)
            .set("content-type", "application/grpc")
            .set("te", "trailers");
    for (int i = 0; i < more.length; i += 2) {
      headers.set(more[i], more[i + 1]);
    }
    return WebClient.of(protocol + "://" + HostPort.format(server.address()))
        .execute(HttpRequest.of(headers.build(), HttpData.wrap(body)))
        .aggregate()
        .join();
  }

  private static Status.Code status(AggregatedHttpResponse response) {
    assertThat(response.status().code()).isEqualTo(200);
    String status =
        response.trailers().get("grpc-status", response.headers().get("grpc-status", ""));
    assertThat(status).as("%s", response).isNotEmpty();
    return Status.fromCodeValue(Integer.parseInt(status)).getCode();
  }

  @Test
  void frames_areRead() {
    assertThat(status(post(METHOD, framed(message("ann"))))).isEqualTo(Status.Code.OK);
  }

  @Test
  void proxiesNameForTheServer_isItsOwn() {
    assertThat(status(post(METHOD, framed(message("ann")), ":authority", "ratelimit_cluster")))
        .isEqualTo(Status.Code.OK);
  }

  @ParameterizedTest
  @CsvSource({
    "/envoy.service.ratelimit.v3.RateLimitService/Other",
    "/envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit",
    "/nothing"
  })
  void wrongPath_isUnimplemented(String path) {
    assertThat(status(post(path, framed(message("ann"))))).isEqualTo(Status.Code.UNIMPLEMENTED);
    assertServes();
  }

  /** A client that asks for an older reflection waits for the answer with its stream open. */
  @Test
  void openStreamOfAnUnknownMethod_isUnimplementedAtOnce() {
    HttpRequestWriter stream =
        HttpRequest.streaming(
            RequestHeaders.of(
                HttpMethod.POST,
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                "content-type",
                "application/grpc"));
    AggregatedHttpResponse answer =
        WebClient.of("h2c://" + HostPort.format(server.address()))
            .execute(stream)
            .aggregate()
            .join();
    assertThat(status(answer)).isEqualTo(Status.Code.UNIMPLEMENTED);
    stream.close();
  }

  @Test
  void callsThatNoServiceAnswers_countForTheirAddressToo() {
    Access access =
        Access.open(
            AuditLog.none(),
            new SimpleMeterRegistry(),
            Quota.burst(3).refill(1, Duration.ofDays(1)),
            true);
    try (TestRlsServer bounded =
        new TestRlsServer(limits(), store, port -> port.part(new AccessPart(access)))) {
      byte[] body = framed(message("ann"));
      assertThat(status(post(bounded, "h2c", "/nothing", body)))
          .isEqualTo(Status.Code.UNIMPLEMENTED);
      assertThat(status(post(bounded, "h2c", METHOD, body, "grpc-timeout", "soon")))
          .isEqualTo(Status.Code.INVALID_ARGUMENT);
      assertThat(status(post(bounded, "h2c", METHOD, body))).isEqualTo(Status.Code.OK);
      assertThat(status(post(bounded, "h2c", METHOD, body)))
          .isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    }
  }

  @Test
  void truncatedFrames_areErrors() {
    byte[] whole = framed(message("ann"));
    for (int length = 0; length < whole.length; length++) {
      byte[] part = Arrays.copyOf(whole, length);
      assertThat(status(post(METHOD, part))).as("%s bytes", length).isNotEqualTo(Status.Code.OK);
    }
    assertServes();
  }

  /** The last one is beyond what a signed number says. */
  @ParameterizedTest
  @ValueSource(ints = {SluiceServer.MAX_BODY + 1, 16 << 20, Integer.MAX_VALUE, -1})
  void declaredLengthBeyondTheBound_isRefused(int length) {
    byte[] frame = framed(message("ann"));
    ByteBuffer.wrap(frame).putInt(1, length);
    AggregatedHttpResponse response = post(METHOD, frame);
    assertThat(status(response)).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(response.headers().get("grpc-message")).contains("131072");
    assertServes();
  }

  /** Each group is in the one before; a parser that followed them would run out of stack. */
  @ParameterizedTest
  @CsvSource({"1000, true", "60000, true", "1000, false", "60000, false", "120000, false"})
  void nestedGroups_areAnError(int depth, boolean ended) {
    byte[] question = message("ann");
    byte[] nested = Arrays.copyOf(question, question.length + depth * (ended ? 2 : 1));
    Arrays.fill(nested, question.length, question.length + depth, (byte) 0x7b); // field 15 begins
    Arrays.fill(nested, question.length + depth, nested.length, (byte) 0x7c); // and ends
    AggregatedHttpResponse response = post(METHOD, framed(nested));
    assertThat(status(response)).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(response.headers().get("grpc-message")).contains("not a RateLimitRequest");
    assertServes();
  }

  /** Some are fields of a later version of the message. */
  @Test
  void fewNestedGroups_areUnknownFields() {
    byte[] question = message("ann");
    byte[] nested = Arrays.copyOf(question, question.length + 20);
    Arrays.fill(nested, question.length, question.length + 10, (byte) 0x7b);
    Arrays.fill(nested, question.length + 10, nested.length, (byte) 0x7c);
    assertThat(status(post(METHOD, framed(nested)))).isEqualTo(Status.Code.OK);
  }

  /** A frame of HTTP/2 has at most 16 KiB where nobody asked for more. */
  @Test
  void frameOf16Megabytes_endsItsConnection_withAReason() throws IOException {
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      socket.setSoTimeout((int) PATIENCE.toMillis());
      OutputStream out = socket.getOutputStream();
      out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      out.write(new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0}); // no settings
      out.write(new byte[] {-1, -1, -1, 0, 0, 0, 0, 0, 1}); // data of 2^24 - 1 bytes
      DataInputStream in = new DataInputStream(socket.getInputStream());
      byte[] header = new byte[9];
      byte[] payload;
      do {
        in.readFully(header);
        payload = in.readNBytes(ByteBuffer.wrap(header).getInt() >>> 8);
      } while (header[3] != GOAWAY);
      assertThat(ByteBuffer.wrap(payload).getInt(4)).isEqualTo(FRAME_SIZE_ERROR);
    }
    assertServes();
  }

  /** What the server refuses before any service sees it is told in the door's own language. */
  @Test
  void webPage_isRefused_asGrpcTellsIt() {
    AggregatedHttpResponse response =
        post(METHOD, framed(message("ann")), "origin", "https://evil.example");
    assertThat(status(response)).isEqualTo(Status.Code.PERMISSION_DENIED);
    assertServes();
  }

  /**
   * A client chooses the size, and an error would open all limits. Far beyond the bound too, where
   * the proxy still sends when it is answered.
   */
  @ParameterizedTest
  @ValueSource(ints = {SluiceServer.MAX_BODY + 1, 140_000, 200_000, 3 << 20})
  void largeBody_isOverItsLimit(int bytes) throws Exception {
    AggregatedHttpResponse response = post(METHOD, framed(new byte[bytes]));
    assertThat(status(response)).isEqualTo(Status.Code.OK);
    byte[] frame = response.content().array();
    RateLimitResponse answer =
        RateLimitResponse.parseFrom(Arrays.copyOfRange(frame, 5, frame.length));
    assertThat(answer.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
    assertThat(answer.getRawBody().toStringUtf8()).contains("131072").doesNotContain("rls.");
    assertServes();
  }

  @Test
  void largeBody_passes_inShadowMode() throws Exception {
    Settings shadow = new Settings(OverridePolicy.ALLOW, HeaderProfile.IETF, List.of(), true, 0.8);
    try (TestRlsServer tried = new TestRlsServer(limits(), store, shadow)) {
      RateLimitResponse answer =
          tried.ask(descriptor("PerUser", "ann"), descriptor("path", "/".repeat(140_000)));
      assertThat(answer.getOverallCode()).isEqualTo(Code.OK);
    }
  }

  @Test
  void largeBody_forAnotherMethod_isRefused() {
    assertThat(status(post(HEALTH, framed(new byte[140_000]))))
        .isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
  }

  /** Its words for what is no message begin with the name of a class of its own. */
  @ParameterizedTest
  @CsvSource({"1, identity", "1, gzip", "2, identity", "255, gzip", "1, snappy"})
  void brokenFrames_areToldWithoutNamesOfClasses(int flags, String encoding) {
    byte[] frame = framed(message("ann"));
    frame[0] = (byte) flags;
    AggregatedHttpResponse response = post(METHOD, frame, "grpc-encoding", encoding);
    String told =
        response.trailers().get("grpc-message", response.headers().get("grpc-message", ""));
    assertThat(told).isNotEmpty().doesNotContainPattern("[a-z]\\.[a-z]|Exception");
    assertServes();
  }

  /** A few bytes that unpack to more than a message may have; an error would open all limits. */
  @ParameterizedTest
  @CsvSource({"h2c, 8000000", "h1c, 8000000", "h2c, 131072", "h2c, 131000"})
  void compressedLargeMessage_isOverItsLimit(String protocol, int length) throws Exception {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
      gzip.write(
          request(descriptor("PerUser", "ann"))
              .setDomain("a".repeat(length))
              .build()
              .toByteArray());
    }
    byte[] frame = framed(packed.toByteArray());
    frame[0] = 1;
    AggregatedHttpResponse response = post(protocol, METHOD, frame, "grpc-encoding", "gzip");
    assertThat(status(response)).isEqualTo(Status.Code.OK);
    byte[] content = response.content().array();
    assertThat(
            RateLimitResponse.parseFrom(Arrays.copyOfRange(content, 5, content.length))
                .getOverallCode())
        .isEqualTo(length > 131_000 ? Code.OVER_LIMIT : Code.OK);
    assertServes();
  }

  @Test
  void garbage_isAnError_andOthersAreServed() {
    long seed = Long.getLong("sluice.seed", 1);
    Random random = new Random(seed);
    for (int i = 0; i < 300; i++) {
      byte[] bytes = new byte[random.nextInt(200)];
      random.nextBytes(bytes);
      AggregatedHttpResponse response = post(METHOD, random.nextBoolean() ? bytes : framed(bytes));
      assertThat(status(response)).as("seed %s, round %s", seed, i).isNotNull();
    }
    assertServes();
  }

  /** Bytes that are not HTTP at all end their own connection only. */
  @Test
  void garbageConnections_harmNobody() {
    Random random = new Random(7);
    for (int i = 0; i < 50; i++) {
      byte[] bytes = new byte[1 + random.nextInt(2_000)];
      random.nextBytes(bytes);
      sendAlone(bytes);
    }
    assertServes();
  }

  /** The server may hang up while it is sent to. */
  private void sendAlone(byte[] bytes) {
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      socket.getOutputStream().write(bytes);
    } catch (IOException hungUp) {
      assertThat(hungUp).isInstanceOf(SocketException.class);
    }
  }

  private void assertServes() {
    RateLimitResponse response = server.ask(descriptor("PerUser", "somebody-else"));
    assertThat(response.getOverallCode()).isEqualTo(Code.OK);
  }

  @Test
  void serverThatStops_answersWhatIsInFlight() throws Exception {
    store.gated = true;
    BlockingQueue<RateLimitResponse> answers = new LinkedBlockingQueue<>();
    RateLimitServiceStub client = GrpcClients.newClient(server.uri(), RateLimitServiceStub.class);
    client.shouldRateLimit(request(descriptor("PerUser", "ann")).build(), observer(answers));
    assertThat(store.asked.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();

    CompletableFuture<Void> stopped = Aside.run(server::stop);
    store.gate.complete(null);

    assertThat(next(answers).getOverallCode()).isEqualTo(Code.OK);
    stopped.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void oldConnection_isReplaced_andNothingIsLost() {
    try (TestRlsServer young =
        new TestRlsServer(limits(), store, port -> port.maxConnectionAge(Duration.ofSeconds(1)))) {
      // As every client of gRPC, it sends again what never left: its connection may end just then.
      var client =
          GrpcClients.builder(young.uri())
              .decorator(RetryingClient.newDecorator(RetryRule.onUnprocessed()))
              .build(RateLimitServiceBlockingStub.class);
      Set<Object> channels = new HashSet<>();
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (channels.size() < 2 && System.nanoTime() < end) {
        try (ClientRequestContextCaptor captor = Clients.newContextCaptor()) {
          assertThat(
                  client
                      .shouldRateLimit(request(descriptor("PerUser", "ann")).build())
                      .getOverallCode())
              .isNotEqualTo(Code.UNKNOWN);
          channels.add(
              Objects.requireNonNull(captor.get().log().whenComplete().join().channel()).id());
        }
      }
      assertThat(channels).hasSizeGreaterThanOrEqualTo(2);
    }
  }
}
