// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.util.stream.Stream;

/** Determines which spends are lost if the database crashes. */
public enum Durability {
  /**
   * The fastest durability: the table is not in the write-ahead log. A crash empties the table, so
   * that every bucket is full again. A standby server that takes over starts with full buckets.
   */
  UNLOGGED,
  /**
   * The table is in the write-ahead log, but decisions do not wait for the disk. A crash undoes the
   * most recent spends: up to about three times {@code wal_writer_delay}.
   */
  ASYNC,
  /** Each call waits until its spends are on the disk. A crash undoes no spend. */
  SYNC;

  /**
   * Returns the durability with a name.
   *
   * @param word the name, in upper or lower case
   * @return the durability
   * @throws IllegalArgumentException if no durability has the name
   */
  public static Durability of(String word) {
    return Stream.of(values())
        .filter(one -> one.name().equalsIgnoreCase(word))
        .findAny()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "found \"%s\", expected unlogged, async or sync".formatted(word)));
  }
}
