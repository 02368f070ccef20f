// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.remote.ClientClock;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.remote.sql.SqlDialect;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.TimeSource;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The procedures of {@code buckets.sql}, and what they need of a database. Thread-safe. */
final class MariaDbDialect implements SqlDialect {

  // A lock wait takes at most 1/3 of the time-out, since a call may wait twice.
  private static final int WAITS = 3;
  private static final int PROCEDURES = 3; // procedures that every caller needs
  private static final String CLEAN = "CALL sluice_clean_v2(?, ?)";
  private static final String LOOK =
      """
      SELECT DATABASE() IS NULL, @@global.read_only <> 0, CURRENT_USER(), (
        SELECT COUNT(*) FROM information_schema.routines
        WHERE routine_schema = DATABASE() AND routine_name IN ('%s', 'sluice_read_v1', 'sluice_clean_v2'))
      """;

  private final @Nullable ClientClock clock;
  private final int waitMillis;

  MariaDbDialect(StoreContext context) {
    this.clock = context.clock();
    this.waitMillis = (int) Math.max(context.timeoutNanos() / WAITS / 1_000_000, 1);
  }

  /** Creates the table and the procedures. */
  static void create(Connection connection, @Nullable String user) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (String sql : statements(user)) {
        statement.execute(sql);
      }
    }
  }

  static List<String> statements(@Nullable String user) {
    List<String> all = new ArrayList<>(List.of(source().strip().split("\n----\n", -1)));
    if (user != null) {
      for (String procedure : List.of("sluice_charge_v1", "sluice_read_v1", "sluice_clean_v2")) {
        all.add("GRANT EXECUTE ON PROCEDURE " + procedure + " TO " + quoted(user));
      }
      all.add("GRANT SELECT (bucket) ON TABLE sluice_bucket TO " + quoted(user));
    }
    return all;
  }

  /** Quotes a user name, which may have a host after its last at sign. */
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
    try (InputStream in = MariaDbDialect.class.getResourceAsStream("buckets.sql")) {
      if (in == null) {
        throw new IllegalStateException("buckets.sql is missing beside " + MariaDbDialect.class);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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

  @Override
  public @Nullable String refusal(Connection connection) throws SQLException {
    String decides = clock == null ? "sluice_charge_v1" : "sluice_decide_v1";
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(LOOK.formatted(decides))) {
      if (!rows.next() || rows.getBoolean(1)) {
        return "the address names no database";
      }
      if (rows.getBoolean(2)) {
        return "it is read-only, as a replica is, and cannot decide; give the address of the primary";
      }
      return rows.getInt(4) == PROCEDURES
          ? null
          : "found no procedures of this version that %s may call; run `sluice store create`, or MariaDbStore.create"
              .formatted(rows.getString(3));
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
