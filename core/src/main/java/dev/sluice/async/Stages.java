// SPDX-License-Identifier: Apache-2.0
package dev.sluice.async;

import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Follows stages whose end somebody else waits for. An action must handle its own failures: what it
 * throws reaches nobody. It runs where the stage ends, or at once if it has ended. Stateless.
 */
public final class Stages {

  private Stages() {}

  /**
   * Runs an action when a stage has ended.
   *
   * @param <T> what the stage comes to
   * @param stage the stage
   * @param action gets the value, or the failure; the other one is null
   */
  public static <T> void onEnd(
      CompletionStage<T> stage, BiConsumer<? super T, ? super @Nullable Throwable> action) {
    var unused =
        stage.handle( // whenComplete would make an exception of its own for a stage that nobody has
            (value, failure) -> {
              action.accept(value, failure);
              return null;
            });
  }

  /**
   * Runs an action when a stage has ended well; a failure is left to those who wait for the stage.
   *
   * @param <T> what the stage comes to
   * @param stage the stage
   * @param action gets the value
   */
  public static <T> void onSuccess(CompletionStage<T> stage, Consumer<? super T> action) {
    var unused = stage.thenAccept(action);
  }
}
