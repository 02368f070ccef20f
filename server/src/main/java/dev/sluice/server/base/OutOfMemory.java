// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import io.netty.util.internal.OutOfDirectMemoryError;
import org.jspecify.annotations.Nullable;

/*
 * Only buffers of connections are in direct memory. Where it is full, one connection gets none and
 * ends, as after any failure of its transport. All other state is on the heap, and holds.
 */

/**
 * Hands an {@link OutOfMemoryError} that something else would swallow to the default handler of
 * uncaught exceptions: after one, no state can be trusted, and the process should end. Direct
 * memory that is full does not count. Stateless and thread-safe.
 */
public final class OutOfMemory {

  /** A part of the message of the JDK's own error, which has no class of its own. */
  private static final String DIRECT = "direct buffer memory";

  private OutOfMemory() {}

  /**
   * Reports an error if the heap ran out. Does nothing otherwise, nor without a default handler.
   *
   * @param failure what went wrong, with its causes
   */
  public static void report(@Nullable Throwable failure) {
    OutOfMemoryError cause = cause(failure);
    Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
    if (cause != null && !isDirect(cause) && handler != null) {
      handler.uncaughtException(Thread.currentThread(), cause);
    }
  }

  /**
   * Says why a connection has ended: the innermost cause knows best.
   *
   * @param failure what went wrong, with its causes
   * @return the words for a log
   */
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
    return error instanceof OutOfDirectMemoryError || (message != null && message.contains(DIRECT));
  }
}
