// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.sql.SqlUrl;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * A database as somebody names it on a command line: {@code postgresql://user:password@host/db}, as
 * PostgreSQL's own tools take it, also with several hosts, or a JDBC URL.
 */
public final class PostgresUrl {

  private static final String JDBC = "jdbc:postgresql:";
  private static final List<String> SCHEMES = List.of("postgresql", "postgres");
  private static final int CONNECT_SECONDS = 5;
  private static final int ANSWER_SECONDS = 30;

  private PostgresUrl() {}

  /**
   * Returns a source that opens a connection for each use: overrides are read once in a while, so a
   * pool would only hold connections open. Nothing waits for ever: 5 s for a connection and 30 s
   * for an answer, unless the URL says otherwise: {@code ?connectTimeout=2&socketTimeout=10}.
   *
   * @param url the database; a password may also stand in {@code ~/.pgpass}
   * @return the source; nothing is opened yet
   * @throws IllegalArgumentException if the URL is none
   */
  public static DataSource dataSource(String url) {
    return dataSource(url, null);
  }

  /**
   * A source as {@link #dataSource(String)} makes it, with a password that is not in the URL.
   *
   * @param url the database
   * @param password null for that in the URL or in {@code ~/.pgpass}
   * @return the source; nothing is opened yet
   * @throws IllegalArgumentException if the URL is none, or has a password too
   */
  public static DataSource dataSource(String url, @Nullable String password) {
    PGSimpleDataSource source = source(url);
    if (password != null) {
      if (source.getPassword() != null) {
        throw new IllegalArgumentException(
            "found a password in the database URL and another outside the URL; give only one");
      }
      source.setPassword(password);
    }
    return source;
  }

  /**
   * Throws if a URL is none, or may have a part of a password where its port, path or parameters
   * are.
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
      // The message omits the address, which may contain a password.
      throw new IllegalArgumentException(
          "not the URL of a PostgreSQL database, expected postgresql://user@host:port/database or"
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

  /** Adds defaults to the URL: a setter's value would override the URL's. */
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
