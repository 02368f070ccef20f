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
 * Helper methods for chains of stages, and threads that complete stages. Code that is chained to a
 * stage runs on the thread that completes the stage, or at once if the stage is complete already.
 */
public final class Stages {

  private Stages() {}

  /**
   * Runs an action when a stage has ended. Exceptions of the action are ignored.
   *
   * @param action a function that receives the value and null, or null and the failure
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

  /** Runs an action when a stage has succeeded; ignores a failure of the stage. */
  public static <T> void onSuccess(CompletionStage<T> stage, Consumer<? super T> action) {
    var unused = stage.thenAccept(action);
  }

  /**
   * Same as {@link CompletionStage#handle}, but faster if the stage already has a value, as with a
   * memory store: the step runs at once, and only one object is created.
   *
   * @param step a function that receives the value and null, or null and the failure
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

  /**
   * Returns a stage as a future; copies a minimal stage, whose {@code isDone} throws, to a full
   * future. Returns null if the stage is not a future of the JDK.
   */
  private static <T> @Nullable CompletableFuture<T> future(CompletionStage<T> stage) {
    return stage instanceof CompletableFuture<T> future ? future.toCompletableFuture() : null;
  }

  /**
   * Returns a stage that gets the result of the stage {@code last}. A cancellation or time-out of
   * the returned stage cancels the stage {@code first}, so that a store can drop a call for which
   * nobody waits. When {@code first} is cancelled, the stages between {@code first} and {@code
   * last} complete with the cancellation.
   */
  public static <T> CompletionStage<T> cancelling(
      CompletionStage<?> first, CompletionStage<T> last) {
    return last.toCompletableFuture().isDone() ? last : reaching(first, last.thenApply(v -> v));
  }

  /** Returns the failure that a {@code CompletionException} wraps, or the given failure. */
  public static Throwable cause(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }

  /** Cancels the first stage of a chain when the last stage is cancelled or times out. */
  @CanIgnoreReturnValue
  public static <T> CompletionStage<T> reaching(CompletionStage<?> first, CompletionStage<T> last) {
    CompletableFuture<?> future = future(first);
    if (future != null && !future.isDone()) {
      onEnd(
          last,
          (value, failure) -> {
            // A CompletionException wraps a failure of an earlier stage, but never a cancellation
            // or time-out.
            if (failure != null && !(failure instanceof CompletionException)) {
              future.cancel(false);
            }
          });
    }
    return last;
  }

  /** Flattens a stage of a stage. */
  public static <T> CompletionStage<T> flat(CompletionStage<CompletionStage<T>> first) {
    CompletionStage<T> last =
        reaching(first, first.thenCompose(second -> second.thenApply(value -> value)));
    onSuccess(first, second -> reaching(second, last));
    return last;
  }

  /** A thread that does not keep the JVM running. */
  public static final class DaemonThread extends Thread {

    /** Creates a daemon thread that is not started yet. */
    public DaemonThread(Runnable task, String name) {
      super(task, name);
      setDaemon(true);
    }
  }
}
