// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceConfig;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.NeedsTable;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.http.HttpPart.MetricsPart;
import dev.sluice.server.http.HttpPart.ServerState;
import dev.sluice.server.http.HttpPart.StatsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.resp.CommandNames;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.Door.HttpDoor;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Every endpoint and command says what a caller needs, and the docs print it. */
class NeedsTest {

  private final BucketStore store = BucketStore.inMemory();
  private final CurrentLimits limits = new CurrentLimits(SampleLimits.make());
  private final Limiter limiter = Limiter.of(limits, store);

  private Door.DoorContext room() {
    return new Door.DoorContext(
        limiter,
        store,
        new Reservations(limiter, store, TokenKey.random()),
        new SimpleMeterRegistry(),
        () -> {},
        ConnectionBudget.usual(),
        Access.open(AuditLog.none(), new SimpleMeterRegistry(), null, true),
        RuntimeLimits.inMemory(limits, store),
        new Generations(),
        null,
        Denials.none(),
        new OpenCalls(new SimpleMeterRegistry()),
        server -> {});
  }

  private ServerState state() {
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    RateHistory history = RateHistory.start(meters);
    history.close();
    return new ServerState(
        history,
        meters,
        ConnectionBudget.usual(),
        List::of,
        store,
        "memory",
        store::ping,
        "host-1",
        RuntimeLimits.inMemory(limits, store),
        () -> null,
        limit -> "fail",
        List::of);
  }

  /** Each path of the HTTP door and of Envoy's with what answers there. */
  private Map<String, HttpService> routes() {
    HttpDoor door =
        new HttpDoor(
            ServerConfig.Http.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
            Settings.of(OverridePolicy.ALLOW),
            new MetricsPart(MetricsPart.newRegistry(), limits, store),
            new StatsPart(state(), null));
    ServerBuilder builder = Server.builder();
    door.parts(room()).forEach(part -> part.addTo(builder));
    Map<String, HttpService> routes = new TreeMap<>();
    try (Server server = builder.build()) {
      for (ServiceConfig config : server.serviceConfigs()) {
        Route route = config.route();
        if (!route.isFallback()) {
          routes.put(route.patternString(), config.service());
        }
      }
    }
    return routes;
  }

  @Test
  void everyRoute_saysWhatItNeeds() {
    assertThat(routes())
        .hasSizeGreaterThan(20)
        .allSatisfy((path, service) -> assertThat(NeedsTable.saysWhatItNeeds(service)).isTrue());
  }

  /** A client that is made from the document must know what access control answers. */
  @Test
  void openApi_saysForEachPathThatNeedsARole_howItIsRefused() throws IOException {
    JsonNode paths;
    try (InputStream in = HttpPart.class.getResourceAsStream("openapi.json")) {
      paths = new ObjectMapper().readTree(in).get("paths");
    }
    Map<String, HttpService> routes = routes();
    paths
        .properties()
        .forEach(
            path -> {
              String route = path.getKey().replaceFirst("\\{.*", "*");
              HttpService service = Objects.requireNonNull(routes.get(route), route);
              boolean open = NeedsTable.needs(service, route).equals("nothing");
              for (JsonNode operation : path.getValue()) {
                if (!open && operation.has("responses")) {
                  assertThat(operation.get("responses").fieldNames())
                      .toIterable()
                      .as(path.getKey())
                      .contains("401", "403", "429");
                }
              }
            });
  }

  @Test
  void docs_printTheTable() throws IOException {
    Map<String, List<String>> byNeed = new TreeMap<>();
    routes()
        .forEach(
            (path, service) ->
                byNeed
                    .computeIfAbsent(NeedsTable.needs(service, path), need -> new ArrayList<>())
                    .add(path));
    CommandNames.needs(limiter, new Reservations(limiter, store, TokenKey.random()))
        .forEach(
            (name, need) -> byNeed.computeIfAbsent(need, other -> new ArrayList<>()).add(name));
    String table =
        "| necessary role | endpoints and commands |\n|---|---|\n"
            + byNeed.entrySet().stream()
                .map(
                    row ->
                        "| %s | `%s` |\n"
                            .formatted(row.getKey(), String.join("`, `", row.getValue())))
                .collect(Collectors.joining());
    Path root = Path.of("").toAbsolutePath();
    while (!Files.exists(root.resolve("docs/security.md"))) {
      root = root.getParent();
    }
    String marked = "<!-- needs -->\n" + table + "<!-- /needs -->";
    assertThat(Files.readString(root.resolve("docs/security.md")).contains(marked))
        .as("docs/security.md has this table:%n%s", marked)
        .isTrue();
  }
}
