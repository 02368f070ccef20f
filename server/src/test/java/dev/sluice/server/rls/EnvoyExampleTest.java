// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static dev.sluice.server.rls.TestRlsServer.descriptor;
import static dev.sluice.server.rls.TestRlsServer.request;
import static org.assertj.core.api.Assertions.assertThat;

import com.linecorp.armeria.client.WebClient;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.RequestHeaders;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.net.HostPort;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The example for Envoy, asked as Envoy asks by its configuration. */
final class EnvoyExampleTest {

  private static final Path EXAMPLE = Path.of("../examples/envoy");
  private static final Pattern NAMED = Pattern.compile("descriptor_(?:key|value): (\\w+)");

  private static Limits limits() {
    return LimitFiles.builder()
        .samples(Catalogue.samples())
        .defaults(EXAMPLE.resolve("limits.yml"))
        .build()
        .load();
  }

  @Test
  void configuration_namesTheLimitsOfTheExample() throws IOException {
    List<String> named =
        NAMED
            .matcher(Files.readString(EXAMPLE.resolve("envoy.yaml")))
            .results()
            .map((MatchResult match) -> match.group(1))
            .toList();
    assertThat(named)
        .containsExactlyInAnyOrderElementsOf(
            limits().configured().stream().map(LimitName::name).toList());
  }

  /** Envoy chooses the limits by the path, so another spelling of the path must not avoid them. */
  @Test
  void configuration_normalizesThePath() throws IOException {
    assertThat(Files.readAllLines(EXAMPLE.resolve("envoy.yaml")).stream().map(String::strip))
        .contains(
            "normalize_path: true",
            "merge_slashes: true",
            "path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT",
            "request_headers_to_remove: [daphne-root-path, x-rewrite-url]",
            "ignore_path_parameters_in_path_matching: true",
            "- match: { path_separated_prefix: /login, case_sensitive: false }");
  }

  /**
   * Some applications read X_Api_Key as X-Api-Key; Envoy and its actions do not. Envoy drops the
   * header before its filters run, and refuses no request: {@code access_token} is a usual name.
   */
  @ParameterizedTest
  @ValueSource(strings = {"envoy", "envoy-ext-authz"})
  void configuration_dropsHeadersWithUnderscores(String example) throws IOException {
    assertThat(Files.readString(Path.of("../examples", example, "envoy.yaml")))
        .contains("headers_with_underscores_action: DROP_HEADER")
        .doesNotContain("REJECT_REQUEST");
  }

  /**
   * The bytes and headers of Envoy's filter: a message in one frame, to a host named as its
   * cluster. Its deadline is a minute, since a busy machine does not answer within Envoy's 100 ms.
   */
  private static RateLimitResponse ask(TestRlsServer server, RateLimitRequest message)
      throws IOException {
    byte[] bytes = message.toByteArray();
    ByteBuffer frame = ByteBuffer.allocate(5 + bytes.length).put((byte) 0).putInt(bytes.length);
    RequestHeaders headers =
        RequestHeaders.builder(
                HttpMethod.POST, "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
            .set(":authority", "sluice")
            .set("te", "trailers")
            .set("grpc-timeout", "60000m")
            .set("content-type", "application/grpc")
            .set("x-envoy-internal", "true")
            .set("x-forwarded-for", "10.0.0.5")
            .set("x-envoy-expected-rq-timeout-ms", "60000")
            .build();
    AggregatedHttpResponse response =
        WebClient.of("h2c://" + HostPort.format(server.address()))
            .execute(HttpRequest.of(headers, HttpData.wrap(frame.put(bytes).array())))
            .aggregate()
            .join();
    assertThat(response.trailers().get("grpc-status")).isEqualTo("0");
    byte[] content = response.content().array();
    assertThat(ByteBuffer.wrap(content, 1, 4).getInt()).isEqualTo(content.length - 5);
    return RateLimitResponse.parseFrom(ByteBuffer.wrap(content, 5, content.length - 5));
  }

  @Test
  void requestsOfEnvoy_areAnswered() throws IOException {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      RateLimitRequest login =
          request(
                  descriptor("generic_key", "LoginsPerIPAddress", "remote_address", "192.0.2.7"),
                  descriptor("ApiCallsPerKey", "k1"))
              .build();
      for (int i = 0; i < 3; i++) {
        assertThat(ask(server, login).getOverallCode()).isEqualTo(Code.OK);
      }
      RateLimitResponse denied = ask(server, login);
      assertThat(denied.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
      assertThat(denied.getStatusesList().stream().map(DescriptorStatus::getLimitRemaining))
          .containsExactly(0, 97);
    }
  }
}
