// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A real MariaDB on the loopback interface, shared by all tests of a JVM. Requires {@code mariadbd}
 * and {@code mariadb-install-db}, for example from Debian's package mariadb-server. If the tests
 * run as root, these programs run as the user nobody. The server starts with the first call and
 * stops with the JVM.
 *
 * <p>Thread-safe. The first call blocks for several seconds.
 */
public final class LocalMariaDb {

  private static final String NOBODY = "65534";
  private static final long LONGEST_SECONDS = 60;

  private static int port;

  private LocalMariaDb() {}

  /**
   * Returns the port of the server. The database user root has no password.
   *
   * @return a port on 127.0.0.1
   */
  public static synchronized int port() {
    try {
      if (port == 0) {
        port = start();
      }
      return port;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static int start() throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("sluice-mariadb");
    if (isRoot()) {
      await(start(List.of("chown", NOBODY, folder.toString()), folder));
    }
    String data = "--datadir=" + folder.resolve("data");
    await(
        start(
            notAsRoot(
                "mariadb-install-db",
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
                data),
            folder));
    int free = freePort();
    Process server =
        start(
            notAsRoot(
                "mariadbd",
                "--no-defaults",
                data,
                "--bind-address=127.0.0.1",
                "--port=" + free,
                "--socket=" + folder.resolve("socket"),
                "--innodb-flush-log-at-trx-commit=0"),
            folder);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, folder), "stop-mariadb"));
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
    while (!answers(free)) {
      if (!server.isAlive() || System.nanoTime() > end) {
        throw new IOException("mariadbd did not start; its log is in the folder " + folder);
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
    return free;
  }

  private static boolean answers(int onPort) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), onPort)) {
      return socket.getInputStream().read() >= 0;
    } catch (IOException e) {
      return false;
    }
  }

  private static void stop(Process server, Path folder) {
    server.destroyForcibly();
    try (Stream<Path> files = Files.walk(folder)) {
      server.waitFor();
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException | InterruptedException e) {
      System.err.println("could not delete " + folder + ": " + e);
    }
  }

  private static Process start(List<String> command, Path folder) throws IOException {
    return new ProcessBuilder(command)
        .directory(Path.of("/").toFile()) // the user "nobody" cannot read the working directory
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
        .start();
  }

  private static void await(Process process) throws IOException, InterruptedException {
    if (!process.waitFor(LONGEST_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
      process.destroyForcibly();
      throw new IOException(
          "the command failed: " + process.info().commandLine().orElse("a program"));
    }
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  private static List<String> notAsRoot(String... command) {
    List<String> whole = new ArrayList<>();
    if (isRoot()) {
      whole.addAll(List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"));
    }
    whole.addAll(List.of(command));
    return whole;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
