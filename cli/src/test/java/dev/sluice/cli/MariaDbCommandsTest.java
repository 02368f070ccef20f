// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalMariaDb;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Buckets in a real MariaDB, from the command line. */
@Tag("slow")
final class MariaDbCommandsTest {

  private static final String HOST = "127.0.0.1:" + LocalMariaDb.port();
  private static final String DB = HOST + "/commands";
  private static final String PATIENT = "?timeout=20s";

  @TempDir Path folder;

  private String limits;

  @BeforeEach
  void aDatabase() throws Exception {
    try (Connection connection =
            DriverManager.getConnection("jdbc:mariadb://" + HOST + "/?user=root");
        Statement statement = connection.createStatement()) {
      statement.execute("DROP DATABASE IF EXISTS commands");
      statement.execute("CREATE DATABASE commands");
      statement.execute("CREATE USER IF NOT EXISTS app@`%` IDENTIFIED BY 'hunter2'");
    }
    limits =
        Files.writeString(
                folder.resolve("limits.yml"),
                "ExportsPerUser: {id: string, burst: 2, count: 2, period: 24h}\n")
            .toString();
  }

  private Cli spend(String store) {
    return Cli.run("spend", "ExportsPerUser", "ann", "--limits", limits, "--store", store);
  }

  @Test
  void spend_onADatabaseThatIsPrepared_decides() {
    String owner = "mariadb://root@" + DB;
    Cli before = spend(owner + PATIENT);
    assertThat(before.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(before.err())
        .contains("this version: sluice_charge_v1, ", "run `sluice store create`");

    assertThat(Cli.run("store", "create", owner, "--role", "app@%"))
        .isEqualTo(new Cli(Exit.DONE, "", "the schema is up to date\n"));
    assertThat(Cli.run("store", "create", owner).code()).as("again").isEqualTo(Exit.DONE);

    String store = "mariadb://app:hunter2@" + DB + PATIENT;
    assertThat(spend(store).code()).isEqualTo(Exit.DONE);
    assertThat(spend(store).code()).isEqualTo(Exit.DONE);
    assertThat(spend("jdbc:mariadb://" + DB + PATIENT + "&user=root").code()).isEqualTo(Exit.NO);
    assertThat(spend(store + "&prefix=another:").code()).isEqualTo(Exit.DONE);
    Cli wrong = spend("mariadb://app:hunter3@" + DB + PATIENT);
    assertThat(wrong.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(wrong.err()).contains("Access denied").doesNotContain("hunter");
  }

  @Test
  void replay_onTheDatabase_decidesAsRecorded() throws Exception {
    String owner = "mariadb://root@" + DB;
    assertThat(Cli.run("store", "create", owner).code()).isEqualTo(Exit.DONE);
    ReplayCommandTest.assertDecidedAsRecorded(folder, owner + PATIENT);
  }

  @Test
  void print_showsStatementsOfMariaDbsClient() throws Exception {
    Cli printed = Cli.run("store", "create", "mariadb://root@" + DB, "--role", "app@%", "--print");
    assertThat(printed.code()).isEqualTo(Exit.DONE);
    Path file = Files.writeString(folder.resolve("create.sql"), printed.out());
    Process client =
        new ProcessBuilder(
                "mariadb",
                "--no-defaults",
                "--host=127.0.0.1",
                "--port=" + LocalMariaDb.port(),
                "--user=root",
                "commands")
            .redirectInput(file.toFile())
            .redirectErrorStream(true)
            .start();
    assertThat(client.inputReader(StandardCharsets.UTF_8).readLine()).isNull();
    assertThat(client.waitFor()).isZero();
    assertThat(spend("mariadb://app:hunter2@" + DB + PATIENT).code()).isEqualTo(Exit.DONE);
  }

  @Test
  void badUrls_areRefused_withoutTheirPasswords() {
    Cli option = spend("mariadb://app:hunter2@" + DB + "?durability=sync");
    assertThat(option.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(option.err())
        .contains("--store: found the option \"durability\"")
        .doesNotContain("hunter");
    Cli cut = Cli.run("store", "create", "mariadb://app:hunt/er2@" + DB);
    assertThat(cut.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(cut.err()).contains("not the URL of a MariaDB database").doesNotContain("hunt");
    Cli mysql = spend("mysql://app:hunter2@" + DB);
    assertThat(mysql.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(mysql.err()).contains("redis-ring, postgresql, mariadb").doesNotContain("hunter");
  }
}
