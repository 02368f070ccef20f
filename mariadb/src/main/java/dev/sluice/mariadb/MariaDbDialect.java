// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.internal.text.Utf8;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.remote.sql.SqlDialect;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.TimeSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The procedures of {@code buckets.sql}, and the checks of a database that has them. Thread-safe.
 */
final class MariaDbDialect implements SqlDialect {

  private static final String CLEAN = "CALL sluice_clean_v2(?, ?)";
  static final String ANNOUNCE = "CALL sluice_announce_v1(?, ?, ?)";
  private static final List<String> PROCEDURES =
      List.of("sluice_charge_v1", "sluice_read_v1", "sluice_clean_v2", "sluice_announce_v1");

  /** Since MariaDB 11.1, tx_read_only has another name too; it is to lose the old one. */
  static final String LOOK =
      """
      SELECT DATABASE() IS NULL, CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF'), CURRENT_USER(), (
        SELECT GROUP_CONCAT(routine_name) FROM information_schema.routines
        WHERE routine_schema = DATABASE() AND routine_name IN ('%s')), (
        SELECT variable_value > 0 FROM information_schema.global_status
        WHERE variable_name = 'SLAVES_RUNNING'), EXISTS (
        SELECT * FROM information_schema.session_variables
        WHERE variable_name IN ('TX_READ_ONLY', 'TRANSACTION_READ_ONLY') AND variable_value = 'ON')
      """;

  private final @Nullable ClientClock clock;
  private final int waitMillis;

  MariaDbDialect(StoreContext context) {
    this.clock = context.clock();
    this.waitMillis = (int) Math.max(context.timeoutNanos() / StoreContext.WAITS / 1_000_000, 1);
  }

  static void create(Connection connection, @Nullable String user) throws SQLException {
    String other = otherProduct(connection);
    if (other != null) {
      throw new SQLException(other);
    }
    try (Statement statement = connection.createStatement()) {
      for (String sql : statements(user)) {
        statement.execute(sql);
      }
    }
  }

  static List<String> statements(@Nullable String user) {
    List<String> all = new ArrayList<>(List.of(source().strip().split("\n----\n", -1)));
    if (user != null) {
      for (String procedure : PROCEDURES) {
        all.add("GRANT EXECUTE ON PROCEDURE " + procedure + " TO " + quoted(user));
      }
      all.add("GRANT SELECT (bucket) ON TABLE sluice_bucket TO " + quoted(user));
    }
    return all;
  }

  /** Quotes a user name, which can have a host after its last at sign. */
  private static String quoted(String user) {
    int at = user.lastIndexOf('@');
    return at < 0
        ? quotedWord(user)
        : quotedWord(user.substring(0, at)) + "@" + quotedWord(user.substring(at + 1));
  }

  private static String quotedWord(String word) {
    return "`" + word.replace("`", "``") + "`";
  }

  private static String source() {
    return Utf8.ofResource(MariaDbDialect.class.getResourceAsStream("buckets.sql"), "buckets.sql");
  }

  @Override
  public String kind() {
    return MariaDbStoreBuilder.KIND;
  }

  @Override
  public SqlCall call(Consumer<SqlCall> link, List<byte[]> keys, List<List<Charge>> batches) {
    Long now = clock == null ? null : TimeSource.read(clock.time());
    return new MariaDbCall(link, keys, batches, waitMillis, now);
  }

  @Override
  public SqlFault fault(@Nullable Throwable failure) {
    return MariaDbFault.of(failure);
  }

  /** Returns why a server such as MySQL cannot run the statements; null for MariaDB. */
  private static @Nullable String otherProduct(Connection connection) throws SQLException {
    String version = connection.getMetaData().getDatabaseProductVersion();
    return version.contains("MariaDB")
        ? null
        : "found a server of version %s, expected MariaDB; MySQL cannot run the procedures"
            .formatted(version);
  }

  @Override
  public @Nullable String refusal(Connection connection) throws SQLException {
    String other = otherProduct(connection);
    if (other != null) {
      return other;
    }
    List<String> needed = clock == null ? PROCEDURES : List.of("sluice_decide_v1");
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(LOOK.formatted(String.join("', '", needed)))) {
      if (!rows.next() || rows.getBoolean(1)) {
        return "the address does not contain the name of a database";
      }
      if (rows.getBoolean(2)) {
        return "the database is read-only, like a replica, and cannot decide; give the address of the primary";
      }
      if (rows.getBoolean(5)) {
        return "the server replicates another server, so that two servers could decide on a bucket; give the address of the primary; of two primaries that replicate each other, neither can hold the buckets";
      }
      if (rows.getBoolean(6)) {
        return "the transactions of the connections are read-only; change the pool or tx_read_only";
      }
      String user = rows.getString(3);
      String found = rows.getString(4); // null if there is none
      List<String> lacking = new ArrayList<>(needed);
      lacking.removeAll(found == null ? List.of() : List.of(found.split(",")));
      return lacking.isEmpty()
          ? null
          : "the user %s cannot call the procedures of this version: %s; run `sluice store create` with --role %s, or MariaDbStore.create"
              .formatted(user, String.join(", ", lacking), user);
    }
  }

  @Override
  public Cleaned clean(Connection connection, byte[] after, int most) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(CLEAN)) {
      statement.setBytes(1, after);
      statement.setInt(2, most);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? new Cleaned(rows.getBytes(1), rows.getInt(2)) : new Cleaned(null, 0);
      }
    }
  }
}
