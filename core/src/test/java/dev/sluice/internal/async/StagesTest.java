// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class StagesTest {

  private final CompletableFuture<String> stage = new CompletableFuture<>();
  private final List<String> heard = new ArrayList<>();

  private void follow() {
    Stages.onEnd(stage, (value, failure) -> heard.add("end " + value + " " + failure));
    Stages.onSuccess(stage, value -> heard.add("success " + value));
  }

  @Test
  void end_tellsTheValue() {
    follow();
    assertThat(heard).isEmpty();
    stage.complete("done");
    assertThat(heard).containsExactlyInAnyOrder("end done null", "success done");
  }

  @Test
  void endThatHasCome_isToldAtOnce() {
    stage.complete("done");
    follow();
    assertThat(heard).containsExactly("end done null", "success done");
  }

  @Test
  void failure_isToldAsItIs_andIsNoSuccess() {
    follow();
    stage.completeExceptionally(new IllegalStateException("broken"));
    assertThat(heard).containsExactly("end null java.lang.IllegalStateException: broken");
  }

  @Test
  void cancelledStage_hasEnded() {
    follow();
    stage.cancel(false);
    assertThat(heard).singleElement().asString().startsWith("end null ").contains("Cancellation");
  }

  @Test
  void throwingAction_reachesNobody() {
    Stages.onEnd(
        stage,
        (value, failure) -> {
          throw new IllegalStateException("an action's own");
        });
    Stages.onSuccess(
        stage,
        value -> {
          throw new IllegalStateException("an action's own");
        });
    follow();
    assertThatCode(() -> stage.complete("done")).doesNotThrowAnyException();
    assertThat(heard).containsExactlyInAnyOrder("end done null", "success done");
  }
}
