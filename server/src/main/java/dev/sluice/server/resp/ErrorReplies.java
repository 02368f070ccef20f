// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import com.linecorp.armeria.common.util.Exceptions;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.access.Caller;
import dev.sluice.server.base.FailureLog;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.reservation.Reservations.TokenException;
import dev.sluice.store.StoreException;
import dev.sluice.wire.WireException;
import java.io.Serial;
import java.util.Locale;
import java.util.concurrent.CancellationException;

/**
 * Writes error replies in the Redis protocol. Programs read the first word of an error reply:
 * {@code ERR} for a mistake of the client; {@code UNKNOWNTOKEN}, {@code EXPIREDTOKEN} and {@code
 * USEDTOKEN} for a token that cannot be cancelled or settled; {@code UNAVAILABLE} if the store
 * could not decide; {@code INTERNAL} for a fault of the server.
 */
final class ErrorReplies {

  private static final String UNAVAILABLE = "UNAVAILABLE";

  private ErrorReplies() {}

  static void write(Throwable failure, ReplyWriter writer) {
    Throwable cause = Exceptions.peel(failure);
    if (cause instanceof InvalidRequestException || cause instanceof WireException) {
      writer.error("ERR", String.valueOf(cause.getMessage()));
    } else if (cause instanceof TokenException token) {
      writer.error(token.reason() + "TOKEN", String.valueOf(token.getMessage()));
    } else if (cause instanceof StoreException store) {
      undecided(store, writer);
    } else if (cause instanceof CancellationException) {
      writer.error(UNAVAILABLE, "the server is stopping; whether anything was charged is unknown");
    } else {
      internal(cause, writer);
    }
  }

  /** Logs a store failure, and writes an error reply that does not contain the store's name. */
  private static void undecided(StoreException failure, ReplyWriter writer) {
    writer.error(
        UNAVAILABLE,
        "the store could not decide; %s (incident %s)"
            .formatted(FailureLog.charged(failure), FailureLog.undecided(failure)));
  }

  private static void internal(Throwable cause, ReplyWriter writer) {
    writer.error(
        "INTERNAL",
        "the request was not decided; the server's log has the cause, under incident "
            + FailureLog.internal(cause));
  }

  /** Refuses an unknown client, or a client without permission, with the same words as Redis. */
  static final class AccessRefusals {

    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;

    private AccessRefusals() {}

    static String code(RefusedException refused) {
      return switch (refused.status().code()) {
        case UNAUTHORIZED -> "NOAUTH";
        case FORBIDDEN -> "NOPERM";
        default -> "THROTTLED";
      };
    }

    static String text(RefusedException refused, Caller caller, Command command) {
      return switch (refused.status().code()) {
        case UNAUTHORIZED -> "Authentication required.";
        case FORBIDDEN ->
            "User %s has no permissions to run the '%s' command: %s"
                .formatted(caller.name(), command.lowerCaseName(), refused.detail());
        default -> "%s; retry after %s s".formatted(refused.detail(), refused.retryAfterSeconds());
      };
    }
  }

  /** Refuses an unknown command with the same words as Redis. */
  static final class UnknownCommand {

    private static final int SHOWN = 128;

    private UnknownCommand() {}

    static String error(Request request) {
      String name = shown(request, 0).toUpperCase(Locale.ROOT);
      if (name.equals("MULTI") || name.equals("EXEC")) {
        return name
            + ": there are no transactions, each command is executed at once; SLUICE.BATCH decides"
            + " several limits as one";
      }
      StringBuilder text = new StringBuilder("unknown command '");
      text.append(shown(request, 0)).append("', with args beginning with: ");
      int limit = text.length() + SHOWN;
      for (int i = 1; i < request.count() && text.length() < limit; i++) {
        text.append('\'').append(shown(request, i)).append("' ");
      }
      return text.toString();
    }

    static String shown(Request request, int index) {
      String text = request.text(index);
      return text.length() > SHOWN ? text.substring(0, SHOWN) : text;
    }
  }

  /** Thrown if bytes are not a Redis request; the start of the next request is then unknown. */
  static final class ProtocolException extends Exception {

    @Serial private static final long serialVersionUID = 1L;

    ProtocolException(String message) {
      super(message, null, false, false); // no stack trace: clients can cause this exception often
    }
  }
}
