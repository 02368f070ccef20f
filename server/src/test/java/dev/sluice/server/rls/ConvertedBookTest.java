// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.convert.Conversion;
import dev.sluice.server.Aside;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.yaml.LimitFiles;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A converted configuration at the door that it was made for. */
final class ConvertedBookTest {

  @TempDir private Path folder;

  private Limits converted(String config) throws IOException {
    Path file = Files.writeString(folder.resolve("config.yaml"), config);
    Conversion conversion = Conversion.ofEnvoyRateLimit(List.of(file));
    for (Map.Entry<String, String> one : conversion.files().entrySet()) {
      Files.writeString(folder.resolve(one.getKey()), one.getValue());
    }
    return LimitFiles.builder()
        .defaults(folder.resolve("limits.yml"))
        .companion(folder.resolve("rules.yml"), RuleBook.reader())
        .build()
        .load();
  }

  /** The door takes a limit's name for its limit; a limit's name in the reference is no mapping. */
  @Test
  void descriptorThatTheReferenceDoesNotLimit_passesAlsoByTheNameOfALimit() throws Exception {
    Limits limits =
        converted(
            """
                domain: edge
                descriptors:
                  - key: generic_key
                    value: checkout
                    rate_limit: {name: checkout, unit: hour, requests_per_unit: 1}
                  - key: user
                    descriptors:
                      - key: op
                        rate_limit: {name: user, unit: hour, requests_per_unit: 1}
                """);
    try (BucketStore store = BucketStore.inMemory(new ManualTime())) {
      Limiter limiter = Limiter.of(limits, store);
      SluiceServer server =
          SluiceServer.builder(
                  new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                  ConnectionBudget.usual())
              .part(
                  new RlsPart(
                          limiter,
                          Settings.of(OverridePolicy.ALLOW),
                          store::ping,
                          AuditLog.none(),
                          Denials.none(),
                          new SimpleMeterRegistry(),
                          new OpenCalls(new SimpleMeterRegistry()))
                      .json())
              .start();
      try {
        for (String passing : List.of("generic_key=checkout;user=bob", "user=bob")) {
          assertThat(List.of(answer(server, passing), answer(server, passing)))
              .as(passing)
              .containsExactly(200, 200);
        }
        for (String limited : List.of("generic_key=checkout", "user=bob;op=buy")) {
          assertThat(List.of(answer(server, limited), answer(server, limited)))
              .as(limited)
              .containsExactly(200, 429);
        }
      } finally {
        Aside.run(server::close);
      }
    }
  }

  private static int answer(SluiceServer server, String descriptor) throws Exception {
    String entries =
        Stream.of(descriptor.split(";", -1))
            .map(one -> one.split("=", 2))
            .map(one -> "{\"key\":\"%s\",\"value\":\"%s\"}".formatted(one[0], one[1]))
            .collect(Collectors.joining(","));
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://" + HostPort.format(server.address()) + "/json"))
            .POST(
                BodyPublishers.ofString(
                    "{\"domain\":\"edge\",\"descriptors\":[{\"entries\":[%s]}]}"
                        .formatted(entries)))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode();
  }
}
