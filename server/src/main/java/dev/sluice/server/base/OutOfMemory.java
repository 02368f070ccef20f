// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import io.netty.util.internal.OutOfDirectMemoryError;
import org.jspecify.annotations.Nullable;

/*
 * Direct memory holds only the buffers of connections. If direct memory is full, the connection
 * that needs a buffer is closed, as after a network failure. All other state is on the heap, and
 * stays valid.
 */

/**
 * Passes an {@link OutOfMemoryError} that other code would swallow to the default handler of
 * uncaught exceptions. The default handler should end the process, since the objects on the heap
 * can be inconsistent. Errors about full direct memory are ignored. Stateless and thread-safe.
 */
public final class OutOfMemory {

  /** A part of the JDK's error message for full direct memory, which has no exception class. */
  private static final String DIRECT = "direct buffer memory";

  private OutOfMemory() {}

  /**
   * Calls the default handler if the failure is an {@link OutOfMemoryError} of the heap. Does
   * nothing otherwise, or if there is no default handler.
   */
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
    return error instanceof OutOfDirectMemoryError || (message != null && message.contains(DIRECT));
  }
}
