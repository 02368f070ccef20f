// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import dev.sluice.remote.Fault;

/** The meaning of a failed call of a database. Immutable. */
public interface SqlFault extends Fault {

  /** Whether the connection can be used no more. */
  boolean breaksConnection();

  /** Whether the session does not know the prepared statement, as behind some poolers. */
  boolean isLostStatement();
}
