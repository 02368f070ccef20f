// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Runs each piece of work on a database in one transaction. */
final class Transactions {

  private Transactions() {}

  /** The work to do on a connection. */
  interface Work<T> {
    T on(Connection connection) throws SQLException;
  }

  /**
   * Runs work on a separate connection and commits it, even if the source's connections do not
   * commit automatically. If the work throws, rolls the transaction back.
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

  /**
   * Rolls back. If the roll-back fails, for example on a broken connection, adds this failure to
   * the reason as a suppressed exception.
   */
  private static void rollBack(Connection connection, Exception reason) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      reason.addSuppressed(e);
    }
  }
}
