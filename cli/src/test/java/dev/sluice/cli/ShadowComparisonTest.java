// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.ProxyHeader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts a server for each comparison. */
final class ShadowComparisonTest {

  private static final String LIMITS =
      """
      names:
        - {number: 1001, name: PerKey, id: string}
        - {number: 1002, name: PerPath, id: string}
      limits:
        PerKey: {burst: 2, count: 2, period: 24h}
        PerPath: {burst: 100, count: 100, period: 24h}
      rules:
        - path: /**
          limits:
            - {limit: PerKey, id: "{header:x-key}", shadow: true}
            - {limit: PerPath, id: "{path}"}
      """;

  @TempDir Path folder;
  private Path limits;
  private final List<Integer> statuses = new ArrayList<>();
  private final List<String> keys = List.of("a", "a", "b", "a", "a", "b", "b");

  @BeforeEach
  void writeLimits() throws IOException {
    limits = Files.writeString(folder.resolve("limits.yml"), LIMITS);
  }

  private Service server() throws Exception {
    InetSocketAddress free = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    ClientAddress proxies = ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1/32");
    Service service =
        Service.start(
            new ServerConfig(
                Doors.of(new Http(free, proxies, Set.of(), Set.of(), false)),
                new Sources(
                    new ServerConfig.Files(limits, null, null, null),
                    null,
                    List.of(),
                    MissingDefault.REFUSE,
                    null),
                Storage.in(StoreAccess.of("memory")),
                Control.NONE,
                Telemetry.NONE));
    HttpClient client = HttpClient.newHttpClient();
    for (String key : keys) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(url(service) + "/v1/forward-auth"))
              .header("X-Forwarded-Method", "GET")
              .header("X-Forwarded-Uri", "/items")
              .header("X-Forwarded-For", "203.0.113.7")
              .header("X-Key", key)
              .build();
      statuses.add(client.send(request, BodyHandlers.ofString()).statusCode());
    }
    return service;
  }

  private static String url(Service service) {
    return "http://" + HostPort.format(service.addresses().get(0));
  }

  private Cli replay(List<String> logged, String... more) throws IOException {
    StringBuilder log = new StringBuilder();
    for (String key : logged) {
      log.append(
          "{\"time\":\"2026-11-26T10:00:00Z\",\"request\":\"GET /items HTTP/1.1\",\"x-key\":\"%s\"}\n"
              .formatted(key));
    }
    Path file = Files.writeString(folder.resolve("access.log"), log);
    List<String> args = new ArrayList<>(List.of("replay", "--limits", limits.toString()));
    args.addAll(List.of(more));
    args.add(file.toString());
    return Cli.run(args.toArray(String[]::new));
  }

  @Test
  void logAndServer_withTheSameRequests_areEqual() throws Exception {
    try (Service service = server();
        End end = new End(service)) {
      assertThat(statuses).hasSize(7).containsOnly(200);
      Cli same = replay(keys, "--compare", url(service));
      assertThat(same.err()).isEmpty();
      assertThat(same.out())
          .endsWith(
              "PerKey in shadow: the replay denies 3 of 7 requests, the server 3 of 7: the same.\n");
      assertThat(same.code()).isEqualTo(Exit.DONE);
    }
  }

  @Test
  void requestsThatAnEnforcedLimitDenies_areNotCountedInShadow() throws Exception {
    Files.writeString(limits, LIMITS.replace("burst: 100", "burst: 5"));
    try (Service service = server();
        End end = new End(service)) {
      assertThat(statuses).containsExactly(200, 200, 200, 200, 200, 429, 429);
      Cli same = replay(keys, "--compare", url(service));
      assertThat(same.out())
          .endsWith(
              "PerKey in shadow: the replay denies 2 of 5 requests, the server 2 of 5: the same.\n");
      assertThat(same.code()).isEqualTo(Exit.DONE);
    }
  }

  @Test
  void difference_endsWithOne_unlessItIsTolerated() throws Exception {
    List<String> more = Stream.concat(keys.stream(), Stream.of("c")).toList();
    try (Service service = server();
        End end = new End(service)) {
      Cli different = replay(more, "--compare", url(service), "--json");
      assertThat(different.out()).startsWith("{");
      assertThat(different.err())
          .isEqualTo(
              "PerKey in shadow: the replay denies 3 of 8 requests, the server 3 of 7: more than the tolerance.\n");
      assertThat(different.code()).isEqualTo(Exit.NO);
      Cli tolerated = replay(more, "--compare", url(service), "--tolerance", "12.5%");
      assertThat(tolerated.out()).endsWith("the server 3 of 7: within the tolerance.\n");
      assertThat(tolerated.code()).isEqualTo(Exit.DONE);
      assertThat(replay(more, "--compare", url(service), "--tolerance", "12.4%").code())
          .isEqualTo(Exit.NO);
    }
  }

  @Test
  void mistakes_areRefused() throws Exception {
    assertThat(replay(keys, "--compare", "http://127.0.0.1:1").code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(replay(keys, "--tolerance", "1%").err())
        .contains("an option for connecting to a server, which require --compare URL");
    assertThat(replay(keys, "--compare", "http://127.0.0.1:1", "--tolerance", "1").err())
        .contains("--tolerance: found \"1\", expected a percentage such as 1%");
  }
}
