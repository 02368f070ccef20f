// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.sql.SQLException;
import java.util.stream.Collectors;

/** A database that could not be reached, or did not do what it was asked. */
final class DatabaseException extends RuntimeException {

  private static final long serialVersionUID = 1;
  private static final String NO_SUCH_TABLE = "42P01";

  DatabaseException(SQLException cause) {
    super(
        "database error: "
            + reason(cause)
            + (NO_SUCH_TABLE.equals(cause.getSQLState())
                ? "; make the table with: sluice overrides migrate --db URL"
                : ""),
        cause);
  }

  /** In one line, without positions in our SQL, which mean nothing to the reader. */
  private static String reason(SQLException cause) {
    return String.valueOf(cause.getMessage())
        .lines()
        .map(String::strip)
        .filter(line -> !line.startsWith("Position: ") && !line.startsWith("Where: "))
        .collect(Collectors.joining("; "));
  }
}
