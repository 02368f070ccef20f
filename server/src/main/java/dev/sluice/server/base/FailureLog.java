// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.store.StoreException;
import io.netty.util.internal.OutOfDirectMemoryError;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of internal failures, for all protocols of the server. A client gets only the id of the
 * incident, and no details of the store or the code. Thread-safe; can block if the logger blocks.
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

  /** Returns a text for the client: that nothing was charged, or that this is unknown. */
  public static String charged(StoreException failure) {
    return failure.chargedNothing()
        ? "nothing was charged"
        : "whether anything was charged is unknown";
  }

  /** Logs that a change could not be saved, and returns the id of the incident. */
  public static String notKept(String why) {
    return INCIDENTS.of(
        why, id -> log.error("incident {}: a change could not be saved: {}", id, why));
  }

  /** Logs that a request timed out before its change ended, and returns the id of the incident. */
  public static String notInTime() {
    String why = "a change did not end in time; it can still be made";
    return INCIDENTS.of(why, id -> log.error("incident {}: {}", id, why));
  }

  /** Logs a bug of the server with its stack trace, and returns the id of the incident. */
  @CanIgnoreReturnValue
  public static String internal(Throwable cause) {
    OutOfMemory.report(cause);
    return INCIDENTS.of(
        cause.toString(), id -> log.error("incident {}: a request failed", id, cause));
  }

  /** Makes ids for internal failures; the client and the log both get the id. */
  static final class Incidents {

    static final int MOST = 8;

    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final LongSupplier ticker;
    private final Map<String, String> ids = new HashMap<>();
    private long since;

    /** Makes an incident log without incidents. {@code ticker} returns monotonic nanoseconds. */
    Incidents(LongSupplier ticker) {
      this.ticker = ticker;
    }

    /** Returns the id of a cause, eight hex digits. Calls {@code log} only if the cause is new. */
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
      // After MOST - 1 different causes, all other causes share one id, with the empty key.
      String key = ids.size() < MOST - 1 || ids.containsKey(cause) ? cause : "";
      String known = ids.putIfAbsent(key, id);
      return known == null ? id : known;
    }
  }

  /*
   * Direct memory holds only the buffers of connections. If direct memory is full, the connection
   * that needs a buffer is closed, as after a network failure. All other state is on the heap, and
   * stays valid.
   */

  /** Passes an {@link OutOfMemoryError} of the heap to the handler that ends the process. */
  public static final class OutOfMemory {

    /** Part of the JDK's message for full direct memory, for which no exception class exists. */
    private static final String DIRECT = "direct buffer memory";

    private OutOfMemory() {}

    /** Reports a failure if the heap ran out, and there is a handler of uncaught exceptions. */
    public static void report(@Nullable Throwable failure) {
      OutOfMemoryError cause = cause(failure);
      Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
      if (cause != null && !isDirect(cause) && handler != null) {
        handler.uncaughtException(Thread.currentThread(), cause);
      }
    }

    /** Returns the reason why a connection has failed: the innermost cause. */
    public static String words(Throwable failure) {
      OutOfMemoryError cause = cause(failure);
      if (cause != null && isDirect(cause)) {
        return "direct memory is full; give the JVM more, such as -XX:MaxDirectMemorySize=256m";
      }
      Throwable innermost = failure;
      for (Throwable next = failure; next != null; next = next.getCause()) {
        innermost = next;
      }
      return innermost.toString();
    }

    private static @Nullable OutOfMemoryError cause(@Nullable Throwable failure) {
      for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
        if (cause instanceof OutOfMemoryError error) {
          return error;
        }
      }
      return null;
    }

    private static boolean isDirect(OutOfMemoryError error) {
      String message = error.getMessage();
      return error instanceof OutOfDirectMemoryError
          || (message != null && message.contains(DIRECT));
    }
  }
}
