// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.net.HostPort;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/**
 * A client that shares nothing with us: grpc-js, which reads Envoy's published descriptions. Needs
 * node, and {@code npm ci --prefix server/src/test/node}; {@code .ci/run} installs both.
 */
@Tag("slow")
@EnabledIf("dev.sluice.server.Programs#haveNodeClients")
final class GrpcJsTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Path SCRIPTS = Path.of("src/test/node").toAbsolutePath();
  private static final Pattern IMPORT =
      Pattern.compile("^import (?:public )?\"(.+)\";", Pattern.MULTILINE);

  @TempDir private Path folder;

  private static Limits limits() {
    return Limits.builder(Catalogue.of(LimitName.builder(1, "PerUser").jitter(0).build()))
        .limit("PerUser", Quota.per(3, Duration.ofHours(1)))
        .build();
  }

  /** Copies a description, with those that it imports, from the jars that publish them. */
  private void publish(String name) throws IOException {
    Path file = folder.resolve("protos").resolve(name);
    if (Files.exists(file)) {
      return;
    }
    Files.createDirectories(file.getParent());
    try (InputStream in = GrpcJsTest.class.getClassLoader().getResourceAsStream(name)) {
      assertThat(in).as(name).isNotNull();
      Files.write(file, in.readAllBytes());
    }
    Matcher imported = IMPORT.matcher(Files.readString(file));
    while (imported.find()) {
      publish(imported.group(1));
    }
  }

  private List<JsonNode> ask(TestRlsServer server, String... calls) throws Exception {
    publish("envoy/service/ratelimit/v3/rls.proto");
    publish("grpc/health/v1/health.proto");
    Path log = folder.resolve("client.log");
    Process client =
        new ProcessBuilder(
                "node",
                "rls-client.mjs",
                HostPort.format(server.address()),
                folder.resolve("protos").toString())
            .directory(SCRIPTS.toFile())
            .redirectError(log.toFile())
            .start();
    try (var out = client.outputWriter(StandardCharsets.UTF_8)) {
      for (String call : calls) {
        out.write(call + "\n");
      }
    }
    List<JsonNode> answers = new ArrayList<>();
    for (String line : client.inputReader(StandardCharsets.UTF_8).lines().toList()) {
      answers.add(JSON.readTree(line));
    }
    assertThat(client.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(client.exitValue()).as(Files.readString(log)).isZero();
    return answers;
  }

  private static String call(String method, String message) {
    return "{\"method\":\"%s\",\"message\":%s}".formatted(method, message);
  }

  private static String request(String descriptors) {
    return call(
        "ShouldRateLimit", "{\"domain\":\"edge\",\"descriptors\":[%s]}".formatted(descriptors));
  }

  private static String user(String more) {
    return "{\"entries\":[{\"key\":\"PerUser\",\"value\":\"ann\"}]%s}".formatted(more);
  }

  @Test
  void client_asks_andReadsWhatEnvoyWouldRead() throws Exception {
    try (BucketStore store = BucketStore.inMemory(new ManualTime());
        TestRlsServer server = new TestRlsServer(limits(), store)) {
      List<JsonNode> answers =
          ask(
              server,
              call("Check", "{\"service\":\"ratelimit\"}"),
              request(user("")),
              request(user(",\"hits_addend\":{\"value\":0}")),
              request(user(",\"hits_addend\":{\"value\":2}")),
              request(user("")),
              request("{\"entries\":[{\"key\":\"nobody\",\"value\":\"knows\"}]}"),
              request(
                  user(",\"limit\":{\"requests_per_unit\":9,\"unit\":\"HOUR\"}")
                      .replace("ann", "zoe")),
              request(""));

      assertThat(answers.get(0).toString()).isEqualTo("{\"status\":\"SERVING\"}");
      JsonNode first = answers.get(1);
      assertThat(first.get("overall_code").textValue()).isEqualTo("OK");
      assertThat(first.at("/statuses/0").toString())
          .isEqualTo(
              "{\"code\":\"OK\",\"current_limit\":{\"requests_per_unit\":3,\"unit\":\"HOUR\",\"name\":\"PerUser\"},\"limit_remaining\":2,\"duration_until_reset\":{\"seconds\":\"1200\"}}");
      assertThat(answers.get(2).at("/statuses/0/limit_remaining").intValue()).isEqualTo(2);
      assertThat(answers.get(3).at("/statuses/0/code").textValue()).isEqualTo("OK");

      JsonNode over = answers.get(4);
      assertThat(over.get("overall_code").textValue()).isEqualTo("OVER_LIMIT");
      assertThat(over.at("/statuses/0/duration_until_reset/seconds").textValue()).isEqualTo("1200");
      assertThat(over.get("response_headers_to_add").findValuesAsText("key"))
          .containsExactlyInAnyOrder(
              "retry-after", "ratelimit-policy", "ratelimit", "content-type", "cache-control");

      assertThat(answers.get(5).toString())
          .isEqualTo("{\"overall_code\":\"OK\",\"statuses\":[{\"code\":\"OK\"}]}");
      assertThat(answers.get(6).at("/statuses/0/limit_remaining").intValue()).isEqualTo(8);
      assertThat(answers.get(7).get("error").intValue()).as("INVALID_ARGUMENT").isEqualTo(3);
      assertThat(answers.get(7).get("details").textValue())
          .startsWith("the descriptors are missing");
    }
  }
}
