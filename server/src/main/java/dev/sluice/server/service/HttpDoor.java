// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.server.access.AccessPart;
import dev.sluice.server.http.AdminPart;
import dev.sluice.server.http.ForwardAuthPart;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.http.MetricsPart;
import dev.sluice.server.http.StatsPart;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.OverridePolicy;
import dev.sluice.server.rls.RlsPart;
import dev.sluice.server.service.ServerConfig.Http;
import java.util.List;

/** HTTP with {@code /metrics}, and Envoy's rate limit service. Immutable. */
final class HttpDoor implements Door {

  private final Http settings;
  private final OverridePolicy overrides;
  private final MetricsPart metrics;
  private final StatsPart stats;

  HttpDoor(Http settings, OverridePolicy overrides, MetricsPart metrics, StatsPart stats) {
    this.settings = settings;
    this.overrides = overrides;
    this.metrics = metrics;
    this.stats = stats;
  }

  @Override
  public String protocol() {
    return "http";
  }

  @Override
  public Open open(Room room) {
    SluiceServer.Builder server =
        SluiceServer.builder(settings.address())
            .traffic(room.traffic())
            .tls(room.tls())
            .requestLog(settings.requestLog());
    parts(room).forEach(server::part);
    settings.hosts().forEach(server::host);
    settings.origins().forEach(server::origin);
    return new OpenServer(server.start());
  }

  /** All that answers on the port, behind who may ask. */
  List<Part> parts(Room room) {
    RlsPart rls = GrpcDoor.part(room, overrides);
    return List.of(
        new AccessPart(room.access()),
        new HttpPart(
            room.limiter(),
            room.reservations(),
            room.ready(),
            room.access().audit(),
            room.generations()),
        new AdminPart(room.runtime(), room.access().audit()),
        rls,
        rls.json(),
        new ForwardAuthPart(room.limiter(), settings.clientAddress(), room.meters()),
        stats,
        metrics,
        room.traces());
  }
}
