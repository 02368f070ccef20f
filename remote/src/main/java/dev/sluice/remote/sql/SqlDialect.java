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
   */
  Cleaned clean(Connection connection, byte[] after, int most) throws SQLException;

  /** What one step of the deletion of full buckets did. */
  final class Cleaned {

    /** The last of the keys that were looked at; null at the end of the table. */
    final byte @Nullable [] last;

    /** How many buckets were deleted. */
    final int deleted;

    /** Creates the answer to a call; the array is not copied. */
    public Cleaned(byte @Nullable [] last, int deleted) {
      this.last = last;
      this.deleted = deleted;
    }
  }

  /** The meaning of a failed call of a database. Immutable. */
  interface SqlFault extends Fault {

    /** Whether the connection can be used no more. */
    boolean breaksConnection();

    /** Whether the session does not know the prepared statement, as behind some poolers. */
    boolean isLostStatement();
  }
}
