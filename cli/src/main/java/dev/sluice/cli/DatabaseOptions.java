package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.PostgresUrl;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that names a database with a table of overrides. */
final class DatabaseOptions {

  @Option(
      names = "--db",
      paramLabel = "URL",
      description =
          "The database: postgresql://user@host:port/name or a JDBC URL. A password may stand in"
              + " it, or in ~/.pgpass. The variable SLUICE_DB if not given.",
      defaultValue = "${env:SLUICE_DB}")
  private @Nullable String url;

  boolean none() {
    return url == null || url.isEmpty();
  }

  /** Works on the table, which has overrides of the given names. */
  <T> T onTable(Catalogue catalogue, Work<T> work) {
    if (url == null || url.isEmpty()) {
      throw new InputException("found no --db URL, expected the database to work on");
    }
    try {
      return work.on(table(url, catalogue));
    } catch (SQLException e) {
      throw new DatabaseException(e);
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  static OverridesTable table(String url, Catalogue catalogue) {
    try {
      return new OverridesTable(PostgresUrl.dataSource(url), catalogue);
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }

  /** What is done with the table. */
  interface Work<T> {
    T on(OverridesTable table) throws SQLException;
  }
}
