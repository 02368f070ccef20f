// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.testkit.servers.LocalMariaDb;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.mariadb.jdbc.MariaDbDataSource;

/** A database of its own on a real MariaDB, with the procedures. */
final class TestDatabase {

  private static final AtomicInteger DATABASES = new AtomicInteger();

  private final String name = "test" + DATABASES.incrementAndGet();

  TestDatabase() throws SQLException {
    try (Connection connection =
            DriverManager.getConnection(
                "jdbc:mariadb://127.0.0.1:" + LocalMariaDb.port() + "/?user=root");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE DATABASE " + name);
    }
    MariaDbStore.create(source(), null);
  }

  String name() {
    return name;
  }

  DataSource source() throws SQLException {
    return source("root");
  }

  DataSource source(String user) throws SQLException {
    return new MariaDbDataSource(
        "jdbc:mariadb://127.0.0.1:" + LocalMariaDb.port() + "/" + name + "?user=" + user);
  }

  /** Of sessions in another time zone, such as {@code +05:00}. */
  DataSource sourceIn(String zone) throws SQLException {
    return source("root&sessionVariables=time_zone='" + zone + "'");
  }

  void execute(String... statements) throws SQLException {
    try (Connection connection = source().getConnection();
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  long number(String sql) throws SQLException {
    try (Connection connection = source().getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getLong(1) : -1;
    }
  }
}
