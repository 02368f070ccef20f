// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.Aside;
import dev.sluice.server.access.Tokens;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Copy;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.tls.Pem;
import dev.sluice.yaml.LimitFilesException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits, tokens and certificates are loaded apart: no file of one holds up another. */
@Tag("slow")
class FilesApartTest {

  private static final String OPS = Tokens.fresh();
  private static final String CHECKOUT = Tokens.fresh();
  private static final Duration WITHIN = Duration.ofMinutes(1);

  @TempDir private Path folder;
  private TlsFixture fixture;
  private Path tokens;
  private Path copy;

  @BeforeEach
  void writeFiles() throws IOException {
    fixture = TlsFixture.in(folder);
    fixture.writeLimits("5");
    tokens = folder.resolve("tokens.yml");
    copy = folder.resolve("limits.copy");
    Files.writeString(tokens, tokens(OPS, CHECKOUT));
  }

  private static String tokens(String... all) {
    StringBuilder text = new StringBuilder("tokens:\n");
    for (String one : all) {
      text.append(
          "  - {name: %s, sha256: %s, roles: [decide, read, admin]}\n"
              .formatted("t" + Tokens.sha256(one).substring(1, 9), Tokens.sha256(one)));
    }
    return text.toString();
  }

  /** Without TLS, so that any client will do. */
  private Service plain(boolean startsWithLastGood) {
    Sources files = fixture.sources();
    return Service.start(
        new ServerConfig(
            Configs.onPort(0),
            new Sources(
                files.files(),
                null,
                List.of(),
                MissingDefault.REFUSE,
                new Copy(copy, startsWithLastGood)),
            Configs.inMemory(),
            new Control(tokens, null, null, null),
            Telemetry.NONE));
  }

  private final HttpClient client = HttpClient.newHttpClient();

  private HttpResponse<String> send(Service service, String token, String method, String path)
      throws Exception {
    String body = path.equals("/v1/spend") ? "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}" : "";
    HttpRequest request =
        HttpRequest.newBuilder(
                URI.create("http://localhost:" + service.addresses().get(0).getPort() + path))
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", "application/json")
            .method(method, BodyPublishers.ofString(body))
            .build();
    return client.send(request, BodyHandlers.ofString());
  }

  private int status(Service service, String token) throws Exception {
    return send(service, token, "GET", "/v1/limits").statusCode();
  }

  @Test
  void mistakeInTheLimits_holdsUpNeitherANewCertificate_norARevokedToken() throws Exception {
    Control control = new Control(tokens, null, null, null);
    try (Service service = Service.start(fixture.config(false, control));
        Aside.End end = Aside.end(service)) {
      Files.writeString(folder.resolve("limits.yml"), "CallsPerClient: {burst: x}\n");
      Pem.write(Pem.NEXT, folder);
      Files.writeString(tokens, tokens(OPS));
      await().atMost(WITHIN).until(() -> shownBy(service).equals(Pem.leaf(Pem.NEXT)));
      HttpClient trusting = HttpClient.newBuilder().sslContext(Pem.client(null, Pem.NEXT)).build();
      await().atMost(WITHIN).until(() -> spend(trusting, service, CHECKOUT).statusCode() == 401);
      assertThat(spend(trusting, service, OPS).body()).contains("\"burst\":5");
      await() // each of the three has a thread of its own, which may be the last to look
          .atMost(WITHIN)
          .untilAsserted(
              () ->
                  assertThat(metrics(trusting, service))
                      .containsPattern("sluice_generation_mistakes\\{files=\"limits\"} [1-9]")
                      .contains("sluice_generation_mistakes{files=\"tokens\"} 0.0")
                      .contains("sluice_generation_mistakes{files=\"certificates\"} 0.0")
                      .contains(
                          "sluice_generation_age_seconds{files=\"tokens\",generation=\"active\"}"));
    }
  }

  private static String metrics(HttpClient client, Service service) throws Exception {
    return client
        .send(request(service, OPS, "/metrics").GET().build(), BodyHandlers.ofString())
        .body();
  }

  private static X509Certificate shownBy(Service service) throws Exception {
    try (SSLSocket socket =
        (SSLSocket)
            Pem.client(null, Pem.SERVER, Pem.NEXT)
                .getSocketFactory()
                .createSocket("localhost", service.addresses().get(0).getPort())) {
      socket.startHandshake();
      return (X509Certificate) socket.getSession().getPeerCertificates()[0];
    }
  }

  private static HttpRequest.Builder request(Service service, String token, String path) {
    return HttpRequest.newBuilder(URI.create(TlsFixture.url(service, TlsFixture.HTTP, path)))
        .header("Authorization", "Bearer " + token)
        .header("Content-Type", "application/json");
  }

  private static HttpResponse<String> spend(HttpClient client, Service service, String token)
      throws Exception {
    return client.send(
        request(service, token, "/v1/spend")
            .POST(BodyPublishers.ofString("{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}"))
            .build(),
        BodyHandlers.ofString());
  }

  @Test
  void mistakeInTheTokens_holdsUpNoLimit_andReloadNamesTheTokens() throws Exception {
    try (Service service = plain(false);
        Aside.End end = Aside.end(service)) {
      Files.writeString(tokens, "tokens: [");
      fixture.writeLimits("7");
      HttpResponse<String> reload = send(service, OPS, "POST", "/v1/admin/reload");
      assertThat(reload.statusCode()).isEqualTo(409);
      assertThat(reload.body())
          .contains("\"applied\":false", "tokens.yml:1:")
          .containsPattern("\"tokens\":\\{\"active\":\\{.*\"mistakes\":\\[\".*tokens.yml");
      assertThat(send(service, CHECKOUT, "POST", "/v1/spend").body()).contains("\"burst\":7");
    }
  }

  @Test
  void tokenThatIsGone_isRefused_thoughAnotherLineHasAMistake() throws Exception {
    try (Service service = plain(false);
        Aside.End end = Aside.end(service)) {
      Files.writeString(tokens, tokens(OPS).replace("[decide, read", "[decide, reed"));
      assertThat(send(service, OPS, "POST", "/v1/admin/reload").statusCode()).isEqualTo(409);
      assertThat(status(service, CHECKOUT)).isEqualTo(401);
      assertThat(status(service, OPS)).as("as before").isEqualTo(200);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "tokens: []\n",
        "tokens: []\ncertificates: []\n",
        "{}\n",
        "tokenz: [{name: a}]\n",
        "tokens: none\n",
        "ApiCallsPerKey: {burst: 5, count: 1, period: 1h}\n",
        "tokens:\n  - {name: a\n",
        "[]\n"
      })
  void tokens_thatAreEmptyOrCannotBeRead_leaveTheLastOnesInForce(String text) throws Exception {
    try (Service service = plain(false);
        Aside.End end = Aside.end(service)) {
      Files.writeString(tokens, text);
      assertThat(send(service, OPS, "POST", "/v1/admin/reload").statusCode()).isEqualTo(409);
      assertThat(status(service, CHECKOUT)).isEqualTo(200);
      assertThat(send(service, OPS, "GET", "/metrics").body())
          .containsPattern("sluice_generation_mistakes\\{files=\"tokens\"} [1-9]");
    }
  }

  @Test
  void tokens_thatAreDeleted_leaveTheLastOnesInForce() throws Exception {
    try (Service service = plain(false);
        Aside.End end = Aside.end(service)) {
      Files.delete(tokens);
      assertThat(send(service, OPS, "POST", "/v1/admin/reload").statusCode()).isEqualTo(409);
      assertThat(status(service, CHECKOUT)).isEqualTo(200);
    }
  }

  @Test
  void start_withBrokenLimits_isRefused_orUsesTheLastGoodOnes() throws Exception {
    Aside.end(plain(false)).close();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(copy)))
        .isEqualTo("rw-------");
    Files.writeString(folder.resolve("limits.yml"), "ApiCallsPerKey: {burst: x}\n");
    assertThatThrownBy(() -> plain(false))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("limits.yml:1:");
    try (Service service = plain(true);
        Aside.End end = Aside.end(service)) {
      assertThat(send(service, OPS, "POST", "/v1/spend").body()).contains("\"burst\":5");
      assertThat(send(service, OPS, "GET", "/v1/limits").body()).contains("limits.yml:1:");
      fixture.writeLimits("8");
      assertThat(send(service, OPS, "POST", "/v1/admin/reload").statusCode()).isEqualTo(200);
      assertThat(send(service, OPS, "POST", "/v1/spend").body()).contains("\"burst\":8");
    }
    Files.delete(folder.resolve("limits.yml"));
    try (Service service = plain(true);
        Aside.End end = Aside.end(service)) {
      assertThat(send(service, OPS, "POST", "/v1/spend").body()).contains("\"burst\":8");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 21, 40, -1, -10})
  void start_withBrokenLimits_andACopyThatWasCut_isRefused(int length) throws Exception {
    Aside.end(plain(false)).close();
    byte[] whole = Files.readAllBytes(copy);
    byte[] cut = Arrays.copyOf(whole, length < 0 ? whole.length + length : length);
    Files.write(copy, cut);
    Files.writeString(folder.resolve("limits.yml"), "ApiCallsPerKey: {burst: x}\n");
    assertThatThrownBy(() -> plain(true))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContainingAll("limits.yml:1:", "limits.copy:1:1: the copy of the limits");
  }

  @Test
  void start_withBrokenTokensOrCertificates_isRefused_whateverHoldsForLimits() throws Exception {
    Aside.end(plain(false)).close();
    Files.writeString(tokens, "tokens: []\n");
    assertThatThrownBy(() -> plain(true)).hasMessageContaining("tokens.yml:1:1:");
    Pem.writeKey(Pem.NEXT, folder);
    assertThatThrownBy(
            () -> Service.start(fixture.config(false, new Control(tokens, null, null, null))))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContainingAll("tokens.yml:1:1:", "tls.key:1:1:");
  }
}
