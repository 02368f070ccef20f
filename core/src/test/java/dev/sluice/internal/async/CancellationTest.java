// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** A caller that no longer waits spares the store its work; a failure takes nothing from others. */
final class CancellationTest {

  private final CompletableFuture<String> first = new CompletableFuture<>();

  @Test
  void reaching_cancelledLast_cancelsTheFirst() {
    CompletableFuture<Integer> last =
        Stages.reaching(first, first.thenApply(String::length)).toCompletableFuture();
    assertThat(last.cancel(false)).isTrue();
    assertThat(first).isCancelled();
  }

  @Test
  void reaching_timedOutLast_cancelsTheFirst() {
    CompletableFuture<Integer> last =
        Stages.reaching(first, first.thenApply(String::length)).toCompletableFuture();
    assertThat(last.completeExceptionally(new TimeoutException())).isTrue();
    assertThat(first).isCancelled();
  }

  @Test
  void reaching_lastThatCameToItsEnd_leavesTheFirst() {
    CompletableFuture<Integer> last =
        Stages.reaching(first, new CompletableFuture<Integer>()).toCompletableFuture();
    assertThat(last.complete(3)).isTrue();
    assertThat(first).isNotDone();
  }

  /** A stage that fails between the two wraps its failure: others may wait for the first. */
  @Test
  void reaching_failureOfAStageBetween_leavesTheFirst() {
    CompletableFuture<Integer> last =
        Stages.reaching(first, new CompletableFuture<Integer>()).toCompletableFuture();
    assertThat(last.completeExceptionally(new CompletionException(new IllegalStateException())))
        .isTrue();
    assertThat(first).isNotDone();
  }

  @Test
  void reaching_returnsTheLast() {
    CompletableFuture<Integer> last = new CompletableFuture<>();
    assertThat(Stages.reaching(first, last)).isSameAs(last);
    assertThat(first.complete("abc")).isTrue();
    assertThat(Stages.reaching(first, last)).isSameAs(last);
  }

  @Test
  void reachingBoth_cancelledBeforeTheFirstHasEnded_cancelsThat() {
    CompletableFuture<CompletionStage<String>> stages = new CompletableFuture<>();
    CompletableFuture<String> last = Stages.flat(stages).toCompletableFuture();
    assertThat(last.cancel(false)).isTrue();
    assertThat(stages).isCancelled();
  }

  @Test
  void reachingBoth_cancelledDuringTheSecond_cancelsThat() {
    CompletableFuture<CompletionStage<String>> stages = new CompletableFuture<>();
    CompletableFuture<String> last = Stages.flat(stages).toCompletableFuture();
    assertThat(stages.complete(first)).isTrue();
    assertThat(last).isNotDone();
    assertThat(last.cancel(false)).isTrue();
    assertThat(first).isCancelled();
  }

  @Test
  void reachingBoth_comesToWhatTheSecondComesTo() {
    CompletableFuture<CompletionStage<String>> stages = new CompletableFuture<>();
    CompletableFuture<String> last = Stages.flat(stages).toCompletableFuture();
    assertThat(stages.complete(first)).isTrue();
    assertThat(first.complete("abc")).isTrue();
    assertThat(last).isCompletedWithValue("abc");
  }
}
