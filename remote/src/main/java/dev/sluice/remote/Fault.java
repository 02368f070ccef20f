// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.StoreException;

/** Describes a failed call. Immutable. */
public interface Fault {

  /** Whether the server rejected the call because of one of its batches, and changed nothing. */
  boolean wasNotBegun();

  /** Whether the fault is transient, so that a retry a moment later can succeed. */
  boolean passes();

  /** Whether the server is unreachable or rejects this client, so that a retry would not help. */
  boolean isOutage();

  /** Returns the reason for the failure, in one line. */
  String words();

  /**
   * Returns an exception that describes this fault to a caller. The message reports whether
   * anything was charged.
   */
  StoreException exception(String server);
}
