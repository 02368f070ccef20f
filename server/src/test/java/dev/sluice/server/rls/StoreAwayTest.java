// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.UInt64Value;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.UnchargedException;
import dev.sluice.server.net.HostPort;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import io.envoyproxy.envoy.config.core.v3.HeaderValue;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What Envoy, and a client of {@code /json}, is told where a failure rule answers in the store's
 * place. PerUser holds 2 tokens, and a process of two holds one of them.
 */
final class StoreAwayTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final BucketStore away = new Away();
  private TestRlsServer server;

  private static final class Away implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      throw new UnchargedException("away");
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      return CompletableFuture.failedFuture(new UnchargedException("away"));
    }
  }

  private void start(String rule) {
    LimitName perUser = LimitName.builder(1, "PerUser").jitter(0).build();
    Limits limits =
        Limits.builder(Catalogue.of(perUser))
            .limit("PerUser", Quota.per(2, Duration.ofMinutes(1)))
            .build();
    Limiter limiter =
        Limiter.builder(new CurrentLimits(limits), away).onFailure(rule(rule)).build();
    server = new TestRlsServer(limiter, away);
  }

  private static FailureRule rule(String name) {
    return switch (name) {
      case "allow" -> FailureRule.allow();
      case "deny" -> FailureRule.deny();
      case "local" -> FailureRule.local(2);
      default -> FailureRule.fail();
    };
  }

  @AfterEach
  void stop() {
    server.close();
  }

  /** Envoy makes headers of a status with a {@code current_limit}: of numbers that nobody knows. */
  @ParameterizedTest
  @CsvSource({
    "allow, 1, OK, OK",
    "allow, 2, OK, OK",
    "allow, 3, OVER_LIMIT, OVER_LIMIT", // above the burst: no store has to say so
    "deny, 1, OVER_LIMIT, OVER_LIMIT",
    "local, 1, OK, OVER_LIMIT",
    "local, 2, OVER_LIMIT, OVER_LIMIT", // above this process's share
    "fail, 1, ,"
  })
  void ruleAnswers_overGrpc(String rule, long cost, Code first, Code second) {
    start(rule);
    if (first == null) {
      assertThatThrownBy(() -> ask(cost))
          .isInstanceOfSatisfying(
              StatusRuntimeException.class,
              e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE));
      return;
    }
    for (Code expected : List.of(first, second)) {
      RateLimitResponse response = ask(cost);
      assertThat(response.getOverallCode()).isEqualTo(expected);
      DescriptorStatus status = response.getStatuses(0);
      assertThat(status.getCode()).isEqualTo(expected);
      boolean local = rule.equals("local") && cost == 1;
      assertThat(status.hasCurrentLimit()).isEqualTo(local || cost > 2);
      if (local) {
        assertThat(status.getCurrentLimit().getRequestsPerUnit()).isEqualTo(1); // its share
      }
      assertThat(status.getLimitRemaining()).isZero();
      String decidedBy = rule.equals("local") && cost == 2 ? "deny" : rule; // above its share
      assertThat(response.getDynamicMetadata().getFieldsMap())
          .hasEntrySatisfying(
              "decidedBy", value -> assertThat(value.getStringValue()).isEqualTo(decidedBy));
      assertThat(response.getResponseHeadersToAddList())
          .extracting(HeaderValue::getKey)
          .contains("ratelimit-degraded")
          .satisfies(keys -> assertThat(keys.contains("ratelimit")).isEqualTo(local))
          .satisfies(keys -> assertThat(keys.contains("ratelimit-policy")).isEqualTo(local));
      if (expected == Code.OK) {
        assertThat(response.getRawBody().isEmpty()).isTrue();
      } else {
        assertProblem(local || cost > 2, response.getRawBody().toStringUtf8());
        assertThat(response.getResponseHeadersToAddList())
            .extracting(HeaderValue::getKey)
            .satisfies(keys -> assertThat(keys.contains("retry-after")).isEqualTo(cost <= 2));
      }
    }
  }

  private RateLimitResponse ask(long cost) {
    return server.ask(descriptor("PerUser", "ann").setHitsAddend(UInt64Value.of(cost)));
  }

  /** Envoy answers 429, and so does {@code /json}: a problem tells the status that it came with. */
  private static void assertProblem(boolean overALimit, String body) {
    assertThat(body)
        .contains("\"status\":429")
        .contains(overALimit ? "#quota-exceeded" : "#temporary-reduced-capacity");
  }

  @ParameterizedTest
  @CsvSource({
    "allow, 200, 200",
    "deny, 429, 429",
    "local, 200, 429",
    "fail, 500, 500",
  })
  void ruleAnswers_asJson(String rule, int first, int second) throws Exception {
    start(rule);
    for (int expected : List.of(first, second)) {
      HttpResponse<String> answer = askAsJson();
      assertThat(answer.statusCode()).as(answer.body()).isEqualTo(expected);
      boolean local = rule.equals("local");
      assertThat(answer.headers().firstValue("ratelimit").isPresent()).isEqualTo(local);
      assertThat(answer.headers().firstValue("ratelimit-degraded").isPresent())
          .isEqualTo(expected != 500);
      JsonNode body = JSON.readTree(answer.body());
      switch (expected) {
        case 200 -> {
          assertThat(body.get("dynamicMetadata").get("decidedBy").textValue()).isEqualTo(rule);
          assertThat(body.get("statuses").get(0).has("currentLimit")).isEqualTo(local);
          assertThat(answer.headers().firstValue("retry-after")).isEmpty();
        }
        case 429 -> {
          assertProblem(
              local,
              new String(
                  Base64.getDecoder().decode(body.get("rawBody").textValue()),
                  StandardCharsets.UTF_8));
          assertThat(answer.headers().firstValue("retry-after")).isPresent();
        }
        default -> assertThat(body.get("detail").textValue()).contains("could not decide");
      }
    }
  }

  private HttpResponse<String> askAsJson() throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://" + HostPort.format(server.address()) + "/json"))
            .POST(
                BodyPublishers.ofString(
                    "{\"domain\":\"edge\",\"descriptors\":[{\"entries\":[{\"key\":\"PerUser\",\"value\":\"ann\"}]}]}"))
            .build();
    return CLIENT.send(request, BodyHandlers.ofString());
  }
}
