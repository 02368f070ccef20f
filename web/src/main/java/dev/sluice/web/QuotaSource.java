// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.gcra.Quota;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The application's function that supplies the quota of a request.
 *
 * @param mayBlock whether the function returns the quota itself, and may have waited for it
 * @param function returns the quota; its stage has null where the limit's own quota applies
 */
record QuotaSource(
    boolean mayBlock, Function<WebRequest, CompletionStage<@Nullable Quota>> function) {

  static QuotaSource blocking(Function<WebRequest, @Nullable Quota> function) {
    Objects.requireNonNull(function, "quota");
    return new QuotaSource(
        true, request -> CompletableFuture.completedFuture(function.apply(request)));
  }

  static QuotaSource async(Function<WebRequest, CompletionStage<@Nullable Quota>> function) {
    return new QuotaSource(false, Objects.requireNonNull(function, "quota"));
  }

  /** Calls the function; its exception is the stage's. */
  CompletableFuture<@Nullable Quota> ask(WebRequest request) {
    try {
      return Objects.requireNonNull(
              function.apply(request), "the function returned null, expected a stage")
          .toCompletableFuture();
    } catch (Exception e) { // a function in Kotlin may throw a checked exception
      return CompletableFuture.failedFuture(e);
    }
  }
}
