// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.internal.text.SafeText;
import dev.sluice.remote.ChargeOutcome;
import dev.sluice.remote.Fault;
import dev.sluice.remote.RemoteCall.NotSentException;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The code that is specific to one kind of database, such as PostgreSQL. Thread-safe. */
public interface SqlDialect {

  /** Returns the name of the store's package in {@code dev.sluice}, for the names of threads. */
  String kind();

  /**
   * Makes a call that decides on batches.
   *
   * @param link sends the call
   */
  SqlCall call(Consumer<SqlCall> link, List<byte[]> keys, List<List<Charge>> batches);

  /** Explains why a call failed. */
  SqlFault fault(@Nullable Throwable failure);

  /**
   * Returns the reason why the database of a new connection cannot hold the buckets; null if there
   * is no reason.
   */
  @Nullable String refusal(Connection connection) throws SQLException;

  /**
   * Deletes the full buckets among the keys that follow a given key.
   *
   * @param after the key that precedes the keys to check
   * @param most how many keys to check
   */
  Cleaned clean(Connection connection, byte[] after, int most) throws SQLException;

  /** The result of one step that deletes full buckets. */
  final class Cleaned {

    /** The last key that the step has checked; null at the end of the table. */
    final byte @Nullable [] last;

    /** How many buckets were deleted. */
    final int deleted;

    /** Creates a result; the array is not copied. */
    public Cleaned(byte @Nullable [] last, int deleted) {
      this.last = last;
      this.deleted = deleted;
    }
  }

  /** The meaning of a failed call of a database. Immutable. */
  interface SqlFault extends Fault {

    /** Returns the exception of the driver. */
    Throwable cause();

    /** Returns whether the database rolled the call back, so that nothing was charged. */
    boolean isRefusal();

    /** Returns whether another transaction has locked a bucket of the call. */
    boolean isLocked();

    /** Returns whether the connection must be closed. */
    boolean breaksConnection();

    /** Returns whether the session lost the prepared statement, which some poolers cause. */
    boolean isLostStatement();

    /** Returns whether the call was not sent. */
    default boolean neverLeft() {
      return cause() instanceof NotSentException;
    }

    @Override
    default StoreException exception(String server) {
      return ChargeOutcome.by(isRefusal()).exception(server + ": " + words(), cause());
    }

    /** Returns the first exception of a driver in a chain of causes; null if there is none. */
    static @Nullable SQLException sql(@Nullable Throwable failure) {
      return failure == null || failure instanceof SQLException
          ? (SQLException) failure
          : sql(failure.getCause());
    }

    /** Returns the message of a failed call in one line, or else the name of its exception. */
    static String message(Throwable failure) {
      Throwable cause = failure.getCause();
      if (failure instanceof NotSentException && cause != null) {
        return message(cause);
      }
      String message = failure.getMessage();
      return message == null ? failure.getClass().getSimpleName() : SafeText.line(message);
    }
  }
}
