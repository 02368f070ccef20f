// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.Aside;
import dev.sluice.server.http.LogLines;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.web.ClientAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What protects a server that has neither tokens nor TLS, on loopback. */
class SafeguardsTest {

  private static final String SPEND = "{\"limit\":\"ApiCallsPerKey\",\"id\":\"k\"}";

  private final HttpClient client = HttpClient.newHttpClient();
  private Service service;

  @BeforeEach
  void start() {
    Http http =
        new Http(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            ClientAddress.direct(),
            Set.of(),
            Set.of(),
            true);
    service = Service.start(Configs.of(Doors.of(http)));
  }

  /** Does not wait: the library's acceptor takes two seconds to be sure that nobody comes. */
  @AfterEach
  void stop() {
    Aside.run(service::close);
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(
        URI.create("http://" + HostPort.format(service.addresses().get(0)) + path));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  /** An image of another site's page: a GET without an Origin. */
  @ParameterizedTest
  @CsvSource({
    "cross-site, none, 403",
    "same-site, none, 403",
    "same-origin, none, 200",
    "none, none, 200",
    "cross-site, X-Forwarded-For, 200",
    "cross-site, X-Original-URI, 200",
    "cross-site, Via, 200",
    "cross-site, X-Own, 403"
  })
  void getOfAnotherSitesPage_spendsNothing_andThatOfAProxyPasses(
      String site, String header, int status) throws Exception {
    HttpRequest.Builder request =
        request("/v1/forward-auth?limit=ApiCallsPerKey&id=k").header("Sec-Fetch-Site", site);
    if (!header.equals("none")) {
      request.header(header, "192.0.2.7");
    }
    HttpResponse<String> answer = send(request);
    assertThat(answer.statusCode()).isEqualTo(status);
    if (status == 403) {
      assertThat(answer.body()).contains("wrong-origin", "Sec-Fetch-Site: " + site);
    }
  }

  @Test
  void linkToThePage_worksFromAnySite() throws Exception {
    assertThat(send(request("/").header("Sec-Fetch-Site", "cross-site")).statusCode())
        .isEqualTo(200);
  }

  @Test
  void requestLog_hidesTheTokenOfAReservation() throws Exception {
    try (LogLines log = new LogLines()) {
      String held =
          send(request("/v1/reservations")
                  .header("Content-Type", "application/json")
                  .POST(BodyPublishers.ofString(SPEND)))
              .body();
      String token = held.replaceAll("(?s).*\"token\":\"([^\"]+)\".*", "$1");
      assertThat(
              send(request("/v1/reservations/" + token + "/cancel").POST(BodyPublishers.noBody()))
                  .statusCode())
          .isEqualTo(200);
      await()
          .untilAsserted(
              () -> assertThat(log.text()).contains("POST /v1/reservations/…/cancel\" 200"));
      assertThat(log.text()).doesNotContain(token).contains("POST /v1/reservations#");
    }
  }

  @Test
  void answersWithoutTls_doNotAskForIt() throws Exception {
    assertThat(send(request("/")).headers().firstValue("Strict-Transport-Security")).isEmpty();
  }
}
