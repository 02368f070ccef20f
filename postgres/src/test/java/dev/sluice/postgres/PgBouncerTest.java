// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import static dev.sluice.postgres.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.servers.FreePort;
import dev.sluice.testkit.servers.LocalPostgres;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store behind PgBouncer, which gives each transaction another session. */
@Tag("slow")
final class PgBouncerTest {

  private static final long HOUR = TimeUnit.HOURS.toNanos(1);
  // Another function may read a key as an array, whose first four bytes are its dimensions.
  private static final String LONE = "a hot bucket";
  private static final String NOBODY = "65534";

  @TempDir Path folder;
  private Process bouncer;
  private String url;

  @BeforeEach
  void start() throws IOException, SQLException {
    assumeThat(
            Stream.of(System.getenv("PATH").split(":", -1))
                .anyMatch(bin -> Files.isExecutable(Path.of(bin, "pgbouncer"))))
        .as("pgbouncer is installed (Debian's package pgbouncer)")
        .isTrue();
    URI database = URI.create(LocalPostgres.newDatabase());
    PostgresStore.create(PostgresUrl.dataSource(database.toString()), Durability.UNLOGGED, null);
    int port = FreePort.next();
    url = "postgresql://postgres@127.0.0.1:" + port + database.getPath();
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path users = Files.writeString(folder.resolve("users"), "\"postgres\" \"\"\n");
    Path settings =
        Files.writeString(
            folder.resolve("pgbouncer.ini"),
            """
            [databases]
            * = host=127.0.0.1 port=%s
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = %s
            unix_socket_dir =
            auth_type = trust
            auth_file = %s
            pool_mode = transaction
            default_pool_size = 2
            ignore_startup_parameters = extra_float_digits
            """
                .formatted(database.getPort(), port, users));
    List<String> command = new ArrayList<>();
    if ("root".equals(System.getProperty("user.name"))) { // PgBouncer refuses to run as root
      command.addAll(
          List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"));
    }
    command.addAll(List.of("pgbouncer", settings.toString()));
    bouncer =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    await().ignoreExceptions().until(() -> text("SELECT 1").equals("1"));
  }

  @AfterEach
  void stop() throws InterruptedException {
    if (bouncer != null) {
      bouncer.destroy();
      bouncer.waitFor();
    }
  }

  private String text(String sql) throws SQLException {
    DataSource source = PostgresUrl.dataSource(url);
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getString(1) : "";
    }
  }

  /** Four connections share two sessions, which do not know each other's prepared statements. */
  @Test
  void charges_ofAllKinds_grantTheBurst_andLeaveNoSetting() throws Exception {
    String before = text("SHOW lock_timeout");
    AtomicInteger granted = new AtomicInteger();
    try (BucketStore store =
        PostgresStore.builder(url)
            .connections(4)
            .timeout(Duration.ofSeconds(20))
            .denials(Duration.ZERO)
            .open()) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        String own = "own:" + i;
        threads.add(
            new Thread(
                () -> {
                  for (int j = 0; j < 50; j++) {
                    Op op = j % 5 == 0 ? Op.CHECK : Op.SPEND;
                    Charge hot = new Charge(LONE, op, HOUR, 500 * HOUR, Effect.NO_END);
                    Charge cold = new Charge(own, Op.SPEND, HOUR, 500 * HOUR, Effect.NO_END);
                    Reading found =
                        store.charge(j % 2 == 0 ? List.of(hot) : List.of(hot, cold)).get(0);
                    if (op == Op.SPEND && hot.passes(found.nowNanos(), found.tatNanos())) {
                      granted.incrementAndGet();
                    }
                  }
                }));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
      try (Connection connection = PostgresUrl.dataSource(url).getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute(
            "INSERT INTO sluice_bucket SELECT convert_to('a' || n, 'UTF8'), 0"
                + " FROM generate_series(1, 20000) n");
      }
      assertThat(store.someKeys(100_000, Duration.ofMinutes(10)).orElseThrow())
          .hasSize(20_017)
          .contains(LONE, "own:0", "own:15");
    }
    assertThat(granted).hasValue(500);
    assertThat(text("SHOW lock_timeout")).isEqualTo(before);
  }
}
