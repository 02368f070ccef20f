package dev.sluice;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/**
 * Lets whoever ends the last stage of a chain early, by cancelling it or with a time-out, end the
 * first one too, so that the store need not do what nobody waits for; stages by themselves pass on
 * nothing upwards. Stateless.
 */
final class GivingUp {

  private GivingUp() {}

  static <T> CompletionStage<T> reaches(CompletionStage<?> first, CompletionStage<T> last) {
    if (first instanceof CompletableFuture<?> future && !future.isDone()) {
      var unused =
          last.whenComplete(
              (value, failure) -> {
                // What comes down the chain comes in a CompletionException.
                if (failure != null && !(failure instanceof CompletionException)) {
                  future.cancel(false);
                }
              });
    }
    return last;
  }
}
