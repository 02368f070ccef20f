// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.internal.text.Utf8;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/**
 * Migrates a database to the schema of this version: applies the files in {@code migrations/} that
 * are not yet applied, in order, in the connection's transaction. A lock ensures that only one
 * process migrates at a time.
 *
 * <p>A released migration file is never changed. Each change of the schema is a new migration file
 * at the end of the list.
 */
final class Migrations {

  private static final List<String> FILES =
      List.of(
          "001-rate-limit-overrides.sql",
          "002-rate-limit-penalties.sql",
          "003-limits-without-a-number.sql",
          "004-authors-and-ends.sql",
          "005-several-quotas.sql");

  /** The number of the advisory lock: "sluice" in ASCII, which no other program uses by chance. */
  private static final long LOCK = 0x736c75696365L;

  private static final String TABLE =
      """
      CREATE TABLE IF NOT EXISTS sluice_migrations (
        file text PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
      )""";

  private Migrations() {}

  /** Applies the migrations that the database lacks. Returns the number of applied migrations. */
  static int apply(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT pg_advisory_xact_lock(" + LOCK + ")");
      statement.execute(TABLE);
    }
    int applied = 0;
    for (String file : FILES) {
      if (!isApplied(connection, file)) {
        try (Statement statement = connection.createStatement()) {
          statement.execute(read(file));
        }
        remember(connection, file);
        applied++;
      }
    }
    return applied;
  }

  /** Returns statements with the effect of {@link #apply} in the schema {@code public}. */
  static String statements() {
    StringBuilder all = new StringBuilder("SET LOCAL search_path = public;\n");
    all.append(TABLE).append(";\n");
    for (String file : FILES) {
      all.append(
          """
          DO $migration$
          BEGIN
          IF NOT EXISTS (SELECT FROM sluice_migrations WHERE file = '%1$s') THEN
          %2$s
          INSERT INTO sluice_migrations (file) VALUES ('%1$s');
          END IF;
          END
          $migration$;
          """
              .formatted(file, read(file).strip()));
    }
    return all.toString();
  }

  private static boolean isApplied(Connection connection, String file) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT 1 FROM sluice_migrations WHERE file = ?")) {
      query.setString(1, file);
      try (ResultSet found = query.executeQuery()) {
        return found.next();
      }
    }
  }

  private static void remember(Connection connection, String file) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement("INSERT INTO sluice_migrations (file) VALUES (?)")) {
      insert.setString(1, file);
      insert.executeUpdate();
    }
  }

  private static String read(String file) {
    return Utf8.ofResource(Migrations.class.getResourceAsStream("migrations/" + file), file);
  }
}
