// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import io.netty.util.internal.OutOfDirectMemoryError;
import org.jspecify.annotations.Nullable;

/*
 * Only buffers of connections are in direct memory. If direct memory is full, a connection gets no
 * buffer and ends, as after any failure of its transport. All other state is on the heap, and stays
 * valid.
 */

/**
 * Hands an {@link OutOfMemoryError} that other code would swallow to the default handler of
 * uncaught exceptions: after such an error, no state can be trusted, and the process should end.
 * Full direct memory does not count. Stateless and thread-safe.
 */
public final class OutOfMemory {

  /** A part of the message of the JDK's own error, which has no class of its own. */
  private static final String DIRECT = "direct buffer memory";

  private OutOfMemory() {}

  /**
   * Reports a failure if the heap ran out. Does nothing otherwise, or if there is no default
   * handler.
   */
  public static void report(@Nullable Throwable failure) {
    OutOfMemoryError cause = cause(failure);
    Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
    if (cause != null && !isDirect(cause) && handler != null) {
      handler.uncaughtException(Thread.currentThread(), cause);
    }
  }

  /** Returns why a connection has ended, which the innermost cause describes best. */
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
