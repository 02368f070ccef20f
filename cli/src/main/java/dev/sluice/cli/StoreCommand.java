// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.CommandGroup;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.server.service.StoreAccess.Stores;
import java.nio.file.Path;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice store}: the group of commands that prepare a store for its first use. */
@Command(
    name = "store",
    description = "Prepares a database for buckets and overrides.",
    footerHeading = "%nExample:%n",
    footer = "  sluice store create postgresql://owner@db/limits --role sluice",
    synopsisSubcommandLabel = "COMMAND")
final class StoreCommand extends CommandGroup {

  static CommandLine commandLine(Console console) {
    return new CommandLine(new StoreCommand()).addSubcommand(console.given(new CreateStore()));
  }

  @Command(
      name = "create",
      description = {
        "Creates or updates the table and the functions for buckets, and in PostgreSQL the tables for overrides.",
        "",
        "The command can be repeated at any time: the tables keep their rows. Servers of two versions can share the tables, since each version has its own functions."
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  sluice store create 'postgresql://db/limits?durability=sync' --role sluice",
        "  sluice store create postgresql://db/limits --print | psql …",
        "  sluice store create mariadb://owner@db/limits --role app@%%"
      })
  private static final class CreateStore extends ConsoleCommand {

    private static final String PASSWORD_FILE = "--store-password-file";

    @Parameters(
        paramLabel = "URL",
        description =
            "The database, as for serve --store, with the user that owns the tables: postgresql://user@host/database?durability=unlogged|async|sync, or mariadb://user@host/database.")
    private String url = "";

    @Option(
        names = "--role",
        paramLabel = "NAME",
        description =
            "A role, or in MariaDB a user such as app@%%, that gets the right to use the store, and no other right.")
    private @Nullable String role;

    @Option(
        names = "--print",
        description = "Only print the statements (for PostgreSQL's schema public).")
    private boolean print;

    @Option(
        names = PASSWORD_FILE,
        paramLabel = "FILE",
        description =
            "A file with the database's password; or set SLUICE_STORE_PASSWORD, or use ~/.pgpass.")
    private @Nullable Path passwordFile;

    @Override
    public Integer call() {
      String password =
          print ? null : InputFiles.secret(PASSWORD_FILE, passwordFile, "SLUICE_STORE_PASSWORD");
      StoreAccess access =
          StoreAccess.of(url)
              .withPassword(password == null || password.isEmpty() ? null : password);
      try {
        if (print) {
          console.line(Stores.statements(access, role).stripTrailing());
          return Exit.DONE;
        }
        Stores.create(access, role);
      } catch (SQLException e) {
        throw new ExitException(
            Exit.UNREACHABLE, "database error: " + DatabaseOptions.reason(e), e);
      } catch (IllegalArgumentException e) {
        throw new InputException(String.valueOf(e.getMessage()));
      }
      console.err().println("the schema is up to date");
      return Exit.DONE;
    }
  }
}
