// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.remote.ChargeOutcome;
import dev.sluice.remote.sql.SqlCall;
import dev.sluice.store.BucketStore.Charge;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One call of a function of {@code buckets.sql}. Thread-safe. */
final class PostgresCall extends SqlCall {

  private static final String CHARGE = "SELECT sluice_charge_v1(?, ?, ?, ?, ?)";
  private static final String DECIDE = "SELECT sluice_decide_v1(?, ?, ?, ?)";
  private static final String SPEND = "SELECT sluice_spend_v1(?, ?, ?, ?, ?)";
  private static final String READ = "SELECT sluice_read_v1(?)";

  private static final int NUMBERS = 5; // the number of parameters of a charge

  private final boolean lazy;
  private final int waitMillis;
  private final @Nullable Long nowNanos;
  private final String sql;
  private final byte[][] ordered; // each key once, sorted; empty if the function needs no order
  private final long[] places; // of each charge's key in ordered, from 1
  private final boolean isOneSpendOfEach; // of each key: the call has a faster form

  /**
   * Creates a call that has not been sent yet.
   *
   * @param link sends the call
   * @param lazy whether the database can respond before the changes are on the disk
   * @param waitMillis the longest wait for each row that another transaction has locked
   * @param nowNanos the caller's current time; null if the database's clock decides
   */
  PostgresCall(
      Consumer<SqlCall> link,
      List<byte[]> keys,
      List<List<Charge>> batches,
      boolean lazy,
      int waitMillis,
      @Nullable Long nowNanos) {
    super(link, keys, batches);
    this.lazy = lazy;
    this.waitMillis = waitMillis;
    this.nowNanos = nowNanos;
    this.sql = nowNanos == null ? fastest(batches) : DECIDE;
    this.ordered = sql.equals(SPEND) || sql.equals(READ) ? new byte[0][] : inOrder();
    this.places = new long[ordered.length == 0 ? 0 : keys.size()];
    Arrays.setAll(places, charge -> place(charge, ordered));
    this.isOneSpendOfEach =
        ordered.length == keys.size() && batches.stream().allMatch(PostgresCall::isOneSpend);
  }

  private static boolean isOneSpend(List<Charge> batch) {
    return batch.size() == 1 && batch.get(0).op() == Op.SPEND && batch.get(0).incrementNanos() > 0;
  }

  private static String fastest(List<List<Charge>> batches) {
    if (batches.size() == 1 && isOneSpend(batches.get(0))) {
      return SPEND;
    }
    return batches.stream().anyMatch(ChargeOutcome::writes) ? CHARGE : READ;
  }

  @Override
  public String sql() {
    return sql;
  }

  @Override
  protected long[] run(Connection connection, PreparedStatement statement) throws SQLException {
    set(connection, statement);
    try (ResultSet rows = statement.executeQuery()) {
      Array answer = rows.next() ? rows.getArray(1) : null;
      if (answer == null) {
        throw new TryAgainException();
      }
      Long[] times = (Long[]) answer.getArray();
      long[] nanos = new long[times.length];
      for (int i = 0; i < nanos.length; i++) {
        // If the call is one spend of each key, the function returns the TATs in the order of the
        // keys.
        nanos[i] = times[isOneSpendOfEach && i > 0 ? (int) places[i - 1] : i];
      }
      return nanos;
    }
  }

  private void set(Connection connection, PreparedStatement statement) throws SQLException {
    switch (sql) {
      case SPEND -> {
        Charge charge = batches.get(0).get(0);
        statement.setBoolean(1, lazy);
        statement.setInt(2, waitMillis);
        statement.setBytes(3, keys.get(0));
        statement.setLong(4, charge.incrementNanos());
        statement.setLong(5, charge.offsetNanos());
      }
      case READ -> statement.setArray(1, array(connection, "bytea", keys.toArray(new byte[0][])));
      default -> {
        int next = 1;
        if (nowNanos == null) {
          statement.setBoolean(next++, lazy);
          statement.setInt(next++, waitMillis);
        } else {
          statement.setLong(next++, flipped(nowNanos));
        }
        statement.setArray(next++, array(connection, "bytea", ordered));
        Long[] charges = isOneSpendOfEach ? spends() : charges();
        statement.setArray(next++, array(connection, "bigint", charges));
        statement.setArray(next, array(connection, "int", sizes()));
      }
    }
  }

  private static Array array(Connection connection, String type, Object[] elements)
      throws SQLException {
    return connection.createArrayOf(type, elements);
  }

  private Long[] charges() {
    Long[] numbers = new Long[keys.size() * NUMBERS];
    int next = 0;
    for (List<Charge> batch : batches) {
      for (Charge charge : batch) {
        numbers[next] = places[next / NUMBERS];
        numbers[next + 1] = number(charge.op());
        numbers[next + 2] = charge.incrementNanos();
        numbers[next + 3] = charge.offsetNanos();
        numbers[next + 4] = until(charge);
        next += NUMBERS;
      }
    }
    return numbers;
  }

  /** Returns the increments in the order of the keys, and then the burst offsets. */
  private Long[] spends() {
    Long[] numbers = new Long[2 * ordered.length];
    for (int i = 0; i < ordered.length; i++) {
      Charge charge = batches.get(i).get(0);
      int at = (int) places[i] - 1;
      numbers[at] = charge.incrementNanos();
      numbers[ordered.length + at] = charge.offsetNanos();
    }
    return numbers;
  }

  private Integer[] sizes() {
    if (isOneSpendOfEach) {
      return new Integer[0];
    }
    return batches.stream().map(List::size).toArray(Integer[]::new);
  }
}
