// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Control;
import dev.sluice.server.service.ServerConfig.Doors;
import dev.sluice.server.service.ServerConfig.Http;
import dev.sluice.server.service.ServerConfig.Sources;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.ServerConfig.Telemetry;
import dev.sluice.server.service.Service;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.server.tls.TlsFiles;
import dev.sluice.server.tls.TlsFiles.ClientCertificates;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HealthcheckCommandTest {

  @TempDir private Path folder;

  private static Cli ask(HttpServer server, int status) {
    server.createContext(
        "/healthz",
        exchange -> {
          exchange.sendResponseHeaders(status, -1);
          exchange.close();
        });
    server.start();
    try {
      return answered("127.0.0.1:" + server.getAddress().getPort());
    } finally {
      server.stop(0);
    }
  }

  /** Asks again if a busy machine took longer than the two seconds that the command waits. */
  private static Cli answered(String server) {
    Cli run = Cli.run("healthcheck", "--server", server);
    for (int i = 0; i < 10 && run.code() == Exit.UNREACHABLE; i++) {
      run = Cli.run("healthcheck", "--server", server);
    }
    return run;
  }

  private static InetSocketAddress any() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  @Test
  void aServerThatIsAlive_isHealthy() throws IOException {
    Cli run = ask(HttpServer.create(any(), 0), 200);

    assertThat(run.out()).isEqualTo("alive\n");
    assertThat(run.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void anotherStatus_isNotHealthy() throws IOException {
    Cli run = ask(HttpServer.create(any(), 0), 503);

    assertThat(run.out()).startsWith("not alive: HTTP/1.1 503");
    assertThat(run.code()).isEqualTo(Exit.NO);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void withTls_theCertificateNeedNotBeTrusted_andNoneIsShown(boolean requiresOne) throws Exception {
    Path store = folder.resolve("keys.p12");
    String java = System.getProperty("java.home");
    Process keytool =
        new ProcessBuilder(
                (java + "/bin/keytool -genkeypair -keyalg EC -dname CN=x -storepass changeit")
                    .concat(" -keystore " + store)
                    .split(" "))
            .redirectErrorStream(true)
            .start();
    assertThat(keytool.waitFor()).isZero();
    KeyStore keys = KeyStore.getInstance(store.toFile(), "changeit".toCharArray());
    Path certificate =
        pem("CERTIFICATE", keys.getCertificate(keys.aliases().nextElement()).getEncoded());
    Path key =
        pem(
            "PRIVATE KEY",
            keys.getKey(keys.aliases().nextElement(), "changeit".toCharArray()).getEncoded());
    Doors doors =
        new Doors(
            Http.on(any()),
            null,
            null,
            Settings.of(OverridePolicy.ALLOW),
            new TlsFiles(
                certificate, key, requiresOne ? new ClientCertificates(certificate, true) : null),
            false,
            false);
    try (Service service =
            Service.start(
                new ServerConfig(
                    doors,
                    Sources.SAMPLE,
                    Storage.in(StoreAccess.of("memory")),
                    Control.NONE,
                    Telemetry.NONE));
        End end = new End(service)) {
      String address = HostPort.format(service.addresses().get(0));

      for (String server : List.of(address, "https://" + address)) {
        Cli run = answered(server);

        assertThat(run.err()).isEmpty();
        assertThat(run.out())
            .isEqualTo(
                requiresOne ? "alive: the server requires a client certificate\n" : "alive\n");
        assertThat(run.code()).isEqualTo(Exit.DONE);
      }
    }
  }

  private Path pem(String kind, byte[] content) throws IOException {
    return Files.writeString(
        folder.resolve(kind.replace(' ', '-')),
        "-----BEGIN %s-----\n%s\n-----END %1$s-----\n"
            .formatted(kind, Base64.getMimeEncoder().encodeToString(content)));
  }

  @Test
  void nobodyThere_isUnreachable() {
    Cli run = Cli.run("healthcheck", "--server", "127.0.0.1:1");

    assertThat(run.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(run.err()).startsWith("sluice: 127.0.0.1:1: ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"8080", "localhost", "a b:1", "https://localhost", "", "localhost:99999"})
  void anAddressWithoutHostOrPort_isRefused(String address) {
    Cli run = Cli.run("healthcheck", "--server", address);

    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("--server: expected HOST:PORT");
  }
}
