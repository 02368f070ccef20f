// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.internal.text.Utf8;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Creates the table and the functions of buckets. Stateless, thread-safe. */
final class BucketSchema {

  /** The number of the advisory lock: "sluicb" in ASCII, which no other program uses by chance. */
  private static final long LOCK = 0x736c75696362L;

  private static final String LEAST_RIGHTS =
      """

      -- The role may decide by the database's clock, list the keys and announce itself, and nothing else.
      GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT EXECUTE ON FUNCTION
        ${schema}.sluice_charge_v1(boolean, int, bytea[], bigint[], int[]),
        ${schema}.sluice_spend_v1(boolean, int, bytea, bigint, bigint),
        ${schema}.sluice_read_v1(bytea[]),
        ${schema}.sluice_clean_v2(bytea, int),
        ${schema}.sluice_announce_v1(bytea, bytea, int)
      TO ${role};
      GRANT SELECT (key) ON TABLE ${schema}.sluice_bucket TO ${role};
      """;

  private BucketSchema() {}

  static void create(DataSource source, Durability durability, @Nullable String role)
      throws SQLException {
    var unused =
        Transactions.<Integer>run(
            source,
            connection -> {
              String other = PostgresDialect.otherProduct(connection);
              if (other != null) {
                throw new SQLException(other);
              }
              try (Statement statement = connection.createStatement()) {
                statement.execute("SELECT pg_advisory_xact_lock(" + LOCK + ")");
                int applied = Migrations.apply(connection);
                statement.execute(statements(schema(statement), durability, role));
                return applied;
              }
            });
  }

  private static String schema(Statement statement) throws SQLException {
    try (ResultSet rows = statement.executeQuery("SELECT quote_ident(current_schema())")) {
      String schema = rows.next() ? rows.getString(1) : null;
      if (schema == null) {
        throw new SQLException(
            "no schema in the search_path of the connection exists; create a schema, or set currentSchema in the URL",
            "3F000");
      }
      return schema;
    }
  }

  /**
   * Returns the statements that create the table and the functions of buckets, to be run in one
   * transaction.
   *
   * @param schema the name of the schema, quoted if necessary
   * @param role a role that receives the rights to use the store; null for the owner only
   */
  static String statements(String schema, Durability durability, @Nullable String role) {
    boolean logged = durability != Durability.UNLOGGED;
    String all = role == null ? source() : source() + LEAST_RIGHTS;
    return all.replace("${unlogged} ", logged ? "" : "UNLOGGED ")
        .replace("${persistence}", logged ? "p" : "u")
        .replace("${lock}", String.valueOf(LOCK + Integer.toUnsignedLong(schema.hashCode())))
        .replace("'${schema}.", "'" + schema.replace("'", "''") + ".")
        .replace("${schema}", schema)
        .replace("${role}", "\"" + String.valueOf(role).replace("\"", "\"\"") + "\"");
  }

  private static String source() {
    return Utf8.ofResource(BucketSchema.class.getResourceAsStream("buckets.sql"), "buckets.sql");
  }
}
