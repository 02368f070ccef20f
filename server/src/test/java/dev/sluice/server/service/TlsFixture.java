// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import com.linecorp.armeria.client.ClientFactory;
import com.linecorp.armeria.client.grpc.GrpcClients;
import com.linecorp.armeria.common.TlsKeyPair;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Files;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.tls.Pem;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.server.tls.TlsFiles.ClientCertificates;
import dev.sluice.web.ClientAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** A service with all doors and TLS, its files in a folder, and clients for it. */
record TlsFixture(Path folder) {

  private static final InetSocketAddress ANY =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final int PATIENCE_MILLIS = 30_000;
  static final int HTTP = 0;
  static final int RESP = 1;
  static final int GRPC = 2;

  /** Writes the files of a good start. */
  static TlsFixture in(Path folder) throws IOException {
    TlsFixture fixture = new TlsFixture(folder);
    Pem.write(Pem.SERVER, folder);
    java.nio.file.Files.writeString(folder.resolve("ca.crt"), Pem.certificate(Pem.CLIENT));
    fixture.writeLimits("1000000");
    return fixture;
  }

  void writeLimits(String burst) throws IOException {
    java.nio.file.Files.writeString(
        folder.resolve("limits.yml"),
        "ApiCallsPerKey: {burst: %s, count: 1, period: 1h}\n".formatted(burst));
  }

  ServerConfig config(boolean clientsShowCertificates) {
    return config(clientsShowCertificates, ServerConfig.Control.NONE);
  }

  ServerConfig config(boolean clientsShowCertificates, ServerConfig.Control control) {
    return new ServerConfig(
        doors(clientsShowCertificates), sources(), Configs.inMemory(), control, Telemetry.NONE);
  }

  Sources sources() {
    return Sources.of(new Files(folder.resolve("limits.yml"), null, null, null));
  }

  Doors doors(boolean clientsShowCertificates) {
    TlsFiles tls =
        new TlsFiles(
            folder.resolve("tls.crt"),
            folder.resolve("tls.key"),
            clientsShowCertificates
                ? new ClientCertificates(folder.resolve("ca.crt"), true)
                : null);
    Http http = new Http(ANY, ClientAddress.direct(), Set.of("sluice.test"), Set.of(), false);
    return new Doors(http, ANY, ANY, Settings.of(OverridePolicy.ALLOW), tls, false, false);
  }

  static String url(Service service, int door, String path) {
    return "https://localhost:" + service.addresses().get(door).getPort() + path;
  }

  static HttpResponse<String> spend(HttpClient client, Service service, String id)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url(service, HTTP, "/v1/spend")))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{\"limit\":\"ApiCallsPerKey\",\"id\":\"" + id + "\"}"))
            .build();
    return client.send(request, BodyHandlers.ofString());
  }

  static HttpResponse<String> send(HttpClient client, Service service, String method, String path)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url(service, HTTP, path)))
            .method(method, BodyPublishers.noBody())
            .build();
    return client.send(request, BodyHandlers.ofString());
  }

  static Jedis jedis(Service service, SSLContext context) {
    int port = service.addresses().get(RESP).getPort();
    return new Jedis(
        () -> {
          try {
            SSLSocket socket =
                (SSLSocket) context.getSocketFactory().createSocket("localhost", port);
            socket.setSoTimeout(PATIENCE_MILLIS);
            socket.startHandshake();
            return socket;
          } catch (IOException e) {
            throw new JedisConnectionException(e);
          }
        });
  }

  static ClientFactory factory(@Nullable TlsKeyPair shown) {
    return ClientFactory.builder()
        .tlsCustomizer(
            tls -> {
              tls.trustManager(Pem.leaf(Pem.SERVER));
              if (shown != null) {
                tls.keyManager(shown.privateKey(), Pem.leaf(shown));
              }
            })
        .build();
  }

  static <T> T grpc(Service service, ClientFactory factory, Class<T> stub) {
    return GrpcClients.builder("gproto+" + url(service, GRPC, "/")).factory(factory).build(stub);
  }
}
