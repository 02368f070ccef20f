// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.rules.RuleBook;
import dev.sluice.store.BucketStore;
import dev.sluice.yaml.LimitFiles;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code GET /v1/rules}: the rule book, and what it says about a request. */
final class RulesResourceTest {

  private final BucketStore store = BucketStore.inMemory();
  private TestServer server;

  @BeforeEach
  void start(@TempDir Path folder) throws Exception {
    Path limits =
        Files.writeString(
            folder.resolve("limits.yml"),
            """
            names: [{name: Calls, id: ipAddress}]
            Calls: {burst: 3, count: 3, period: 1m}
            """);
    Path rules =
        Files.writeString(
            folder.resolve("rules.yml"),
            """
            rules:
              - {path: /login, methods: [POST], deny: true}
              - {domain: edge, entries: [remote_address, {path: /a*}], limit: Calls, id: "{remote_address}"}
              - {path: /**, limits: [{limit: Calls, id: "{ip}"}]}
            """);
    server =
        new TestServer(
            LimitFiles.builder()
                .defaults(limits)
                .companion(rules, RuleBook.reader())
                .build()
                .load(),
            store);
  }

  @AfterEach
  void stop() {
    server.close();
    store.close();
  }

  private String get(String query) {
    return server.send("GET", "/v1/rules" + query, BodyPublishers.noBody(), null).body();
  }

  @Test
  void rules_areListed_inTheirOrder() {
    assertThat(get(""))
        .contains("{\"line\":2,\"for\":\"request\",\"matches\":\"/login\"}")
        .contains("\"for\":\"descriptor\",\"matches\":\"edge: remote_address, path=/a*\"}")
        .doesNotContain("readings");
  }

  @Test
  void request_meetsARule_andSaysWhyNotAnEarlierOne_andIsNotCharged() {
    assertThat(get("?method=GET&target=/login&client=192.0.2.7"))
        .contains("\"passedOver\":[{\"line\":2,\"reason\":\"it is for the method POST")
        .contains("\"line\":4,\"verdict\":\"charges\"")
        .contains("{\"limit\":\"Calls\",\"id\":\"192.0.2.7\",\"cost\":1,\"shadow\":false}");
    assertThat(get("?method=POST&target=/login")).contains("\"line\":2,\"verdict\":\"denies\"");
    assertThat(get("?method=GET&target=/x")).contains("\"line\":4,\"problem\":");
    assertThat(store.liveBuckets()).hasValue(0);
  }

  @Test
  void requestWithMistakes_isRefused() {
    assertThat(get("?target=/x")).contains("a request needs both method and target");
    assertThat(get("?method=GET&target=/x&client=lol")).contains("expected an IP address");
    assertThat(get("?method=GET&target=/x&header=lol")).contains("expected Name: value");
  }
}
