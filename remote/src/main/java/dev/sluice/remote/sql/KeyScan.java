// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.remote.sql.SqlDialect.SqlFault;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Reads keys of a store in the order of the primary key, in small steps. Blocks; thread-safe. */
public final class KeyScan {

  private static final int STEP = 1000;
  private static final int STEP_SECONDS = 3;
  private static final AtomicLong TEXTS = new AtomicLong();

  private final String name;
  private final DataSource source;
  private final String sql;
  private final byte[] prefix;

  /**
   * Creates a scan.
   *
   * @param name the name of the database, for messages
   * @param column the column with the keys
   * @param prefix the prefix of the keys to list; the listed keys do not contain the prefix
   */
  public KeyScan(String name, DataSource source, String column, byte[] prefix) {
    this.name = name;
    this.source = source;
    this.sql =
        "SELECT KEY FROM sluice_bucket WHERE KEY > ? ORDER BY KEY LIMIT ?".replace("KEY", column);
    this.prefix = prefix;
  }

  /**
   * Returns an equivalent statement whose text was never used before, because drivers prepare a
   * text that they see often.
   */
  static String asNew(String sql) {
    return sql + " /* " + TEXTS.getAndIncrement() + " */";
  }

  /** Reads keys until {@code most} keys are found or the time is over. */
  public List<String> keys(int most, Duration longest) {
    List<String> found = new ArrayList<>();
    try (Connection connection = source.getConnection()) {
      long startNanos = System.nanoTime();
      byte[] last = prefix; // no bucket's key consists of the prefix alone
      while (last != null
          && found.size() < most
          && System.nanoTime() - startNanos < longest.toNanos()) {
        int limit = Math.min(STEP, most - found.size());
        try (PreparedStatement step = connection.prepareStatement(asNew(sql))) {
          step.setQueryTimeout(STEP_SECONDS);
          step.setBytes(1, last);
          step.setInt(2, limit);
          last = read(step, limit, found);
        }
      }
      return found;
    } catch (SQLException e) {
      throw new StoreException(
          "%s: the keys cannot be listed: %s".formatted(name, SqlFault.message(e)), e);
    }
  }

  /**
   * Reads the keys of one step. Returns the last key of the step; null after the last key with the
   * prefix.
   */
  private byte @Nullable [] read(PreparedStatement step, int limit, List<String> found)
      throws SQLException {
    byte[] last = null;
    int rows = 0;
    try (ResultSet keys = step.executeQuery()) {
      while (keys.next()) {
        last = keys.getBytes(1);
        if (last.length < prefix.length
            || !Arrays.equals(last, 0, prefix.length, prefix, 0, prefix.length)) {
          return null;
        }
        found.add(
            new String(last, prefix.length, last.length - prefix.length, StandardCharsets.UTF_8));
        rows++;
      }
    }
    return rows < limit ? null : last;
  }
}
