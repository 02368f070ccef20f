package dev.sluice.server.service;

import dev.sluice.server.SluiceServer;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.http.MetricsPart;
import dev.sluice.server.service.ServerConfig.Http;
import java.net.InetSocketAddress;

/** HTTP with {@code /metrics}. Immutable. */
final class HttpDoor implements Door {

  private final Http settings;
  private final MetricsPart metrics;

  HttpDoor(Http settings, MetricsPart metrics) {
    this.settings = settings;
    this.metrics = metrics;
  }

  @Override
  public Open open(Room room) {
    SluiceServer.Builder server =
        SluiceServer.builder(settings.address())
            .part(new HttpPart(room.limiter(), room.reservations(), room.ready(), room.onMissing()))
            .part(metrics)
            .traffic(room.traffic())
            .requestLog(settings.requestLog());
    settings.hosts().forEach(server::host);
    settings.origins().forEach(server::origin);
    return new OpenHttp(server.start());
  }

  private record OpenHttp(SluiceServer server) implements Open {

    @Override
    public InetSocketAddress address() {
      return server.address();
    }

    @Override
    public void unready() {
      server.unready();
    }

    @Override
    public void close() {
      server.drain();
    }
  }
}
