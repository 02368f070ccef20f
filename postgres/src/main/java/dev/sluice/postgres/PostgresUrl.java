// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.sql.SqlUrl;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Parses the address of a database: {@code postgresql://user:password@host/db} with one host or
 * several hosts, as PostgreSQL's own tools accept it, or a JDBC URL.
 */
public final class PostgresUrl {

  private static final String JDBC = "jdbc:postgresql:";
  private static final List<String> SCHEMES = List.of("postgresql", "postgres");
  private static final int CONNECT_SECONDS = 5;
  private static final int ANSWER_SECONDS = 30;

  private PostgresUrl() {}

  /**
   * Returns a source that opens a new connection for each use. A pool is not needed, since
   * overrides are read only now and then. A connection times out after 5 s and a response after 30
   * s, unless the URL sets other time-outs: {@code ?connectTimeout=2&socketTimeout=10}.
   *
   * @param url the address of the database; the password can also be in {@code ~/.pgpass}
   * @return the source; no connection is opened yet
   * @throws IllegalArgumentException if the address is invalid
   */
  public static DataSource dataSource(String url) {
    return dataSource(url, null);
  }

  /**
   * Returns a source like {@link #dataSource(String)}, with a password that is not in the URL.
   *
   * @param url the address of the database
   * @param password the password; null for the password in the URL or in {@code ~/.pgpass}
   * @return the source; no connection is opened yet
   * @throws IllegalArgumentException if the address is invalid, or if the URL also has a password
   */
  public static DataSource dataSource(String url, @Nullable String password) {
    PGSimpleDataSource source = source(url);
    if (password != null) {
      if (source.getPassword() != null) {
        throw new IllegalArgumentException(
            "found a password in the database URL and another password outside the URL; give only one");
      }
      source.setPassword(password);
    }
    return source;
  }

  /**
   * Throws if an address is invalid, or if its port, path or parameters can contain a part of a
   * password.
   */
  static void require(String url) {
    PGSimpleDataSource unused = source(url);
  }

  private static PGSimpleDataSource source(String url) {
    PGSimpleDataSource source = new PGSimpleDataSource();
    try {
      if (url.startsWith(JDBC)) {
        setUrl(source, url);
      } else {
        setParts(source, SqlUrl.of(url, SCHEMES));
      }
    } catch (IllegalArgumentException e) {
      // The message omits the address, which can contain a password.
      throw new IllegalArgumentException(
          "the address is not the URL of a PostgreSQL database, expected postgresql://user@host:port/database or"
              + " jdbc:postgresql://host/database?user=…; in a password or an option, write @ as"
              + " %40, / as %2F, ? as %3F and # as %23");
    }
    return source;
  }

  private static void setParts(PGSimpleDataSource source, SqlUrl parts) {
    setUrl(source, JDBC + parts.rest());
    if (parts.user() != null) {
      source.setUser(parts.user());
    }
    if (parts.password() != null) {
      source.setPassword(parts.password());
    }
  }

  /**
   * Adds default time-outs to the URL. The data source's setters are not used, since they would
   * override the URL's own time-outs.
   */
  private static void setUrl(PGSimpleDataSource source, String url) {
    String bounded = unlessSaid(url, "connectTimeout", CONNECT_SECONDS);
    bounded = unlessSaid(bounded, "loginTimeout", CONNECT_SECONDS);
    bounded = unlessSaid(bounded, "socketTimeout", ANSWER_SECONDS);
    source.setUrl(unlessSaid(bounded, "ApplicationName", "sluice"));
  }

  private static String unlessSaid(String url, String parameter, Object value) {
    if (SqlUrl.says(url, parameter)) {
      return url;
    }
    return url + (url.indexOf('?') < 0 ? "?" : "&") + parameter + "=" + value;
  }
}
