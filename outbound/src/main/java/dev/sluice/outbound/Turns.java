// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Blocks a thread until a {@link Pacer} admits the request of this thread. If the thread is
 * interrupted, the request stops waiting and is not sent.
 */
final class Turns {

  private static final long LOOK_MILLIS = 50;

  private Turns() {}

  static void await(CompletableFuture<Void> admission) throws IOException, InterruptedException {
    try {
      admission.get();
    } catch (InterruptedException e) {
      admission.cancel(false);
      throw e;
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    }
  }

  /**
   * Blocks like {@link #await(CompletableFuture)}, and also stops if the client cancels the request
   * without an interrupt.
   *
   * @param isCancelled returns whether the request was cancelled; called every {@value
   *     #LOOK_MILLIS} ms
   * @throws IOException if the request was rejected or cancelled
   */
  static void await(CompletableFuture<Void> admission, BooleanSupplier isCancelled)
      throws IOException, InterruptedException {
    while (!isOver(admission)) {
      if (isCancelled.getAsBoolean()) {
        admission.cancel(false);
        throw new IOException("Canceled");
      }
    }
    await(admission);
  }

  /**
   * Waits for the admission, at most {@value #LOOK_MILLIS} ms. Returns whether the admission has
   * completed or failed.
   */
  private static boolean isOver(CompletableFuture<Void> admission) throws InterruptedException {
    try {
      admission.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      admission.cancel(false);
      throw e;
    } catch (ExecutionException e) {
      // The admission has failed. The caller reads the exception from the failed admission.
    }
    return true;
  }

  private static IOException failure(@Nullable Throwable cause) {
    if (cause instanceof IOException e) {
      return e;
    }
    if (cause instanceof RuntimeException e) {
      throw e;
    }
    return new IOException("the limit could not be checked; the request was not sent", cause);
  }
}
