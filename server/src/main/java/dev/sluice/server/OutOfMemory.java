// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import org.jspecify.annotations.Nullable;

/**
 * Hands an {@link OutOfMemoryError} that something else would swallow to the default handler of
 * uncaught exceptions: after one, no state can be trusted, and the process should end. Stateless
 * and thread-safe.
 */
public final class OutOfMemory {

  private OutOfMemory() {}

  /**
   * Reports an error if memory ran out. Does nothing otherwise, nor without a default handler.
   *
   * @param failure what went wrong, with its causes
   */
  public static void report(@Nullable Throwable failure) {
    Throwable cause = failure;
    while (cause != null && !(cause instanceof OutOfMemoryError)) {
      cause = cause.getCause();
    }
    Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
    if (cause != null && handler != null) {
      handler.uncaughtException(Thread.currentThread(), cause);
    }
  }
}
