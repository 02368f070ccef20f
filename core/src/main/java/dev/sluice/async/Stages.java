// SPDX-License-Identifier: Apache-2.0
package dev.sluice.async;

import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs actions at the end of stages. An action must handle its own failures: exceptions that it
 * throws are lost. It runs on the thread that completes the stage, or at once if the stage is done.
 */
public final class Stages {

  private Stages() {}

  /**
   * Runs an action when a stage has ended.
   *
   * @param <T> the stage's value
   * @param stage the stage
   * @param action gets the value, or the failure; the other one is null
   */
  public static <T> void onEnd(
      CompletionStage<T> stage, BiConsumer<? super T, ? super @Nullable Throwable> action) {
    var unused =
        stage.handle( // whenComplete would create another exception, for a stage that nobody uses
            (value, failure) -> {
              action.accept(value, failure);
              return null;
            });
  }

  /**
   * Runs an action when a stage has succeeded; failures are left to other users of the stage.
   *
   * @param <T> the stage's value
   * @param stage the stage
   * @param action gets the value
   */
  public static <T> void onSuccess(CompletionStage<T> stage, Consumer<? super T> action) {
    var unused = stage.thenAccept(action);
  }
}
