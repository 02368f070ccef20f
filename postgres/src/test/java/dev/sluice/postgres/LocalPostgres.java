package dev.sluice.postgres;

import static org.awaitility.Awaitility.await;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.sql.DataSource;

/**
 * A real PostgreSQL on loopback, one for all tests of a JVM, with a database of its own for each
 * that asks.
 *
 * <p>It comes from Maven. PostgreSQL refuses to run as root; there the library runs it in a user
 * namespace. Where a container forbids namespaces too, Debian's PostgreSQL is run as nobody.
 */
final class LocalPostgres {

  private static final String NOBODY = "65534";

  private static int databases;

  private LocalPostgres() {}

  /** The URL of a new, empty database. */
  static synchronized String newDatabase() throws SQLException {
    String name = "test" + databases++;
    try (Connection connection = PostgresUrl.dataSource(url("postgres")).getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE DATABASE " + name);
    }
    return url(name);
  }

  private static String url(String database) {
    return "postgresql://postgres@127.0.0.1:" + Server.PORT + "/" + database;
  }

  /** Started when first used, stopped with the JVM. */
  private static final class Server {
    static final int PORT = start();

    private static int start() {
      try {
        return isRoot() && !canUnshare() ? startDebians() : startMavens();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static int startMavens() throws IOException {
      EmbeddedPostgres postgres = EmbeddedPostgres.start();
      atExit(postgres::close);
      return postgres.getPort();
    }

    private static int startDebians() throws IOException {
      Path bin = newestDebians();
      Path folder = Files.createTempDirectory("sluice-postgres");
      run(List.of("chown", NOBODY, folder.toString()));
      String data = folder.resolve("data").toString();
      run(asNobody(bin.resolve("initdb") + "", "-D", data, "-U", "postgres", "-A", "trust"));
      int port = freePort();
      Process server =
          new ProcessBuilder(
                  asNobody(
                      bin.resolve("postgres") + "",
                      "-D",
                      data,
                      "-k",
                      data,
                      "-p",
                      "" + port,
                      "-F",
                      "-h",
                      "127.0.0.1"))
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("log").toFile())
              .start();
      atExit(
          () -> {
            stop(server);
            delete(folder);
          });
      DataSource source =
          PostgresUrl.dataSource("postgresql://postgres@127.0.0.1:" + port + "/postgres");
      // In this thread: another one would wait for this class to be initialized.
      await()
          .pollInSameThread()
          .atMost(Duration.ofSeconds(30))
          .ignoreExceptions()
          .until(
              () -> {
                source.getConnection().close();
                return true;
              });
      return port;
    }

    private static Path newestDebians() throws IOException {
      Path installed = Path.of("/usr/lib/postgresql");
      if (Files.isDirectory(installed)) {
        try (Stream<Path> versions = Files.list(installed)) {
          var newest =
              versions
                  .map(v -> v.resolve("bin"))
                  .filter(Files::isDirectory)
                  .max(Comparator.naturalOrder());
          if (newest.isPresent()) {
            return newest.get();
          }
        }
      }
      throw new IOException(
          "PostgreSQL refuses to run as root, and this machine forbids user namespaces: run the"
              + " tests as another user, or install Debian's package postgresql");
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

    private static List<String> asNobody(String... command) {
      List<String> whole =
          new ArrayList<>(
              List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"));
      whole.addAll(List.of(command));
      return whole;
    }

    private static void run(List<String> command) throws IOException {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      try {
        if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
          process.destroyForcibly();
          throw new IOException("failed: " + String.join(" ", command));
        }
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    private static int freePort() throws IOException {
      try (ServerSocket socket = new ServerSocket(0)) {
        return socket.getLocalPort();
      }
    }

    private static void stop(Process server) throws IOException {
      server.destroy();
      try {
        if (!server.waitFor(10, TimeUnit.SECONDS)) {
          server.destroyForcibly();
        }
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }

    private static void delete(Path folder) throws IOException {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(path);
        }
      }
    }

    private static void atExit(Closing closing) {
      Runtime.getRuntime()
          .addShutdownHook(
              new Thread(
                  () -> {
                    try {
                      closing.close();
                    } catch (IOException e) {
                      System.err.println("could not stop PostgreSQL: " + e);
                    }
                  }));
    }
  }

  /** What is done when the JVM ends. */
  private interface Closing {
    void close() throws IOException;
  }
}
