// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ConnectionsMeterTest {

  private static final InetSocketAddress ANY_PORT =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  @Test
  void metrics_countTheConnectionsOfAllDoors() throws Exception {
    ServerConfig config =
        Configs.of(
            new Doors(
                Http.on(ANY_PORT),
                ANY_PORT,
                null,
                Settings.of(OverridePolicy.ALLOW),
                null,
                false,
                false));
    try (Service service = Service.start(config);
        Socket redis = connected(service.addresses().get(1))) {
      String metrics = get(service.addresses().get(0));

      assertThat(redis.isConnected()).isTrue();
      assertThat(metrics.lines()).contains("sluice_connections 2.0"); // this client, and that one
      assertThat(metrics).containsPattern("\nsluice_connections_max [1-9]");
    }
  }

  /** The server has answered on it, so it has counted it. */
  private static Socket connected(InetSocketAddress address) throws IOException {
    Socket socket = new Socket(address.getAddress(), address.getPort());
    socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
    assertThat(socket.getInputStream().read()).isEqualTo('+');
    return socket;
  }

  private static String get(InetSocketAddress server) throws IOException, InterruptedException {
    URI address = URI.create("http://" + HostPort.format(server) + "/metrics");
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(address).build(), BodyHandlers.ofString())
        .body();
  }
}
