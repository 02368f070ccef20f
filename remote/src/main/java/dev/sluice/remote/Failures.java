// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.internal.async.Stages;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** Failures of stages, unwrapped and wrapped. */
final class Failures {

  private Failures() {}

  /** Returns the failure of a future that has failed. */
  static Throwable of(CompletableFuture<?> failed) {
    Throwable why = failed.<@Nullable Throwable>handle((none, failure) -> failure).join();
    return why == null ? new IllegalStateException("it has not failed") : Stages.cause(why);
  }

  /**
   * Wraps a failure in the form in which stages pass it on. Otherwise each stage creates such an
   * exception with a useless stack trace, which delays thousands of callers that time out at once.
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
