// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.UnknownFieldSet;
import com.linecorp.armeria.client.grpc.GrpcClients;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc.HealthBlockingStub;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who may do what over gRPC, on both of its ports, and at {@code POST /json}. */
class GrpcAccessTest {

  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final int HTTP = 0;
  private static final int GRPC = 1;
  private static final String DECIDE = Tokens.fresh();
  private static final String READ = Tokens.fresh();
  private static final String OPS = Tokens.fresh();
  private static final String KEEPER = Tokens.fresh();

  @TempDir private static Path folder;
  private static Path audit;
  private static Service service;

  @BeforeAll
  static void start() throws IOException {
    audit = folder.resolve("audit.jsonl");
    Path tokens =
        Files.writeString(
            folder.resolve("tokens.yml"),
            """
            tokens:
              - {name: shop, sha256: %s, roles: [decide], limits: ["ApiCalls*"]}
              - {name: prometheus, sha256: %s, roles: [read, admin]}
              - {name: ops, sha256: %s, roles: [decide, read]}
              - {name: keeper, sha256: %s, roles: [decide, admin]}
            """
                .formatted(
                    Tokens.sha256(DECIDE),
                    Tokens.sha256(READ),
                    Tokens.sha256(OPS),
                    Tokens.sha256(KEEPER)));
    Control control = new Control(tokens, audit.toString(), null, null);
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            """
            ApiCallsPerKey: {burst: 100, count: 1, period: 1h}
            LoginsPerIPAddress: {burst: 10, count: 1, period: 1h}
            """);
    Sources sources = Sources.of(new ServerConfig.Files(limits, null, null, null));
    Doors doors =
        new Doors(Http.on(ANY), null, ANY, Settings.of(OverridePolicy.ALLOW), null, false, false);
    service =
        Service.start(
            new ServerConfig(doors, sources, Configs.inMemory(), control, Telemetry.NONE));
  }

  @AfterAll
  static void stop() {
    service.close();
  }

  private static <T> T client(int door, Class<T> stub, String... headers) {
    var builder =
        GrpcClients.builder(
            "gproto+http://" + HostPort.format(service.addresses().get(door)) + "/");
    for (int i = 0; i < headers.length; i += 2) {
      builder.addHeader(headers[i], headers[i + 1]);
    }
    return builder.build(stub);
  }

  private static RateLimitServiceBlockingStub asking(int door, String... headers) {
    return client(door, RateLimitServiceBlockingStub.class, headers);
  }

  private static String bearer(String token) {
    return "Bearer " + token;
  }

  /** Limits and ids, in turn, each in a descriptor of its own. */
  private static RateLimitRequest request(String... limitsAndIds) {
    RateLimitRequest.Builder request = RateLimitRequest.newBuilder().setDomain("edge");
    for (int i = 0; i < limitsAndIds.length; i += 2) {
      request.addDescriptors(
          RateLimitDescriptor.newBuilder()
              .addEntries(
                  Entry.newBuilder().setKey(limitsAndIds[i]).setValue(limitsAndIds[i + 1])));
    }
    return request.build();
  }

  private static void assertRefused(Status.Code code, String why, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            StatusRuntimeException.class,
            e -> {
              assertThat(e.getStatus().getCode()).isEqualTo(code);
              assertThat(e.getStatus().getDescription()).contains(why);
            });
  }

  /** What is left after one more spend, which a token without a scope makes. */
  private static int remaining(String limit, String id) {
    RateLimitResponse answer =
        asking(GRPC, "authorization", bearer(OPS)).shouldRateLimit(request(limit, id));
    return answer.getStatuses(0).getLimitRemaining();
  }

  @ParameterizedTest
  @ValueSource(ints = {HTTP, GRPC})
  void knownToken_isLetIn_byEitherName(int door) {
    RateLimitRequest one = request("ApiCallsPerKey", "known" + door);
    assertThat(asking(door, "authorization", bearer(DECIDE)).shouldRateLimit(one).getOverallCode())
        .isEqualTo(Code.OK);
    assertThat(asking(door, "sluice-token", DECIDE).shouldRateLimit(one).getOverallCode())
        .isEqualTo(Code.OK);
    assertThat(remaining("ApiCallsPerKey", "known" + door)).isEqualTo(97);
  }

  @ParameterizedTest
  @ValueSource(ints = {HTTP, GRPC})
  void callerWithoutAToken_orWithAnUnknownOne_isUnauthenticated_andNoted(int door) {
    RateLimitRequest one = request("ApiCallsPerKey", "stranger" + door);
    assertRefused(
        Status.Code.UNAUTHENTICATED,
        "the token is missing, expected the header Authorization: Bearer TOKEN",
        () -> asking(door).shouldRateLimit(one));
    assertRefused(
        Status.Code.UNAUTHENTICATED,
        "not known",
        () -> asking(door, "authorization", bearer(Tokens.fresh())).shouldRateLimit(one));
    assertRefused(
        Status.Code.UNAUTHENTICATED,
        "not known",
        () -> asking(door, "sluice-token", Tokens.fresh()).shouldRateLimit(one));

    assertThat(remaining("ApiCallsPerKey", "stranger" + door)).isEqualTo(99);
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readAllLines(audit))
                    .filteredOn(line -> line.contains("\"door\":\"grpc\""))
                    .filteredOn(line -> line.contains("\"what\":\"authenticate\""))
                    .hasSizeGreaterThanOrEqualTo(2)
                    .allMatch(line -> line.contains("\"result\":\"refused\"")));
  }

  @ParameterizedTest
  @ValueSource(ints = {HTTP, GRPC})
  void tokenWithoutTheRole_isDenied_andHealthNeedsNone(int door) {
    assertRefused(
        Status.Code.PERMISSION_DENIED,
        "the token prometheus has no role decide",
        () ->
            asking(door, "authorization", bearer(READ))
                .shouldRateLimit(request("ApiCallsPerKey", "reader" + door)));

    assertThat(remaining("ApiCallsPerKey", "reader" + door)).isEqualTo(99);
    assertThat(
            client(door, HealthBlockingStub.class)
                .check(HealthCheckRequest.getDefaultInstance())
                .getStatus())
        .isEqualTo(ServingStatus.SERVING);
  }

  /** All or nothing: the descriptor within the scope is not charged either. */
  @Test
  void scope_holdsForTheLimitOfEachDescriptor() {
    RateLimitServiceBlockingStub shop = asking(GRPC, "authorization", bearer(DECIDE));
    assertRefused(
        Status.Code.PERMISSION_DENIED,
        "shop may not use the limit LoginsPerIPAddress",
        () -> shop.shouldRateLimit(request("LoginsPerIPAddress", "192.0.2.7")));
    assertRefused(
        Status.Code.PERMISSION_DENIED,
        "shop may not use the limit LoginsPerIPAddress",
        () ->
            shop.shouldRateLimit(
                request("ApiCallsPerKey", "scoped", "LoginsPerIPAddress", "192.0.2.7")));

    assertThat(remaining("ApiCallsPerKey", "scoped")).isEqualTo(99);
    assertThat(remaining("LoginsPerIPAddress", "192.0.2.7")).isEqualTo(9);
  }

  /** It undoes what the limits did, as a refund by hand does, and is noted like one. */
  @ParameterizedTest
  @ValueSource(ints = {HTTP, GRPC})
  void negativeHits_needTheRoleAdmin_andAreNoted(int door) {
    RateLimitRequest one = request("ApiCallsPerKey", "refunded" + door);
    RateLimitRequest refund =
        one.toBuilder()
            .setDescriptors(
                0,
                one.getDescriptors(0).toBuilder()
                    .setUnknownFields( // 4: is_negative_hits
                        UnknownFieldSet.newBuilder()
                            .addField(4, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                            .build()))
            .build();
    assertThat(remaining("ApiCallsPerKey", "refunded" + door)).isEqualTo(99);
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "descriptors[0].is_negative_hits: only callers that may refund can send negative hits: the"
            + " token ops has no role admin",
        () -> asking(door, "authorization", bearer(OPS)).shouldRateLimit(refund));
    assertRefused(
        Status.Code.INVALID_ARGUMENT,
        "the token shop has no role admin",
        () -> asking(door, "authorization", bearer(DECIDE)).shouldRateLimit(refund));
    assertThat(remaining("ApiCallsPerKey", "refunded" + door)).isEqualTo(98);

    assertThat(
            asking(door, "authorization", bearer(KEEPER))
                .shouldRateLimit(refund)
                .getStatuses(0)
                .getLimitRemaining())
        .isEqualTo(99);
    assertThat(remaining("ApiCallsPerKey", "refunded" + door)).isEqualTo(98);
    await()
        .untilAsserted(
            () ->
                assertThat(Files.readAllLines(audit))
                    .filteredOn(line -> line.contains("\"what\":\"refund\""))
                    .anyMatch(line -> line.contains("ops") && line.contains("refused"))
                    .anyMatch(line -> line.contains("refunded" + door) && line.contains("done")));
  }

  private static HttpResponse<String> json(@Nullable String token, String... limitsAndIds)
      throws Exception {
    StringBuilder descriptors = new StringBuilder();
    for (int i = 0; i < limitsAndIds.length; i += 2) {
      descriptors.append(
          "%s{\"entries\":[{\"key\":\"%s\",\"value\":\"%s\"}]}"
              .formatted(i == 0 ? "" : ",", limitsAndIds[i], limitsAndIds[i + 1]));
    }
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://" + HostPort.format(service.addresses().get(HTTP)) + "/json"))
            .POST(
                BodyPublishers.ofString(
                    "{\"domain\":\"edge\",\"descriptors\":[%s]}".formatted(descriptors)));
    if (token != null) {
      request.header("Authorization", bearer(token));
    }
    return HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString());
  }

  @Test
  void json_asksForTheSame() throws Exception {
    assertThat(json(DECIDE, "ApiCallsPerKey", "json").statusCode()).isEqualTo(200);
    assertThat(json(null, "ApiCallsPerKey", "json").statusCode()).isEqualTo(401);
    assertThat(json(Tokens.fresh(), "ApiCallsPerKey", "json").statusCode()).isEqualTo(401);
    assertThat(json(READ, "ApiCallsPerKey", "json").statusCode()).isEqualTo(403);

    HttpResponse<String> beyond = json(DECIDE, "LoginsPerIPAddress", "192.0.2.9");
    assertThat(beyond.statusCode()).isEqualTo(403);
    assertThat(beyond.body()).contains("shop may not use the limit LoginsPerIPAddress");
    assertThat(
            json(DECIDE, "ApiCallsPerKey", "json", "LoginsPerIPAddress", "192.0.2.9").statusCode())
        .isEqualTo(403);

    assertThat(remaining("ApiCallsPerKey", "json")).isEqualTo(98);
    assertThat(remaining("LoginsPerIPAddress", "192.0.2.9")).isEqualTo(9);
  }
}
