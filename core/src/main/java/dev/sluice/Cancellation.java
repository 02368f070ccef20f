// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.async.Stages;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/**
 * Passes the cancellation of a chain's last stage, or its time-out, on to the first one, so that
 * the store need not do what no caller waits for. Stages alone pass nothing upwards. Stateless.
 */
final class Cancellation {

  private Cancellation() {}

  @CanIgnoreReturnValue
  static <T> CompletionStage<T> reaching(CompletionStage<?> first, CompletionStage<T> last) {
    if (first instanceof CompletableFuture<?> future && !future.isDone()) {
      Stages.onEnd(
          last,
          (value, failure) -> {
            // A failure that comes down the chain is wrapped in a CompletionException.
            if (failure != null && !(failure instanceof CompletionException)) {
              future.cancel(false);
            }
          });
    }
    return last;
  }

  /** Returns what a stage of a stage comes to; cancelling it cancels the one that is under way. */
  static <T> CompletionStage<T> reachingBoth(CompletionStage<CompletionStage<T>> first) {
    CompletionStage<T> last =
        reaching(first, first.thenCompose(second -> second.thenApply(value -> value)));
    Stages.onSuccess(first, second -> reaching(second, last));
    return last;
  }
}
