// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.remote.Fault;
import dev.sluice.store.BucketStore.Charge;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What differs from one kind of database to another. Thread-safe. */
public interface SqlDialect {

  /** Returns the name of the store's package in {@code dev.sluice}, for its threads. */
  String kind();

  /**
   * Makes a call that decides on batches.
   *
   * @param link sends it
   */
  SqlCall call(Consumer<SqlCall> link, List<byte[]> keys, List<List<Charge>> batches);

  /** Explains a failed call. */
  SqlFault fault(@Nullable Throwable failure);

  /** Returns why the database of a new connection cannot hold the buckets, null if it can. */
  @Nullable String refusal(Connection connection) throws SQLException;

  /**
   * Deletes full buckets among the next keys.
   *
   * @param after the key before them
   * @param most how many keys to look at
   * @return the last of these keys; null at the end of the table
   */
  byte @Nullable [] clean(Connection connection, byte[] after, int most) throws SQLException;

  /** The meaning of a failed call of a database. Immutable. */
  interface SqlFault extends Fault {

    /** Whether the connection can be used no more. */
    boolean breaksConnection();

    /** Whether the session does not know the prepared statement, as behind some poolers. */
    boolean isLostStatement();
  }
}
