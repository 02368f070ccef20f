// SPDX-License-Identifier: Apache-2.0
package logins;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;

/** The application, asked over real HTTP. */
@SpringBootTest(
    webEnvironment = WebEnvironment.RANDOM_PORT,
    properties = "sluice.limits.LoginsPerIPAddress.period=10m") // a token a minute: none within a test
class LoginApplicationTest {

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Value("${local.server.port}")
  private int port;

  @Test
  void eleventhLogin_isRefused() throws Exception {
    HttpRequest login =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/login"))
            .POST(BodyPublishers.noBody())
            .build();
    for (int left = 9; left >= 0; left--) {
      HttpResponse<String> response = client.send(login, BodyHandlers.ofString());
      assertThat(response.body()).isEqualTo("welcome");
      assertThat(response.headers().firstValue("RateLimit"))
          .hasValue("\"LoginsPerIPAddress\";r=" + left);
    }

    HttpResponse<String> refused = client.send(login, BodyHandlers.ofString());

    assertThat(refused.statusCode()).isEqualTo(429);
    assertThat(refused.headers().firstValue("Retry-After")).isPresent();
  }

  @Test
  void docs_quoteThisConfiguration() throws Exception {
    assertThat(Files.readString(Path.of("../../docs/spring.md")))
        .contains(
            "<!-- from: application.yml -->\n```yaml\n"
                + Files.readString(Path.of("src/main/resources/application.yml"))
                + "```");
  }
}
