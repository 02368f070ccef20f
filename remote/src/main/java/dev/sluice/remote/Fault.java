// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.store.StoreException;

/** The meaning of a failed call. Immutable. */
public interface Fault {

  /** Whether the server refused the call, because of one of its batches, and changed nothing. */
  boolean wasNotBegun();

  /** Whether the fault is transient, so that a retry a moment later may succeed. */
  boolean passes();

  /** Whether the server is unreachable or refuses this client, so that a retry would not help. */
  boolean isOutage();

  /** Returns what went wrong, in one line. */
  String words();

  /** Returns the failure that a caller gets; it says whether anything was charged. */
  StoreException exception(String server);
}
