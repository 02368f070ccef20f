// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A real MariaDB on the loopback interface, shared by all tests of a JVM. Requires {@code mariadbd}
 * and {@code mariadb-install-db}, for example from Debian's package mariadb-server. If the tests
 * run as root, both programs run as the user nobody. The server starts at the first call of {@link
 * #port} and stops when the JVM ends. Only a test that runs alone may kill, restart or freeze the
 * server.
 *
 * <p>Thread-safe. The first call of {@link #port} blocks for several seconds.
 */
public final class LocalMariaDb {

  private static final String NOBODY = "65534";
  private static final long LONGEST_SECONDS = 60;

  private static int port;
  private static @Nullable Path folder;
  private static @Nullable Process server;

  private LocalMariaDb() {}

  /**
   * Returns the port of the server. The database user root has no password.
   *
   * @return a port on 127.0.0.1
   */
  public static synchronized int port() {
    if (port == 0) {
      try {
        folder = install();
        port = FreePort.next();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        throw interrupted(e);
      }
      Runtime.getRuntime().addShutdownHook(new Thread(LocalMariaDb::stop, "stop-mariadb"));
      restart();
    }
    return port;
  }

  /** Kills the server with SIGKILL. */
  public static synchronized void kill() {
    Process running = server();
    running.destroyForcibly();
    try {
      running.waitFor();
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  /**
   * Starts a server that was killed, on the same port and with the same databases.
   *
   * @param options additional options of {@code mariadbd}
   */
  public static synchronized void restart(String... options) {
    Path its = folder();
    List<String> command = new ArrayList<>();
    command.addAll(List.of("mariadbd", "--no-defaults", "--datadir=" + its.resolve("data")));
    command.addAll(List.of("--bind-address=127.0.0.1", "--port=" + port));
    command.addAll(List.of("--socket=" + its.resolve("socket")));
    command.addAll(List.of("--innodb-flush-log-at-trx-commit=0"));
    command.addAll(List.of(options));
    try {
      Process started = start(notAsRoot(command.toArray(new String[0])), its);
      server = started;
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
      while (!answers(port)) {
        if (!started.isAlive() || System.nanoTime() > end) {
          throw new IOException("mariadbd did not start; its log is in the folder " + its);
        }
        TimeUnit.MILLISECONDS.sleep(50);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  /** Freezes the server: connections to the server stay open, but it sends nothing. */
  public static synchronized void freeze() {
    signal("STOP");
  }

  /** Resumes a frozen server. */
  public static synchronized void thaw() {
    signal("CONT");
  }

  private static void signal(String name) {
    try {
      await(start(List.of("kill", "-" + name, String.valueOf(server().pid())), folder()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private static Process server() {
    Process running = server;
    if (running == null) {
      throw new IllegalStateException("the server was not started");
    }
    return running;
  }

  private static Path folder() {
    Path its = folder;
    if (its == null) {
      throw new IllegalStateException("the server was not started");
    }
    return its;
  }

  private static IllegalStateException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return new IllegalStateException(e);
  }

  private static Path install() throws IOException, InterruptedException {
    Path created = Files.createTempDirectory("sluice-mariadb");
    if (isRoot()) {
      await(start(List.of("chown", NOBODY, created.toString()), created));
    }
    await(
        start(
            notAsRoot(
                "mariadb-install-db",
                "--no-defaults",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
                "--datadir=" + created.resolve("data")),
            created));
    return created;
  }

  private static boolean answers(int onPort) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), onPort)) {
      return socket.getInputStream().read() >= 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** Not synchronized, since a test that ends the JVM can hold the lock of this class. */
  private static void stop() {
    server().destroyForcibly();
    try (Stream<Path> files = Files.walk(folder())) {
      server().waitFor();
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException | InterruptedException e) {
      System.err.println("could not delete " + folder + ": " + e);
    }
  }

  private static Process start(List<String> command, Path logs) throws IOException {
    return new ProcessBuilder(command)
        .directory(Path.of("/").toFile()) // the user "nobody" cannot read the working directory
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(logs.resolve("log").toFile()))
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
}
