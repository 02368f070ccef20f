// SPDX-License-Identifier: Apache-2.0
package dev.sluice.mariadb;

import dev.sluice.remote.RemoteCall.NotSentException;
import dev.sluice.remote.sql.SqlCall.TryAgainException;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import java.sql.SQLException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Describes a failed call. Immutable.
 *
 * @param cause the exception of the driver
 * @param code the error number of MariaDB; 0 if there is none
 * @param state the SQLSTATE of the exception; empty if there is none
 * @param isRefusal whether the procedure rolled the call back, so that nothing was charged
 */
record MariaDbFault(Throwable cause, int code, String state, boolean isRefusal)
    implements SqlFault {

  private static final int NO_PROCEDURE = 1305;
  private static final int NO_TABLE = 1146;
  private static final int NO_RIGHT = 1370;
  private static final int COMMIT_FAILED = 1180;

  /**
   * The error numbers of a read-only server: a replica, or a server with {@code read_only} set by
   * an operator.
   */
  private static final Set<Integer> READ_ONLY = Set.of(1290, 1792, 1836);

  /**
   * The error numbers of a full disk, a full table, or too many connections of all users or one
   * user.
   */
  private static final Set<Integer> OUTAGES = Set.of(1021, 1030, 1040, 1114, 1203, 1226);

  static MariaDbFault of(@Nullable Throwable failure) {
    Throwable cause = failure == null ? new IllegalStateException("no answer") : failure;
    SQLException its = SqlFault.sql(cause);
    int code = its == null ? 0 : its.getErrorCode();
    String state = its == null || its.getSQLState() == null ? "" : its.getSQLState();
    boolean isKnown =
        cause instanceof NotSentException
            || its instanceof TryAgainException
            || its instanceof MariaDbCall.NotCommittedException;
    boolean isError =
        code != 0 && code != COMMIT_FAILED && !state.startsWith("08") && !state.equals("70100");
    return new MariaDbFault(cause, code, state, isKnown || isError);
  }

  /** Whether a single batch can cause the fault: a deadlock, a locked row, or too long a key. */
  @Override
  public boolean wasNotBegun() {
    return isRefusal && !neverLeft() && !isOutage() && !state.startsWith("42");
  }

  @Override
  public boolean passes() {
    return state.startsWith("40");
  }

  @Override
  public boolean isOutage() {
    return neverLeft()
        || state.isEmpty()
        || state.startsWith("08") // connection errors
        || state.startsWith("28") // login errors
        || OUTAGES.contains(code)
        || READ_ONLY.contains(code);
  }

  /** Also true if the database is slow, since MariaDB does not report which of the two it is. */
  @Override
  public boolean isLocked() {
    return cause instanceof MariaDbCall.NotCommittedException;
  }

  @Override
  public boolean breaksConnection() {
    return !isRefusal || READ_ONLY.contains(code);
  }

  @Override
  public boolean isLostStatement() {
    return false;
  }

  @Override
  public String words() {
    String line = SqlFault.message(cause).replaceFirst("^\\((conn|conn:|conn=)[^)]*\\) *", "");
    return switch (code) {
      case NO_PROCEDURE, NO_TABLE -> line + "; run `sluice store create`, or MariaDbStore.create";
      case NO_RIGHT ->
          line + "; run `sluice store create` with --role, or MariaDbStore.create with this user";
      default -> line;
    };
  }
}
