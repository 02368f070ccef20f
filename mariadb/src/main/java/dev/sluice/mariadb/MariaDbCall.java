// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.remote.ChargeOutcome;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.store.BucketStore.Charge;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One call of a procedure of {@code buckets.sql}. Thread-safe. */
final class MariaDbCall extends SqlCall {

  private static final int NUMBERS = 6; // the number of parameters of a charge
  private static final double MILLIS = 1_000; // milliseconds per second
  // The SQLSTATE of a statement that a time-out or a cancellation has ended.
  private static final String CUT = "70100";

  private final String sql;
  private final boolean changes; // false if the call only reads
  private final @Nullable Long nowNanos;

  /**
   * Creates a call that has not been sent yet.
   *
   * @param waitMillis how long the call may take inside the database, mostly to wait for locks
   * @param nowNanos the caller's current time; null if the database's clock decides
   */
  MariaDbCall(
      Consumer<SqlCall> link,
      List<byte[]> keys,
      List<List<Charge>> batches,
      int waitMillis,
      @Nullable Long nowNanos) {
    super(link, keys, batches);
    this.nowNanos = nowNanos;
    this.changes = nowNanos != null || batches.stream().anyMatch(ChargeOutcome::writes);
    this.sql =
        nowNanos != null
            ? "CALL sluice_decide_v1(?, ?, ?)"
            : "SET STATEMENT max_statement_time=%s FOR CALL %s"
                .formatted(
                    waitMillis / MILLIS, changes ? "sluice_charge_v1(?, ?)" : "sluice_read_v1(?)");
  }

  /** Thrown if the call was cancelled before it was committed, so that nothing has changed. */
  static final class NotCommittedException extends SQLException {
    private static final long serialVersionUID = 1;

    NotCommittedException(SQLException cut) {
      super(
          "another transaction has locked a bucket of the call, or the database is slow", CUT, cut);
    }
  }

  @Override
  public String sql() {
    return sql;
  }

  @Override
  protected long[] run(Connection connection, PreparedStatement statement) throws SQLException {
    byte[][] ordered = changes ? inOrder() : keys.toArray(new byte[0][]);
    int next = 1;
    if (nowNanos != null) {
      statement.setLong(next++, flipped(nowNanos));
    }
    statement.setBytes(next++, buckets(ordered));
    if (changes) {
      statement.setBytes(next, charges(ordered));
    }
    try (ResultSet rows = statement.executeQuery()) {
      byte[] answer = rows.next() ? rows.getBytes(1) : null;
      if (answer == null) {
        throw new TryAgainException();
      }
      long[] nanos = new long[answer.length / Long.BYTES];
      ByteBuffer.wrap(answer).asLongBuffer().get(nanos);
      return nanos;
    } catch (SQLException e) {
      throw CUT.equals(e.getSQLState()) && !(mayBeCommitted(connection) && changes)
          ? new NotCommittedException(e)
          : e;
    }
  }

  /**
   * Rolls a cancelled call back. Returns whether the call may have been committed before the
   * cancellation.
   */
  private static boolean mayBeCommitted(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("ROLLBACK");
      try (ResultSet rows = statement.executeQuery("SELECT @sluice_committing")) {
        return !rows.next() || rows.getBoolean(1);
      }
    }
  }

  private static byte[] buckets(byte[][] ordered) {
    int length = 0;
    for (byte[] key : ordered) {
      length += Short.BYTES + key.length;
    }
    ByteBuffer bytes = ByteBuffer.allocate(length);
    for (byte[] key : ordered) {
      bytes.putShort((short) key.length).put(key);
    }
    return bytes.array();
  }

  private byte[] charges(byte[][] ordered) {
    ByteBuffer bytes = ByteBuffer.allocate(keys.size() * NUMBERS * Long.BYTES);
    int number = 0;
    for (List<Charge> batch : batches) {
      long size = batch.size();
      for (Charge charge : batch) {
        bytes
            .putLong(size)
            .putLong(place(number++, ordered))
            .putLong(number(charge.op()))
            .putLong(charge.incrementNanos())
            .putLong(charge.offsetNanos())
            .putLong(until(charge));
        size = 0;
      }
    }
    return bytes.array();
  }
}
