package dev.sluice.cli;

import java.sql.SQLException;

/** A database that could not be reached, or did not do what it was asked. */
final class DatabaseException extends RuntimeException {

  private static final long serialVersionUID = 1;
  private static final String NO_SUCH_TABLE = "42P01";

  DatabaseException(SQLException cause) {
    super(
        "the database did not do it: "
            + cause.getMessage()
            + (NO_SUCH_TABLE.equals(cause.getSQLState())
                ? "; make the table with: sluice overrides migrate --db URL"
                : ""),
        cause);
  }
}
