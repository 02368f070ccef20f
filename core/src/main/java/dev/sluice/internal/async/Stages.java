// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Helper methods for chains of stages: actions at the end of a stage, steps that run at once if a
 * stage is done, and cancellations that reach the first stage. Code that is chained to a stage runs
 * on the thread that completes the stage, or at once if the stage is done.
 */
public final class Stages {

  private Stages() {}

  /**
   * Runs an action when a stage has ended. The exceptions of the action are lost.
   *
   * @param action gets the value, or the failure; the other one is null
   */
  public static <T> void onEnd(
      CompletionStage<T> stage, BiConsumer<? super T, ? super @Nullable Throwable> action) {
    var unused =
        stage.handle( // whenComplete would create an exception for a stage that nobody uses
            (value, failure) -> {
              action.accept(value, failure);
              return null;
            });
  }

  /** Runs an action when a stage has succeeded; failures are left to other users of the stage. */
  public static <T> void onSuccess(CompletionStage<T> stage, Consumer<? super T> action) {
    var unused = stage.thenAccept(action);
  }

  /**
   * Same as {@link CompletionStage#handle}. If the stage already has a value, as with a memory
   * store, the step runs at once, and only one object is created.
   *
   * @param step gets the value, or the failure; the other one is null
   */
  public static <T, R> CompletionStage<R> handle(
      CompletionStage<T> stage, BiFunction<? super T, @Nullable Throwable, ? extends R> step) {
    T value = value(stage);
    if (value == null) {
      return stage.handle(step);
    }
    try {
      return CompletableFuture.completedFuture(step.apply(value, null));
    } catch (Throwable e) { // CompletionStage.handle() also catches every Throwable
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Returns the value of a stage without waiting.
   *
   * @return the value; null if the stage has failed or has not ended
   */
  public static <T> @Nullable T value(CompletionStage<T> stage) {
    CompletableFuture<T> future = future(stage);
    return future != null && future.isDone() && !future.isCompletedExceptionally()
        ? future.join()
        : null;
  }

  /** Avoids minimal stages, whose {@code isDone} throws, by using their full copies. */
  private static <T> @Nullable CompletableFuture<T> future(CompletionStage<T> stage) {
    return stage instanceof CompletableFuture<T> future ? future.toCompletableFuture() : null;
  }

  /**
   * Returns a stage whose cancellation or time-out ends the first stage of its chain, so that a
   * store can drop calls that nobody waits for. The chain itself goes on, and learns of that end.
   */
  public static <T> CompletionStage<T> cancelling(
      CompletionStage<?> first, CompletionStage<T> last) {
    return last.toCompletableFuture().isDone() ? last : reaching(first, last.thenApply(v -> v));
  }

  /** Returns a stage's failure, unwrapped if a stage before has passed it on. */
  public static Throwable cause(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }

  /**
   * Passes the cancellation or time-out of the last stage of a chain on to the first one. Stages
   * themselves pass nothing upwards.
   */
  @CanIgnoreReturnValue
  public static <T> CompletionStage<T> reaching(CompletionStage<?> first, CompletionStage<T> last) {
    CompletableFuture<?> future = future(first);
    if (future != null && !future.isDone()) {
      onEnd(
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

  /** Flattens a stage of a stage. Cancelling the result cancels the stage in progress. */
  public static <T> CompletionStage<T> flat(CompletionStage<CompletionStage<T>> first) {
    CompletionStage<T> last =
        reaching(first, first.thenCompose(second -> second.thenApply(value -> value)));
    onSuccess(first, second -> reaching(second, last));
    return last;
  }
}
