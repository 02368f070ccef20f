// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Exit.ExitException;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitOverride.LoweredException;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PostgresUrl;
import dev.sluice.server.service.ServerConfig;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that names a database with a table of overrides. */
final class DatabaseOptions {

  private static final String PASSWORD_FILE = "--db-password-file";
  private static final String NO_SUCH_TABLE = "42P01";

  /** The SQL states for a violated check and for a missing column. */
  private static final Set<String> OF_OLDER_TABLES = Set.of("23514", "42703");

  @Option(
      names = "--db",
      paramLabel = "URL",
      description =
          "The database: postgresql://user@host:port/name or a JDBC URL; or set SLUICE_DB.",
      defaultValue = "${env:SLUICE_DB}")
  private @Nullable String url;

  @Option(
      names = PASSWORD_FILE,
      paramLabel = "FILE",
      description =
          "A file with the database's password; or set SLUICE_DB_PASSWORD, or use ~/.pgpass.")
  private @Nullable Path passwordFile;

  boolean none() {
    return url == null || url.isEmpty();
  }

  /** Runs an operation on the overrides table; {@code catalogue} contains the known limits. */
  <T> T onTable(Catalogue catalogue, Work<T> work) {
    if (url == null || url.isEmpty()) {
      throw new InputException("the option --db URL is missing: it names the database");
    }
    try {
      return work.on(table(url, password(passwordFile), catalogue));
    } catch (SQLException e) {
      throw new ExitException(Exit.UNREACHABLE, message(e), e);
    } catch (LoweredException e) {
      throw new ExitException(
          Exit.NO, e.getMessage() + "\nnothing was written; to lower overrides, add --force", e);
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  private static String message(SQLException e) {
    String what =
        NO_SUCH_TABLE.equals(e.getSQLState())
            ? "make the table"
            // A missing column or a violated check shows that the table is from an older version.
            : OF_OLDER_TABLES.contains(String.valueOf(e.getSQLState()))
                ? "bring the table up to date"
                : null;
    return "database error: "
        + reason(e)
        + (what == null ? "" : "; " + what + " with: sluice overrides migrate --db URL");
  }

  /** Returns the message in one line, without positions in the SQL of Sluice. */
  static String reason(SQLException e) {
    return String.valueOf(e.getMessage())
        .lines()
        .map(line -> SafeText.line(line.strip()))
        .filter(line -> !line.startsWith("Position: ") && !line.startsWith("Where: "))
        .collect(Collectors.joining("; "));
  }

  /** Returns the password from the file, or else from the environment; null if neither has one. */
  static @Nullable String password(@Nullable Path file) {
    return InputFiles.secret(PASSWORD_FILE, file, "SLUICE_DB_PASSWORD");
  }

  private static OverridesTable table(String url, @Nullable String password, Catalogue catalogue) {
    return new OverridesTable(source(url, password), catalogue);
  }

  /** Returns the database at a URL. If the password is null, the URL's password is used. */
  static DataSource source(String url, @Nullable String password) {
    try {
      return PostgresUrl.dataSource(url, password);
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  /** An operation on the table of overrides. */
  interface Work<T> {
    T on(OverridesTable table) throws SQLException;
  }

  /** The options for a table of overrides that a server reads periodically. */
  static final class OverrideTableOptions {

    static final String USUAL_INTERVAL = "30s";

    @Option(
        names = "--overrides-db",
        paramLabel = "URL",
        description =
            "A PostgreSQL database with a table of overrides, which take precedence over overrides"
                + " in the file. The server reads the table periodically.")
    private @Nullable String overridesDb;

    @Option(
        names = "--db-password-file",
        paramLabel = "FILE",
        description =
            "A file with that database's password; or set SLUICE_DB_PASSWORD, or use ~/.pgpass.")
    private @Nullable Path dbPassword;

    @Option(
        names = "--overrides-interval",
        paramLabel = "PERIOD",
        description = "How often to read the table of --overrides-db (" + USUAL_INTERVAL + ").")
    private @Nullable String overridesInterval;

    boolean isSet() {
      return overridesDb != null;
    }

    /** Returns the table, or null without a database. Reads the password file. */
    ServerConfig.@Nullable Table table() {
      String period = overridesInterval == null ? USUAL_INTERVAL : overridesInterval;
      Duration every = Quantities.positive("--overrides-interval", period);
      if (overridesDb == null && (overridesInterval != null || dbPassword != null)) {
        throw new InputException(
            "%s requires --overrides-db URL"
                .formatted(dbPassword == null ? "--overrides-interval" : "--db-password-file"));
      }
      return overridesDb == null
          ? null
          : new ServerConfig.Table(
              DatabaseOptions.source(overridesDb, DatabaseOptions.password(dbPassword)), every);
    }
  }
}
