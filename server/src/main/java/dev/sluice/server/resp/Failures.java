// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import com.linecorp.armeria.common.util.Exceptions;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.base.FailureLog;
import dev.sluice.server.reservation.TokenException;
import dev.sluice.store.StoreException;
import dev.sluice.wire.WireException;
import java.util.concurrent.CancellationException;

/**
 * Writes whatever goes wrong as an error reply. The first word is for programs. {@code ERR} is for
 * what the client must change. {@code UNKNOWNTOKEN}, {@code EXPIREDTOKEN} and {@code USEDTOKEN} are
 * for a token that gives nothing back. {@code UNAVAILABLE} says that the store could not decide,
 * and {@code INTERNAL} is for a fault of the server. Stateless and thread-safe.
 */
final class Failures {

  private static final String UNAVAILABLE = "UNAVAILABLE";

  private Failures() {}

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

  /** The log names the store; the reply does not. */
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
}
