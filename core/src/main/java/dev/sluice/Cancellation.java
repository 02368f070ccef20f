// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.async.Stages;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/**
 * Passes the cancellation or time-out of a chain's last stage on to its first stage, so that the
 * store can drop calls that nobody waits for. Stages themselves pass nothing upwards.
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

  /** Flattens a stage of a stage; cancelling the result cancels the stage in progress. */
  static <T> CompletionStage<T> reachingBoth(CompletionStage<CompletionStage<T>> first) {
    CompletionStage<T> last =
        reaching(first, first.thenCompose(second -> second.thenApply(value -> value)));
    Stages.onSuccess(first, second -> reaching(second, last));
    return last;
  }
}
