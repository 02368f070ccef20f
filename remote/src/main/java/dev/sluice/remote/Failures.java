// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.internal.async.Stages;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Unwraps and wraps the failures of {@code CompletableFuture}s. */
final class Failures {

  private Failures() {}

  /** Returns the failure of a failed future. */
  static Throwable of(CompletableFuture<?> failed) {
    Throwable why = failed.<@Nullable Throwable>handle((none, failure) -> failure).join();
    return why == null ? new IllegalStateException("the future has not failed") : Stages.cause(why);
  }

  /**
   * Wraps a failure in a {@code CompletionException} without a stack trace. Without the wrapper,
   * each later stage would create a {@code CompletionException} with a useless stack trace, which
   * would delay thousands of callers that time out together.
   */
  static CompletionException passedOn(Throwable failure) {
    return failure instanceof CompletionException known ? known : new PassedOn(failure);
  }

  private static final class PassedOn extends CompletionException {

    private static final long serialVersionUID = 1;

    PassedOn(Throwable cause) {
      super(cause);
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
      return this;
    }
  }
}
