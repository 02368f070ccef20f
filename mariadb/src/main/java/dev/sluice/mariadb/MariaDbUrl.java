// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.remote.sql.SqlUrl;
import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.List;
import java.util.Properties;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A source of connections to the database at a given address: {@code
 * mariadb://user:password@host/db} with one host or several hosts, or a JDBC URL. Opens a new
 * connection for each use. A connection times out after 5 s and a response after 30 s, unless the
 * URL sets other time-outs. {@link #toString} shows neither user nor options. Immutable.
 */
final class MariaDbUrl implements DataSource {

  /** A URL with which the JDBC driver is looked up. */
  static final String DRIVER = "jdbc:mariadb://localhost/";

  private static final String JDBC = "jdbc:mariadb:";
  private static final String SCHEME = "mariadb";
  private static final String CONNECT_MILLIS = "5000";
  private static final String ANSWER_MILLIS = "30000";

  private final String url;
  private final Properties properties;

  private MariaDbUrl(String url, Properties properties) {
    this.url = url;
    this.properties = properties;
  }

  /**
   * Returns the database at a URL, without connecting.
   *
   * @param password the password; null for the password in the URL
   * @throws IllegalArgumentException if the address is invalid, if there are two passwords, or if
   *     there is no driver
   */
  static MariaDbUrl of(String url, @Nullable String password) {
    SqlUrl parts = parts(url);
    String found = parts.password();
    if (password != null && (found != null || SqlUrl.says(url, "password"))) {
      throw new IllegalArgumentException(
          "found a password in the database URL and another password outside the URL; give only one");
    }
    Properties properties = new Properties();
    put(properties, "user", parts.user());
    put(properties, "password", password == null ? found : password);
    put(properties, "connectTimeout", SqlUrl.says(url, "connectTimeout") ? null : CONNECT_MILLIS);
    put(properties, "socketTimeout", SqlUrl.says(url, "socketTimeout") ? null : ANSWER_MILLIS);
    return new MariaDbUrl(JDBC + parts.rest(), properties);
  }

  private static void put(Properties properties, String name, @Nullable String value) {
    if (value != null) {
      properties.setProperty(name, value);
    }
  }

  /**
   * Throws if an address is invalid, or if a part that should not contain a password can contain
   * one.
   */
  static void require(String url) {
    var unused = parts(url);
  }

  private static SqlUrl parts(String url) {
    try {
      DriverManager.getDriver(DRIVER);
    } catch (SQLException e) {
      throw new IllegalArgumentException(
          "found no driver of MariaDB, expected org.mariadb.jdbc:mariadb-java-client on the class"
              + " path",
          e);
    }
    try {
      SqlUrl parts =
          url.startsWith(JDBC)
              ? new SqlUrl(url.substring(JDBC.length()), null, null)
              : SqlUrl.of(url, List.of(SCHEME));
      if (parts.rest().replaceFirst("\\?.*", "").matches(".*[@#].*")) {
        throw new IllegalArgumentException("the address contains a login or a part of a password");
      }
      var unused =
          DriverManager.getDriver(DRIVER).getPropertyInfo(JDBC + parts.rest(), new Properties());
      return parts;
    } catch (IllegalArgumentException | SQLException e) {
      // The message omits the address, which can contain a password.
      throw new IllegalArgumentException(
          "the address is not the URL of a MariaDB database, expected mariadb://user@host:port/database or"
              + " jdbc:mariadb://host/database?user=…; in a password or an option, write @ as"
              + " %40, / as %2F, ? as %3F and # as %23");
    }
  }

  @Override
  public Connection getConnection() throws SQLException {
    return DriverManager.getConnection(url, properties);
  }

  @Override
  public Connection getConnection(String user, String password) throws SQLException {
    Properties others = new Properties();
    others.putAll(properties);
    others.setProperty("user", user);
    others.setProperty("password", password);
    return DriverManager.getConnection(url, others);
  }

  /** Returns the URL without user and options. */
  @Override
  public String toString() {
    return url.substring("jdbc:".length()).replaceFirst("\\?.*", "");
  }

  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  public void setLogWriter(PrintWriter out) throws SQLException {
    throw new SQLFeatureNotSupportedException();
  }

  @Override
  public void setLoginTimeout(int seconds) throws SQLException {
    throw new SQLFeatureNotSupportedException();
  }

  @Override
  public int getLoginTimeout() {
    return 0;
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException();
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLException("this data source wraps no other data source");
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return false;
  }
}
