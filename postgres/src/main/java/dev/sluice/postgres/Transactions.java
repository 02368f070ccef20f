// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Work on a database, in transactions that end with it. Stateless. */
final class Transactions {

  private Transactions() {}

  /** The work to do on a connection. */
  interface Work<T> {
    T on(Connection connection) throws SQLException;
  }

  /**
   * Does work on a connection of its own, and commits it: also where the source hands out
   * connections that commit each statement, or none. What throws is rolled back.
   */
  static <T> T run(DataSource source, Work<T> work) throws SQLException {
    try (Connection connection = source.getConnection()) {
      connection.setAutoCommit(false);
      try {
        T result = work.on(connection);
        connection.commit();
        return result;
      } catch (SQLException | RuntimeException e) {
        rollBack(connection, e);
        throw e;
      }
    }
  }

  /** A connection that is broken can't; what broke it is what is told. */
  private static void rollBack(Connection connection, Exception reason) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      reason.addSuppressed(e);
    }
  }
}
