// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.remote.RemoteCall;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * One call of a database function or procedure that decides, and the future of its result: the
 * database's time, and the TAT of each charge. The sign bit of each time in the result is flipped,
 * as in the table. Thread-safe.
 */
public abstract class SqlCall extends RemoteCall<long[]> {

  protected final List<byte[]> keys;
  protected final List<List<Charge>> batches;
  private final Consumer<SqlCall> link;

  /**
   * Creates a call that has not been sent yet.
   *
   * @param link sends the call
   */
  protected SqlCall(Consumer<SqlCall> link, List<byte[]> keys, List<List<Charge>> batches) {
    this.link = link;
    this.keys = keys;
    this.batches = batches;
  }

  /**
   * Thrown if another call inserted or deleted a bucket of this call while this call ran. A call
   * that fails with this exception has changed nothing, and can be sent again.
   */
  public static final class TryAgainException extends SQLException {
    private static final long serialVersionUID = 1;

    public TryAgainException() {
      super("another call inserted or deleted a bucket meanwhile", "40001");
    }
  }

  @Override
  protected final void send() {
    link.accept(this);
  }

  /** Returns the statement to prepare. */
  public abstract String sql();

  /** Begins to send the call. Returns false if the call was abandoned and must not be sent. */
  final boolean mayLeave(Attempt attempt) {
    return begin(attempt);
  }

  /**
   * Runs the call.
   *
   * @param statement the prepared statement of {@link #sql}
   */
  protected abstract long[] run(Connection connection, PreparedStatement statement)
      throws SQLException;

  /** Returns each key once, in the sorted order in which every call locks its rows. */
  protected final byte[][] inOrder() {
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

  /** Returns the index of a charge's key in {@link #inOrder}, counted from 1. */
  protected final long place(int charge, byte[][] ordered) {
    return 1L + Arrays.binarySearch(ordered, keys.get(charge), Arrays::compareUnsigned);
  }

  /**
   * Returns a charge's {@code untilNanos} as the SQL functions expect it: a time with the sign bit
   * flipped, or the emission interval of a spend-up-to.
   */
  protected static long until(Charge charge) {
    return charge.op() == Op.SPEND_UP_TO ? charge.untilNanos() : flipped(charge.untilNanos());
  }

  /** Returns the number of an operation in the SQL functions. */
  public static long number(Op op) {
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
  protected final List<Reading> readings(
      long[] answer, int first, List<Charge> batch, String server) {
    long now = flipped(answer[0]);
    List<Reading> readings = new ArrayList<>(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      readings.add(new Reading(now, flipped(answer[1 + first + i])));
    }
    return readings;
  }

  protected static long flipped(long time) {
    return time ^ Long.MIN_VALUE;
  }
}
