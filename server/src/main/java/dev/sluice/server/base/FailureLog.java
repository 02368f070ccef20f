// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.store.StoreException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of internal failures, shared by all doors. A client gets only the id of the incident, and
 * no details of the store or the code. Thread-safe; can block if the logger blocks.
 */
public final class FailureLog {

  private static final Logger log = LoggerFactory.getLogger(FailureLog.class);
  private static final Incidents INCIDENTS = new Incidents(System::nanoTime);

  private FailureLog() {}

  @CanIgnoreReturnValue
  public static String undecided(StoreException failure) {
    String why = String.valueOf(failure.getMessage());
    return INCIDENTS.of(
        why, id -> log.warn("incident {}: the store could not decide: {}", id, why));
  }

  /** Returns a text for the client: either that nothing was charged, or that this is unknown. */
  public static String charged(StoreException failure) {
    return failure.chargedNothing()
        ? "nothing was charged"
        : "whether anything was charged is unknown";
  }

  /**
   * Logs that a change could not be saved, and returns the id of the incident. Logs one line
   * without a stack trace, since a full disk is not a fault of the server.
   */
  public static String notKept(String why) {
    return INCIDENTS.of(
        why, id -> log.error("incident {}: a change could not be saved: {}", id, why));
  }

  /**
   * Logs a fault of the server, with its stack trace, and returns the id of the incident. Ends the
   * process if the heap ran out.
   */
  @CanIgnoreReturnValue
  public static String internal(Throwable cause) {
    OutOfMemory.report(cause);
    return INCIDENTS.of(
        cause.toString(), id -> log.error("incident {}: a request failed", id, cause));
  }

  /**
   * Gives ids to internal failures. The client and the log both get the id. Failures with equal
   * causes within a second share an id and a log line, so that an outage writes at most {@value
   * #MOST} lines a second. Thread-safe; never blocks.
   */
  static final class Incidents {

    static final int MOST = 8;

    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LongSupplier ticker;
    private final Map<String, String> ids = new HashMap<>();
    private long since;

    /** Makes an empty register. The ticker returns nanoseconds from an arbitrary origin. */
    Incidents(LongSupplier ticker) {
      this.ticker = ticker;
    }

    /**
     * Returns the id of a cause, eight hex digits. Calls {@code log} with the id only if it is new.
     */
    String of(String cause, Consumer<String> log) {
      String id = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
      String known = claim(cause, id);
      if (known.equals(id)) {
        log.accept(id);
      }
      return known;
    }

    private synchronized String claim(String cause, String id) {
      long now = ticker.getAsLong();
      if (ids.isEmpty() || now - since >= WINDOW_NANOS) {
        ids.clear();
        since = now;
      }
      // If there are too many causes, all further causes share the empty key.
      String key = ids.size() < MOST - 1 || ids.containsKey(cause) ? cause : "";
      String known = ids.putIfAbsent(key, id);
      return known == null ? id : known;
    }
  }
}
