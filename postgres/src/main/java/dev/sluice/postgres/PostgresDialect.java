// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.remote.ClientClock;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.remote.sql.SqlDialect;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.TimeSource;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The functions of {@code buckets.sql}, and the checks of a database that has them. Thread-safe.
 */
final class PostgresDialect implements SqlDialect {

  /** A statement that is not prepared, since a pooler can pass each call to another session. */
  private static final String CLEAN =
      "SELECT last, deleted FROM sluice_clean_v2(decode('%s', 'hex'), %s)";

  static final String ANNOUNCE = "SELECT sluice_announce_v1(?, ?, ?)";

  private static final String LOOK =
      """
      WITH used (name) AS (SELECT unnest('{%s}'::text[]))
      SELECT pg_is_in_recovery(),
        (SELECT every(to_regprocedure(name) IS NOT NULL) FROM used),
        coalesce((SELECT relpersistence::text FROM pg_class WHERE oid = to_regclass('sluice_bucket')), ''),
        current_setting('synchronous_commit'),
        current_setting('transaction_isolation'),
        current_setting('transaction_read_only') = 'on',
        (SELECT min(name) FROM used WHERE NOT has_function_privilege(to_regprocedure(name), 'EXECUTE')),
        current_user
      """;

  private static final String BY_ITS_CLOCK =
      """
      "sluice_charge_v1(boolean,integer,bytea[],bigint[],integer[])",\
      "sluice_spend_v1(boolean,integer,bytea,bigint,bigint)",\
      "sluice_read_v1(bytea[])",\
      "sluice_clean_v2(bytea,integer)",\
      "sluice_announce_v1(bytea,bytea,integer)\"""";

  private static final String BY_OUR_CLOCK =
      "\"sluice_decide_v1(bigint,bytea[],bigint[],integer[])\"";

  private final Durability durability;
  private final @Nullable ClientClock clock;
  private final int waitMillis;

  PostgresDialect(Durability durability, StoreContext context) {
    this.durability = durability;
    this.clock = context.clock();
    this.waitMillis = (int) Math.max(context.timeoutNanos() / StoreContext.WAITS / 1_000_000, 1);
  }

  @Override
  public String kind() {
    return PostgresStoreBuilder.KIND;
  }

  @Override
  public SqlCall call(Consumer<SqlCall> link, List<byte[]> keys, List<List<Charge>> batches) {
    Long now = clock == null ? null : TimeSource.read(clock.time());
    return new PostgresCall(link, keys, batches, durability == Durability.ASYNC, waitMillis, now);
  }

  @Override
  public SqlFault fault(@Nullable Throwable failure) {
    return PostgresFault.of(failure);
  }

  /** Returns why a server of another product cannot hold the buckets; null for PostgreSQL. */
  static @Nullable String otherProduct(Connection connection) throws SQLException {
    DatabaseMetaData its = connection.getMetaData();
    return its.getDatabaseProductName().equals("PostgreSQL")
        ? null
        : "found a server of %s %s, expected PostgreSQL"
            .formatted(its.getDatabaseProductName(), its.getDatabaseProductVersion());
  }

  @Override
  public @Nullable String refusal(Connection connection) throws SQLException {
    String other = otherProduct(connection);
    if (other != null) {
      return other;
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(LOOK.formatted(clock == null ? BY_ITS_CLOCK : BY_OUR_CLOCK))) {
      return rows.next() ? why(rows) : "the check of the table and the functions returned no row";
    }
  }

  private @Nullable String why(ResultSet found) throws SQLException {
    if (found.getBoolean(1)) {
      return "the database is a read replica, which cannot decide; give the address of the primary, or all addresses and targetServerType=primary";
    }
    String persistence = found.getString(3);
    if (persistence.isEmpty() || !found.getBoolean(2)) {
      return "found %s; run `sluice store create`, or PostgresStore.create, and check the search_path"
          .formatted(
              persistence.isEmpty()
                  ? "no table sluice_bucket"
                  : "the table sluice_bucket without the functions of this version");
    }
    boolean unlogged = persistence.equals("u");
    if (unlogged != (durability == Durability.UNLOGGED)) {
      return "found a table sluice_bucket that is %s, expected one for the durability %s; open the store with another durability, or run `sluice store create` with this durability"
          .formatted(unlogged ? "unlogged" : "logged", durability);
    }
    if (durability == Durability.SYNC && found.getString(4).equals("off")) {
      return "found synchronous_commit=off, expected on for the durability SYNC";
    }
    if (!found.getString(5).startsWith("read ")) {
      return "the transactions of the connections are %s, expected read committed; set read committed in the pool, or as default_transaction_isolation"
          .formatted(found.getString(5));
    }
    if (found.getBoolean(6)) {
      return "the transactions of the connections are read-only; change the pool or default_transaction_read_only";
    }
    String forbidden = found.getString(7);
    if (forbidden != null) {
      return "the role %s has no right to call %s; %s"
          .formatted(
              found.getString(8),
              forbidden,
              clock == null
                  ? "run `sluice store create` with --role, or PostgresStore.create with this role"
                  : "only the owner of the functions can use a clock other than the database's clock");
    }
    return null;
  }

  @Override
  public Cleaned clean(Connection connection, byte[] after, int most) throws SQLException {
    String sql = CLEAN.formatted(HexFormat.of().formatHex(after), most);
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? new Cleaned(rows.getBytes(1), rows.getInt(2)) : new Cleaned(null, 0);
    }
  }
}
