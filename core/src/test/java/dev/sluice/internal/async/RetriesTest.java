// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.async;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class RetriesTest {

  private long nowNanos;
  private final Queue<Runnable> alarms = new ArrayDeque<>();
  private final Retries retries = new Retries(() -> nowNanos, (at, task) -> alarms.add(task));
  private final AtomicInteger lost = new AtomicInteger();
  private final List<String> calls = new ArrayList<>();

  @CanIgnoreReturnValue
  private boolean add(String name, CompletableFuture<Boolean> answer) {
    return retries.add(
        () -> {
          calls.add(name);
          return answer;
        },
        lost::incrementAndGet);
  }

  private static CompletableFuture<Boolean> done(boolean isDone) {
    return CompletableFuture.completedFuture(isDone);
  }

  private void round() {
    assertThat(alarms).as("alarms").hasSize(1);
    alarms.remove().run();
  }

  @Test
  void round_repeatsEachCallOnce_alsoBehindOneThatFails() {
    add("a", done(false));
    add("b", done(true));
    add("c", done(false));
    round();
    assertThat(calls).containsExactly("a", "b", "c");
    round();
    assertThat(calls).containsExactly("a", "b", "c", "a", "c");
    assertThat(lost).hasValue(0);
  }

  @Test
  void slowCalls_holdUpNoOthers_upTo64AtATime() {
    CompletableFuture<Boolean> slow = new CompletableFuture<>();
    for (int i = 0; i < Retries.AT_A_TIME; i++) {
      add("slow", i == 0 ? slow : new CompletableFuture<>());
    }
    add("next", done(true));
    round();
    assertThat(calls).hasSize(64).doesNotContain("next");
    slow.complete(true);
    assertThat(calls).hasSize(65).contains("next");
    assertThat(alarms).as("the round goes on").isEmpty();
    assertThat(retries.isIdle()).isFalse();
  }

  @Test
  void round_endsWithItsLastCall() {
    CompletableFuture<Boolean> slow = new CompletableFuture<>();
    add("slow", slow);
    add("away", done(false));
    round();
    assertThat(alarms).isEmpty();
    slow.complete(true);
    nowNanos += TimeUnit.SECONDS.toNanos(10);
    round();
    assertThat(calls).containsExactly("slow", "away");
    assertThat(lost).as("its time is over").hasValue(1);
    assertThat(retries.isIdle()).isTrue();
    assertThat(alarms).isEmpty();
  }

  @Test
  void callThatFails_isLost() {
    add("fails", CompletableFuture.failedFuture(new IllegalStateException()));
    round();
    assertThat(lost).hasValue(1);
    assertThat(retries.isIdle()).isTrue();
  }

  @Test
  void close_losesWhatWaits() {
    CompletableFuture<Boolean> slow = new CompletableFuture<>();
    add("slow", slow);
    round();
    add("waits", done(true));
    retries.close();
    assertThat(lost).hasValue(1);
    assertThat(add("late", done(true))).isFalse();
    slow.complete(false);
    assertThat(lost).hasValue(2);
    assertThat(calls).containsExactly("slow");
    assertThat(alarms).isEmpty();
    assertThat(retries.isIdle()).isTrue();
  }
}
