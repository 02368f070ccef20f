// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static dev.sluice.server.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.net.HostPort;
import dev.sluice.testkit.servers.FreePort;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A proxy with a configuration of {@code examples/}, which users copy; only the ports are others.
 */
final class LocalProxy implements AutoCloseable {

  static final Path EXAMPLES = Path.of("..", "examples");
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  /** A proxy that can be installed here. */
  enum Kind {
    NGINX,
    CADDY,
    HAPROXY;

    String example() {
      return name().toLowerCase(Locale.ROOT);
    }

    private List<String> command(Path folder) {
      return switch (this) {
        case NGINX ->
            List.of(
                "nginx",
                "-p",
                folder.toString(),
                "-c",
                folder + "/nginx.conf",
                "-g",
                "daemon off; error_log stderr; pid " + folder + "/nginx.pid;");
        case CADDY ->
            List.of("caddy", "run", "--config", folder + "/Caddyfile", "--adapter", "caddyfile");
        case HAPROXY -> List.of("haproxy", "-db", "-f", folder + "/haproxy.cfg");
      };
    }
  }

  private final Path folder;
  private final Process process;
  private final InetSocketAddress address;

  private LocalProxy(Path folder, Process process, InetSocketAddress address) {
    this.folder = folder;
    this.process = process;
    this.address = address;
  }

  /**
   * Starts a proxy, and waits until the application answers behind it: the first requests to a
   * service that has just started take longer than the proxy waits.
   *
   * @param folder for its files; must be empty but for limits
   * @param service the server that it asks
   * @param appPort of the application behind it
   * @param configured changes each file of the example
   * @param environment more variables
   */
  static LocalProxy start(
      Kind kind,
      Path folder,
      InetSocketAddress service,
      int appPort,
      UnaryOperator<String> configured,
      Map<String, String> environment)
      throws IOException {
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), FreePort.next());
    try (Stream<Path> files = Files.list(EXAMPLES.resolve(kind.example()))) {
      for (Path file : files.toList()) {
        Files.writeString(
            folder.resolve(file.getFileName()),
            configured
                .apply(Files.readString(file))
                .replace("127.0.0.1:8080", HostPort.format(service))
                .replace("127.0.0.1:3000", "127.0.0.1:" + appPort)
                .replace(":8000", ":" + address.getPort())
                // A busy machine may take longer to answer than a proxy should wait.
                .replaceAll("(timeout|timeout connect) (200ms|1s)\\b", "$1 60s")
                .replace("timeout = 1000", "timeout = 60000"));
      }
    }
    ProcessBuilder builder =
        new ProcessBuilder(kind.command(folder))
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("proxy.log").toFile());
    builder.environment().put("HOME", folder.toString());
    builder.environment().put("XDG_DATA_HOME", folder.toString());
    builder.environment().putAll(environment);
    LocalProxy proxy = new LocalProxy(folder, builder.start(), address);
    await()
        .atMost(PATIENCE)
        .failFast(() -> assertThat(proxy.process.isAlive()).as(proxy.log()).isTrue())
        .ignoreException(ConnectException.class)
        .until(proxy::passes);
    return proxy;
  }

  private boolean passes() throws IOException {
    String request = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    return RawAnswer.to(address, "127.0.0.2", request).status() == 200;
  }

  InetSocketAddress address() {
    return address;
  }

  String log() throws IOException {
    return Files.readString(folder.resolve("proxy.log"));
  }

  @Override
  public void close() throws InterruptedException {
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
  }
}
