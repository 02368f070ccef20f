// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Buckets in a real PostgreSQL, from the command line. */
@Tag("slow")
final class StoreCommandTest {

  private static final String PATIENT = "?timeout=20s";

  @TempDir Path folder;

  private String db;
  private String limits;

  @BeforeEach
  void aDatabase() throws Exception {
    db = LocalPostgres.newDatabase();
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
    Cli before = spend(db + PATIENT);
    assertThat(before.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(before.err()).contains("no table sluice_bucket; run `sluice store create`");

    Cli created = Cli.run("store", "create", db);
    assertThat(created).isEqualTo(new Cli(Exit.DONE, "", "the schema is up to date\n"));
    assertThat(Cli.run("store", "create", db).code()).as("again").isEqualTo(Exit.DONE);
    assertThat(Cli.run("overrides", "migrate", "--db", db).err())
        .isEqualTo("the schema is up to date\n");

    assertThat(spend(db + PATIENT).code()).isEqualTo(Exit.DONE);
    assertThat(spend(db + PATIENT).code()).isEqualTo(Exit.DONE);
    assertThat(spend(db + PATIENT).code()).isEqualTo(Exit.NO);
    assertThat(spend(db + PATIENT + "&prefix=another:").code()).isEqualTo(Exit.DONE);
    Cli logged = spend(db + PATIENT + "&durability=async");
    assertThat(logged.code()).isEqualTo(Exit.UNREACHABLE);
    assertThat(logged.err()).contains("a table sluice_bucket that is unlogged");
  }

  @Test
  void replay_onTheDatabase_decidesAsRecorded() throws Exception {
    assertThat(Cli.run("store", "create", db).code()).isEqualTo(Exit.DONE);
    ReplayCommandTest.assertDecidedAsRecorded(folder, db + PATIENT);
  }

  @Test
  void print_showsStatementsThatCreateAll() throws SQLException {
    Cli printed = Cli.run("store", "create", db + "?durability=async", "--role", "a\"b", "--print");
    assertThat(printed.code()).isEqualTo(Exit.DONE);
    assertThat(printed.out())
        .contains("CREATE TABLE IF NOT EXISTS public.sluice_bucket", "TO \"a\"\"b\"")
        .doesNotContain("${");
    try (Connection connection =
            DriverManager.getConnection("jdbc:" + db.replace("postgres@", "") + "?user=postgres");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE ROLE \"a\"\"b\"");
      statement.execute(printed.out());
      statement.execute(printed.out()); // again
      statement.execute("DROP OWNED BY \"a\"\"b\"");
      statement.execute("DROP ROLE \"a\"\"b\"");
    }
    assertThat(spend(db + PATIENT + "&durability=async").code()).isEqualTo(Exit.DONE);
    assertThat(Cli.run("overrides", "migrate", "--db", db).err())
        .isEqualTo("the schema is up to date\n");
  }

  @Test
  void url_ofAnotherStore_orWithABadOption_isRefused() {
    Cli redis = Cli.run("store", "create", "redis://localhost/0");
    assertThat(redis.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(redis.err())
        .contains("found the store \"redis://localhost/0\", which needs no preparation");
    Cli option = spend(db + "?durabilty=sync");
    assertThat(option.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(option.err()).contains("--store: found the option \"durabilty\"");
  }
}
