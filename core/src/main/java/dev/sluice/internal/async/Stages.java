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
   * @param <T> the stage's value
   * @param stage the stage
   * @param action receives the value, or the failure; the other argument is null
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

  /**
   * Runs an action when a stage has succeeded. Failures are left to other users of the stage.
   *
   * @param <T> the stage's value
   * @param stage the stage
   * @param action receives the value
   */
  public static <T> void onSuccess(CompletionStage<T> stage, Consumer<? super T> action) {
    var unused = stage.thenAccept(action);
  }

  /**
   * Same as {@link CompletionStage#handle}. If the stage already has a value, as with a memory
   * store, the step runs at once, and only one object is created.
   *
   * @param <T> the stage's value
   * @param <R> the result
   * @param stage the stage
   * @param step receives the value, or the failure; the other argument is null
   * @return the result of the step, or its exception
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
   * @param <T> the stage's value
   * @param stage the stage
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
   * Returns a stage whose cancellation or time-out also cancels the first stage of its chain, so
   * that a store can drop calls that nobody waits for. The stages of the chain still complete.
   *
   * @param <T> the result
   * @param first the first stage
   * @param last the last stage of the chain
   * @return a stage with the result of {@code last}
   */
  public static <T> CompletionStage<T> cancelling(
      CompletionStage<?> first, CompletionStage<T> last) {
    return last.toCompletableFuture().isDone() ? last : reaching(first, last.thenApply(v -> v));
  }

  /**
   * Returns a stage's failure, unwrapped if a previous stage has passed the failure on.
   *
   * @param failure the failure of a stage
   * @return the original failure
   */
  public static Throwable cause(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }

  /**
   * Passes the cancellation or time-out of the last stage of a chain to the first stage, which
   * stages do not do themselves.
   *
   * @param <T> the result
   * @param first the first stage
   * @param last the last stage of the chain
   * @return {@code last}
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

  /**
   * Flattens a stage of a stage. Cancelling the result cancels the stage in progress.
   *
   * @param <T> the result
   * @param first the stage of a stage
   * @return a stage with the result of the inner stage
   */
  public static <T> CompletionStage<T> flat(CompletionStage<CompletionStage<T>> first) {
    CompletionStage<T> last =
        reaching(first, first.thenCompose(second -> second.thenApply(value -> value)));
    onSuccess(first, second -> reaching(second, last));
    return last;
  }
}
