// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/** What a crash of the database may undo. */
public enum Durability {
  /**
   * The table is not in the log of the database: the fastest. A crash empties it, so that every
   * bucket is full once, and a standby that takes over starts with full buckets.
   */
  UNLOGGED,
  /**
   * The table is in the log, and decisions do not wait for the disk: a crash undoes the spends of
   * the last moment, about three times {@code wal_writer_delay}.
   */
  ASYNC,
  /** Each call waits until the disk has its spends, and a crash undoes none. */
  SYNC
}
