// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Follows stages. Stateless. */
final class Stages {

  private Stages() {}

  /**
   * Runs an action when a stage has ended. No caller waits for the action, so it must tell its own
   * failures.
   *
   * @param action gets the value, or the failure; the other one is null
   */
  static <T> void onEnd(
      CompletionStage<T> stage, BiConsumer<? super T, ? super @Nullable Throwable> action) {
    var unused =
        stage.handle( // whenComplete would make an exception of its own for a stage that nobody has
            (value, failure) -> {
              action.accept(value, failure);
              return null;
            });
  }
}
