// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Events wait for a thread that this test gives them, or refuses. */
final class EventQueueTest {

  private final Queue<Runnable> threads = new ArrayDeque<>();
  private final List<Integer> told = new ArrayList<>();
  private RuntimeException refusal;
  private final EventQueue events =
      new EventQueue(
          task -> {
            if (refusal != null) {
              throw refusal;
            }
            threads.add(task);
          },
          new StoreLog("remote"));

  private void add(int number) {
    events.add(() -> told.add(number));
  }

  @Test
  void events_areToldInTheirOrder_byOneThread() {
    add(1);
    add(2);
    assertThat(events.isEmpty()).isFalse();
    assertThat(threads).hasSize(1);
    threads.remove().run();
    assertThat(told).containsExactly(1, 2);
    assertThat(events.isEmpty()).isTrue();
    add(3);
    threads.remove().run();
    assertThat(told).containsExactly(1, 2, 3);
  }

  @Test
  void eventThatIsBeingTold_isNotOvertaken() {
    events.add(() -> assertThat(events.isEmpty()).isFalse());
    events.add(
        () -> {
          add(2); // by another thread, while this one is told
          told.add(1);
        });
    threads.remove().run();
    assertThat(told).containsExactly(1, 2);
    assertThat(threads).isEmpty();
  }

  @Test
  void eventThatThrows_endsNothing() {
    events.add(
        () -> {
          throw new NoClassDefFoundError("as the test wants");
        });
    add(1);
    threads.remove().run();
    assertThat(told).containsExactly(1);
    assertThat(events.isEmpty()).isTrue();
  }

  @Test
  void eventsBeyondTheBound_areDropped_andLaterOnesToldAgain() {
    IntStream.range(0, EventQueue.MOST + 10).forEach(this::add);
    threads.remove().run();
    assertThat(told).hasSize(EventQueue.MOST).endsWith(EventQueue.MOST - 1);
    add(-1);
    threads.remove().run();
    assertThat(told).endsWith(-1);
  }

  @Test
  void noThreadToBeHad_theNextEventTriesAgain_andAClosedStoreTellsAtOnce() {
    refusal = new IllegalStateException("no thread, as the test wants");
    add(1);
    assertThat(told).isEmpty();
    refusal = null;
    add(2);
    threads.remove().run();
    assertThat(told).containsExactly(1, 2);
    refusal = new RejectedExecutionException("closed");
    add(3);
    assertThat(told).containsExactly(1, 2, 3);
  }
}
