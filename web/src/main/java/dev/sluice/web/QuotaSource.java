// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.gcra.Quota;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The application's function that supplies the quotas of a request.
 *
 * @param mayBlock true for a function that returns no {@code CompletionStage}, since it can block
 * @param function returns a stage with the quotas, or with null if the limit's own quotas apply
 */
record QuotaSource(
    boolean mayBlock, Function<WebRequest, CompletionStage<@Nullable List<Quota>>> function) {

  static QuotaSource blocking(Function<WebRequest, @Nullable Quota> function) {
    Objects.requireNonNull(function, "quota");
    return new QuotaSource(
        true, request -> CompletableFuture.completedFuture(list(function.apply(request))));
  }

  static QuotaSource async(Function<WebRequest, CompletionStage<@Nullable Quota>> function) {
    Objects.requireNonNull(function, "quota");
    return new QuotaSource(
        false, request -> stage(function.apply(request)).thenApply(QuotaSource::list));
  }

  static QuotaSource severalBlocking(Function<WebRequest, @Nullable List<Quota>> function) {
    Objects.requireNonNull(function, "quotas");
    return new QuotaSource(
        true, request -> CompletableFuture.completedFuture(sorted(function.apply(request))));
  }

  static QuotaSource severalAsync(
      Function<WebRequest, CompletionStage<@Nullable List<Quota>>> function) {
    Objects.requireNonNull(function, "quotas");
    return new QuotaSource(
        false, request -> stage(function.apply(request)).thenApply(QuotaSource::sorted));
  }

  private static <T> CompletionStage<T> stage(@Nullable CompletionStage<T> returned) {
    return Objects.requireNonNull(
        returned, "the function that supplies the quota returned null, expected a CompletionStage");
  }

  private static @Nullable List<Quota> list(@Nullable Quota quota) {
    return quota == null ? null : List.of(quota);
  }

  private static @Nullable List<Quota> sorted(@Nullable List<Quota> quotas) {
    return quotas == null ? null : Quota.ofOneLimit(quotas);
  }

  /** Calls the function; if the function throws, returns a failed stage. */
  CompletableFuture<@Nullable List<Quota>> ask(WebRequest request) {
    try {
      return function.apply(request).toCompletableFuture();
    } catch (Exception e) { // a function in Kotlin can throw a checked exception
      return CompletableFuture.failedFuture(e);
    }
  }
}
