// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.store.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Turns failures of stages into {@link StoreException}s. Stateless. */
final class Failures {

  private Failures() {}

  /**
   * A stage that charges nothing, and fails with a {@link StoreException} which names the server.
   */
  static <T> CompletableFuture<T> named(String server, CompletionStage<T> stage) {
    return stage
        .handle(
            (value, failure) -> {
              if (failure == null) {
                return CompletableFuture.completedFuture(value);
              }
              ServerFault fault = ServerFault.of(cause(failure));
              String message =
                  fault.cause() instanceof TimeoutException
                      ? "timed out on " + server
                      : server + ": " + fault.words();
              StoreException exception = new StoreException(message, fault.cause());
              return CompletableFuture.<T>failedFuture(exception);
            })
        .thenCompose(result -> result)
        .toCompletableFuture();
  }

  /** Returns why a stage failed that has failed. */
  static Throwable of(CompletableFuture<?> failed) {
    Throwable why = failed.<@Nullable Throwable>handle((none, failure) -> cause(failure)).join();
    return why == null ? new IllegalStateException("it has not failed") : why;
  }

  /** Returns the failure itself, where a stage has wrapped it. */
  static @Nullable Throwable cause(@Nullable Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  /**
   * Returns a failure as the stages behind it pass it on. They make such an exception otherwise,
   * each of them, with a stack that tells nothing: thousands of callers that time out at once would
   * wait for that.
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
