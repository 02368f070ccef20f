// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class ServeLogTest {

  private static final Pattern ADDRESS = Pattern.compile("http://[0-9.:]+");

  @Test
  void server_withJsonLog_writesNothingButObjects(@TempDir Path folder) throws Exception {
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, "ApiCallsPerKey: {burst: 3, count: 1, period: 1h}\n");
    try (CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--limits",
                limits.toString(),
                "--request-log",
                "--log-format",
                "json");
        BufferedReader err = cli.err()) {
      JsonNode listening = until(err, "listening on ");
      Matcher address = ADDRESS.matcher(listening.get("message").asText());
      assertThat(address.find()).isTrue();
      assertThat(listening.get("level").asText()).isEqualTo("info");

      var unused =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(URI.create(address.group() + "/healthz?a=%22")).build(),
                  BodyHandlers.discarding());
      JsonNode request = until(err, "/healthz");
      assertThat(request.get("message").asText()).isEqualTo("127.0.0.1 GET /healthz?a=%22 200");
      assertThat(request.get("client").asText()).isEqualTo("127.0.0.1");
      assertThat(request.get("path").asText()).isEqualTo("/healthz?a=%22");
      assertThat(request.get("status").asInt()).isEqualTo(200);
      assertThat(request.get("micros").asLong()).isPositive();

      Files.writeString(limits, "ApiCallsPerKey: {burst: 4, count: 1, period: 1h}\n");
      assertThat(until(err, "changed").get("message").asText())
          .isEqualTo("changed: ApiCallsPerKey: burst 3 → 4");

      Files.writeString(limits, "ApiCallsPerKey: {burst: \"lots\", count: 1, period: 1h}\n");
      assertThat(until(err, "limits not loaded").get("level").asText()).isEqualTo("error");
    }
  }

  @Test
  void server_withOverridesAlone_warnsThatOthersAreRefused(@TempDir Path folder) throws Exception {
    Path overrides = folder.resolve("overrides.yml");
    Files.writeString(
        overrides, "- ApiCallsPerKey: {burst: 9, count: 9, period: 1m, ids: [key-of-ann]}\n");
    try (CliProcess cli =
            CliProcess.start(
                "serve",
                "--http",
                "127.0.0.1:0",
                "--overrides",
                overrides.toString(),
                "--log-format",
                "json");
        BufferedReader err = cli.err()) {
      JsonNode loaded = until(err, "limits loaded: 0 defaults, 1 override");
      assertThat(loaded.get("level").asText()).isEqualTo("warn");
      assertThat(loaded.get("message").asText())
          .contains("ApiCallsPerKey, which has no default: requests for other ids are rejected");
    }
  }

  @Test
  void format_thatIsUnknown_isRefused() {
    Cli result = Cli.run("serve", "--log-format", "xml");

    assertThat(result.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(result.err()).contains("--log-format: found \"xml\", expected text or json");
  }

  @Test
  void formOfIds_thatIsUnknown_isRefused() {
    Cli result = Cli.run("serve", "--denial-log", "-", "--denial-log-ids", "plain");

    assertThat(result.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(result.err()).contains("--denial-log-ids: found \"plain\", expected hash or show");
  }

  /** Each line up to the wanted one must be an object. */
  private static JsonNode until(BufferedReader lines, String words) throws IOException {
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode json = new ObjectMapper().readTree(line);
      assertThat(json.isObject()).as(line).isTrue();
      if (json.get("message").asText().contains(words)) {
        return json;
      }
    }
    throw new AssertionError("no line with " + words);
  }
}
