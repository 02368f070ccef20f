// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import dev.sluice.internal.text.SafeText;
import dev.sluice.remote.RemoteCall.NotSentException;
import dev.sluice.remote.sql.SqlCall.TryAgainException;
import dev.sluice.remote.sql.SqlDialect.SqlFault;
import java.sql.SQLException;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * Describes a failed call. Immutable.
 *
 * @param cause the exception of the driver
 * @param state the SQLSTATE of the exception; empty if there is none
 * @param isRefusal whether the database rolled the call back, so that nothing was charged
 */
record PostgresFault(Throwable cause, String state, boolean isRefusal) implements SqlFault {

  private static final Set<String> LOST =
      Set.of("26000", "42P05", "08P01", "22P02", "22P03", "42804");

  static PostgresFault of(@Nullable Throwable failure) {
    Throwable cause = failure == null ? new IllegalStateException("no answer") : failure;
    SQLException its = SqlFault.sql(cause);
    String state = its == null || its.getSQLState() == null ? "" : its.getSQLState();
    boolean notSent = cause instanceof NotSentException;
    return new PostgresFault(cause, state, notSent || isError(its));
  }

  /**
   * Returns whether the server only rolled the statement back, instead of ending the session. This
   * method reads the severity of the error, or the SQLSTATE if the server has translated the
   * severity into an unknown language.
   */
  private static boolean isError(@Nullable SQLException failure) {
    if (failure instanceof PSQLException its) {
      ServerErrorMessage words = its.getServerErrorMessage();
      String severity = words == null ? null : words.getSeverity();
      return severity != null
          && switch (severity) {
            case "ERROR" -> true;
            case "FATAL", "PANIC" -> false;
            default -> !mayEndSession(String.valueOf(its.getSQLState()));
          };
    }
    return failure instanceof TryAgainException;
  }

  private static boolean mayEndSession(String state) {
    return Stream.of("08", "25P03", "25P04", "28", "53", "57P", "58", "XX")
        .anyMatch(state::startsWith);
  }

  /** Whether a single batch can cause the fault: a deadlock, or a key that is too long. */
  @Override
  public boolean wasNotBegun() {
    return isRefusal && !neverLeft() && !isOutage() && !isOfAll();
  }

  /**
   * Returns whether every call would be rejected, for example because a table, a function or a
   * right is missing.
   */
  private boolean isOfAll() {
    return state.startsWith("42") || state.startsWith("0A") || state.startsWith("57");
  }

  @Override
  public boolean passes() {
    return state.startsWith("40");
  }

  @Override
  public boolean isOutage() {
    if (neverLeft() || state.isEmpty()) {
      return true;
    }
    return state.startsWith("08") // connection errors
        || state.startsWith("28") // login errors
        || state.startsWith("53") // too many connections, or a full disk
        || state.startsWith("57P") // the server is shutting down or starting
        || state.startsWith("58") // disk errors
        || state.startsWith("XX")
        || isReplica();
  }

  /**
   * Returns whether the error shows that the server is a replica: the server cannot write, or does
   * not have the unlogged table.
   */
  private boolean isReplica() {
    return state.equals("25006") || state.equals("0A000");
  }

  @Override
  public boolean isLocked() {
    return state.equals("55P03");
  }

  @Override
  public boolean breaksConnection() {
    return !isRefusal || isReplica() || state.startsWith("57P");
  }

  /**
   * Whether a pooler passed the statement to a session that does not know the statement, or that
   * knows a statement with the same name and other parameters.
   */
  @Override
  public boolean isLostStatement() {
    return isRefusal && (LOST.contains(state) || isArrayOfTooMuch());
  }

  /**
   * Returns whether the server rejected a parameter as an array that is too large. The SQLSTATE
   * alone does not show this, since an index key that is too large has the SQLSTATE 54000 too.
   */
  private boolean isArrayOfTooMuch() {
    ServerErrorMessage words =
        cause instanceof PSQLException its ? its.getServerErrorMessage() : null;
    String source = words == null ? null : words.getFile();
    return state.equals("54000") && source != null && source.startsWith("array");
  }

  @Override
  public String words() {
    if (state.equals("57014")) {
      return "the call timed out and was cancelled";
    }
    if (isLocked()) {
      return "another transaction has locked a bucket of the call";
    }
    ServerErrorMessage ofServer =
        SqlFault.sql(cause) instanceof PSQLException its ? its.getServerErrorMessage() : null;
    String message = ofServer == null ? null : ofServer.getMessage();
    String line = message == null ? SqlFault.message(cause) : SafeText.line(message);
    return switch (state) {
      case "42883", "42P01" -> line + "; run `sluice store create`, or PostgresStore.create";
      case "42501" -> line + "; run `sluice store create` with --role, or PostgresStore.create";
      default -> line;
    };
  }
}
