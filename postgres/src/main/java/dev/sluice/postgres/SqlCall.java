// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.remote.RemoteCall;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of a function of {@code buckets.sql}, and the future of its answer: the database's time,
 * and the TAT of each charge. Every time in it has its top bit flipped, as in the table.
 * Thread-safe.
 */
final class SqlCall extends RemoteCall<long[]> {

  private static final String CHARGE = "SELECT sluice_charge_v1(?, ?, ?, ?, ?)";
  private static final String DECIDE = "SELECT sluice_decide_v1(?, ?, ?, ?)";
  private static final String SPEND = "SELECT sluice_spend_v1(?, ?, ?, ?, ?)";
  private static final String READ = "SELECT sluice_read_v1(?)";

  private static final int NUMBERS = 5; // of a charge

  private final Consumer<SqlCall> link;
  private final List<byte[]> keys;
  private final List<List<Charge>> batches;
  private final boolean lazy;
  private final int waitMillis;
  private final @Nullable Long nowNanos;
  private final String sql;

  /**
   * Creates a call that has not been sent yet.
   *
   * @param link sends it
   * @param lazy whether the answer need not wait for the disk
   * @param waitMillis how long it may wait for each row that another transaction has locked
   * @param nowNanos the caller's time, null for the database's
   */
  SqlCall(
      Consumer<SqlCall> link,
      List<byte[]> keys,
      List<List<Charge>> batches,
      boolean lazy,
      int waitMillis,
      @Nullable Long nowNanos) {
    this.link = link;
    this.keys = keys;
    this.batches = batches;
    this.lazy = lazy;
    this.waitMillis = waitMillis;
    this.nowNanos = nowNanos;
    this.sql = nowNanos == null ? fastest(batches) : DECIDE;
  }

  private static String fastest(List<List<Charge>> batches) {
    if (batches.size() == 1 && batches.get(0).size() == 1) {
      Charge charge = batches.get(0).get(0);
      if (charge.op() == Op.SPEND && charge.incrementNanos() > 0) {
        return SPEND;
      }
    }
    for (List<Charge> batch : batches) {
      for (Charge charge : batch) {
        if (charge.op() != Op.CHECK) {
          return CHARGE;
        }
      }
    }
    return READ;
  }

  @Override
  protected void send() {
    link.accept(this);
  }

  /** Returns the statement to prepare. */
  String sql() {
    return sql;
  }

  /** Begins the call, unless it was abandoned. */
  boolean mayLeave(Attempt attempt) {
    return begin(attempt);
  }

  /**
   * Runs the call.
   *
   * @param statement of {@link #sql}, on the connection
   */
  long[] run(Connection connection, PreparedStatement statement) throws SQLException {
    set(connection, statement);
    try (ResultSet rows = statement.executeQuery()) {
      Array answer = rows.next() ? rows.getArray(1) : null;
      if (answer == null) {
        throw new SqlFault.TryAgain();
      }
      Long[] times = (Long[]) answer.getArray();
      long[] nanos = new long[times.length];
      for (int i = 0; i < nanos.length; i++) {
        nanos[i] = times[i];
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
        byte[][] ordered = inOrder();
        statement.setArray(next++, array(connection, "bytea", ordered));
        statement.setArray(next++, array(connection, "bigint", charges(ordered)));
        statement.setArray(next, array(connection, "int", sizes()));
      }
    }
  }

  private static Array array(Connection connection, String type, Object[] elements)
      throws SQLException {
    return connection.createArrayOf(type, elements);
  }

  /** Returns each key once, in the order in which every call locks its rows. */
  private byte[][] inOrder() {
    byte[][] sorted = keys.toArray(new byte[0][]);
    Arrays.sort(sorted, Arrays::compareUnsigned);
    int size = 1;
    for (int i = 1; i < sorted.length; i++) {
      if (!Arrays.equals(sorted[i], sorted[size - 1])) {
        sorted[size++] = sorted[i];
      }
    }
    return Arrays.copyOf(sorted, size);
  }

  private Long[] charges(byte[][] ordered) {
    Long[] numbers = new Long[keys.size() * NUMBERS];
    int next = 0;
    for (List<Charge> batch : batches) {
      for (Charge charge : batch) {
        byte[] key = keys.get(next / NUMBERS);
        numbers[next++] = 1L + Arrays.binarySearch(ordered, key, Arrays::compareUnsigned);
        numbers[next++] = number(charge.op());
        numbers[next++] = charge.incrementNanos();
        numbers[next++] = charge.offsetNanos();
        numbers[next++] =
            charge.op() == Op.SPEND_UP_TO ? charge.untilNanos() : flipped(charge.untilNanos());
      }
    }
    return numbers;
  }

  private Integer[] sizes() {
    return batches.stream().map(List::size).toArray(Integer[]::new);
  }

  /** The operations, as the functions number them. */
  static long number(Op op) {
    return switch (op) {
      case CHECK -> 0;
      case SPEND -> 1;
      case SPEND_ONLY -> 2;
      case FORGIVE -> 3;
      case REFUND -> 4;
      case RESET -> 5;
      case WITHDRAW -> 6;
      case SPEND_UP_TO -> 7;
    };
  }

  @Override
  protected List<Reading> readings(long[] answer, int first, List<Charge> batch, String server) {
    long now = flipped(answer[0]);
    List<Reading> readings = new ArrayList<>(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      readings.add(new Reading(now, flipped(answer[1 + first + i])));
    }
    return readings;
  }

  private static long flipped(long time) {
    return time ^ Long.MIN_VALUE;
  }
}
