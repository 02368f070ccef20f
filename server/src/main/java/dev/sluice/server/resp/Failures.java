package dev.sluice.server.resp;

import dev.sluice.limit.InvalidRequestException;
import dev.sluice.server.Incidents;
import dev.sluice.server.wire.WireException;
import dev.sluice.store.StoreException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes whatever goes wrong as an error reply. The first word is for programs: {@code ERR} for
 * what the client must change, {@code UNAVAILABLE} where the store could not decide, {@code
 * INTERNAL} for a fault of the server. Thread-safe.
 */
final class Failures {

  private static final Logger log = LoggerFactory.getLogger(Failures.class);
  private static final String UNAVAILABLE = "UNAVAILABLE";
  private static final String NOTHING_CHARGED = "nothing was charged";

  private final Incidents incidents = new Incidents(System::nanoTime);

  void write(Throwable failure, ReplyWriter writer) {
    Throwable cause = failure;
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof InvalidRequestException || cause instanceof WireException) {
      writer.error("ERR", String.valueOf(cause.getMessage()));
    } else if (cause instanceof StoreException) {
      undecided(String.valueOf(cause.getMessage()), writer);
    } else if (cause instanceof CancellationException) {
      writer.error(UNAVAILABLE, "the server is stopping; whether anything was charged is unknown");
    } else {
      internal(cause, writer);
    }
  }

  /** The log names the store; the reply does not. */
  private void undecided(String why, ReplyWriter writer) {
    String incident =
        incidents.of(why, id -> log.warn("incident {}: the store could not decide: {}", id, why));
    writer.error(
        UNAVAILABLE,
        "the store could not decide; %s (incident %s)"
            .formatted(
                why.endsWith(NOTHING_CHARGED)
                    ? NOTHING_CHARGED
                    : "whether anything was charged is unknown",
                incident));
  }

  private void internal(Throwable cause, ReplyWriter writer) {
    String incident =
        incidents.of(cause.toString(), id -> log.error("incident {}: a request failed", id, cause));
    writer.error(
        "INTERNAL",
        "the request was not decided; the server's log has the cause, under incident " + incident);
  }
}
