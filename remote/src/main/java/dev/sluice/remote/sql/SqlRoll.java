// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.BucketStore.Presence;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/**
 * The list of processes that use a store, in a table with one row per process. Each row expires at
 * an instant of the database's clock. When a process announces itself, expired rows are deleted.
 * Thread-safe; each call blocks, and uses a separate connection.
 */
public final class SqlRoll implements Presence {

  private static final Duration LONGEST = Duration.ofMinutes(1);
  private static final int MOST_MILLIS = 5_000; // the time-out of a statement

  private final String name;
  private final DataSource source;
  private final String sql;
  private final byte[] scope;

  /**
   * Creates a list.
   *
   * @param name the name of the database, for messages
   * @param sql the query, whose parameters are the scope, the process and the number of
   *     milliseconds for which the process stays on the list; returns a row for each process
   * @param scope the prefix of the store's keys; each prefix has a separate list of processes
   */
  public SqlRoll(String name, DataSource source, String sql, byte[] scope) {
    this.name = name;
    this.source = source;
    this.sql = sql;
    this.scope = scope;
  }

  @Override
  public List<String> announce(String process, Duration time) {
    if (time.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          "found the time %s, expected at most %s".formatted(time, LONGEST));
    }
    try (Connection connection = source.getConnection()) {
      int lentMillis = connection.getNetworkTimeout(); // the value that a pool has set
      connection.setNetworkTimeout(Runnable::run, MOST_MILLIS);
      try {
        List<String> names = names(connection, process, time);
        if (!connection.getAutoCommit()) {
          connection.commit();
        }
        return names;
      } finally {
        if (!connection.isClosed()) {
          connection.setNetworkTimeout(Runnable::run, lentMillis);
        }
      }
    } catch (SQLException e) {
      throw new StoreException(
          "%s: the list of processes cannot be read: %s".formatted(name, SqlFault.message(e)), e);
    }
  }

  private List<String> names(Connection connection, String process, Duration time)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(KeyScan.asNew(sql))) {
      statement.setBytes(1, scope);
      statement.setBytes(2, process.getBytes(StandardCharsets.UTF_8));
      statement.setInt(3, (int) time.toMillis());
      List<String> names = new ArrayList<>();
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) {
          names.add(new String(rows.getBytes(1), StandardCharsets.UTF_8));
        }
      }
      return names;
    }
  }
}
