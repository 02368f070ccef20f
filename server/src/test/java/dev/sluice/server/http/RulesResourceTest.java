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

/** {@code GET /v1/rules}: the rule book in force. */
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

  @Test
  void rules_areListed_inTheirOrder() {
    assertThat(server.send("GET", "/v1/rules", BodyPublishers.noBody(), null).body())
        .contains("{\"line\":2,\"for\":\"request\",\"matches\":\"POST /login\"}")
        .contains("\"for\":\"descriptor\",\"matches\":\"edge: remote_address, path=/a*\"}");
  }
}
