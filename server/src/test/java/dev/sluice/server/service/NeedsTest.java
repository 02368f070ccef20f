// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.service.Door.HttpDoor;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The table of what each endpoint and command needs names all that there are, and no others. */
class NeedsTest {

  private final BucketStore store = BucketStore.inMemory();
  private final CurrentLimits limits = new CurrentLimits(SampleLimits.make());
  private final Limiter limiter = Limiter.of(limits, store);

  private Door.Room room() {
    return new Door.Room(
        limiter,
        new Reservations(limiter, store, TokenKey.random()),
        new SimpleMeterRegistry(),
        () -> {},
        ConnectionBudget.usual(),
        Access.open(AuditLog.none(), new SimpleMeterRegistry()),
        RuntimeLimits.inMemory(limits, store),
        new Generations(),
        null,
        server -> {});
  }

  private ServerState state() {
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    RateHistory history = RateHistory.start(meters);
    history.close();
    return new ServerState(
        history, meters, ConnectionBudget.usual(), List::of, store, "memory", store::ping);
  }

  @Test
  void everyRouteOfTheHttpDoor_standsInTheTable_andNoOther() {
    HttpDoor door =
        new HttpDoor(
            ServerConfig.Http.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
            OverridePolicy.ALLOW,
            new MetricsPart(limits, store),
            new StatsPart(state(), null));
    ServerBuilder builder = Server.builder();
    door.parts(room()).forEach(part -> part.addTo(builder));
    Set<String> routes = new TreeSet<>();
    try (Server server = builder.build()) {
      for (ServiceConfig config : server.serviceConfigs()) {
        Route route = config.route();
        if (!route.isFallback()) {
          routes.add(route.patternString());
        }
      }
    }
    assertThat(routes).isEqualTo(NeedsTable.paths());
  }

  @Test
  void everyCommandOfTheRedisDoor_standsInTheTable_andNoOther() {
    assertThat(CommandNames.of(limiter, new Reservations(limiter, store, TokenKey.random())))
        .isEqualTo(NeedsTable.commands());
  }

  /** A client that is made from the document must know what access control answers. */
  @Test
  void openApi_saysForEachPathThatNeedsARole_howItIsRefused() throws IOException {
    JsonNode paths;
    try (InputStream in = HttpPart.class.getResourceAsStream("openapi.json")) {
      paths = new ObjectMapper().readTree(in).get("paths");
    }
    paths
        .properties()
        .forEach(
            path -> {
              String route = path.getKey().replaceFirst("\\{.*", "*");
              for (JsonNode operation : path.getValue()) {
                if (NeedsTable.needsARole(route) && operation.has("responses")) {
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
    Path root = Path.of("").toAbsolutePath();
    while (!Files.exists(root.resolve("docs/security.md"))) {
      root = root.getParent();
    }
    String page = Files.readString(root.resolve("docs/security.md"));
    assertThat(page).contains("<!-- needs -->\n" + NeedsTable.markdown() + "<!-- /needs -->");
  }
}
