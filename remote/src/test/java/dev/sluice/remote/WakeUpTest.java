// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import static dev.sluice.remote.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.store.BucketStore.Reading;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Callers that wake each other: none is forgotten, also where others leave in between. */
@Tag("slow")
final class WakeUpTest {

  private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final List<Reading> ANSWER = List.of(new Reading(1, 2));

  private final Timing timing = new SystemTiming("remote");
  private final AtomicInteger ended = new AtomicInteger();

  @AfterEach
  void close() {
    timing.close();
  }

  private static Request request() {
    List<byte[]> keys = List.of("1:a".getBytes(StandardCharsets.UTF_8));
    return new Request(Charges.spend("1:a"), keys, Long.MAX_VALUE, Long.MAX_VALUE);
  }

  private static List<Request> requests(int count) {
    return Stream.generate(WakeUpTest::request).limit(count).toList();
  }

  /** A caller that waits, asleep by the time this returns. */
  private Thread asleep(Request request, CompletableFuture<Object> outcome) {
    Thread caller =
        new Thread(
            () -> {
              try {
                outcome.complete(timing.await(request, LONG_NANOS));
              } catch (Exception e) {
                outcome.complete(e);
              }
            });
    caller.start();
    await().until(() -> caller.getState() == Thread.State.TIMED_WAITING);
    return caller;
  }

  private List<CompletableFuture<Object>> allAsleep(List<Request> requests) {
    List<CompletableFuture<Object>> outcomes = new ArrayList<>();
    for (Request request : requests) {
      outcomes.add(new CompletableFuture<>());
      var unused = asleep(request, outcomes.get(outcomes.size() - 1));
    }
    return outcomes;
  }

  private WakeUp wakeUp(List<Request> requests) {
    return new WakeUp(requests, ended::incrementAndGet);
  }

  @Test
  void callersOfOneCall_areAllWoken_andTheNextCallFollowsOnce() {
    List<Request> requests = requests(20);
    List<CompletableFuture<Object>> outcomes = allAsleep(requests);
    requests.forEach(request -> request.answer(ANSWER));
    wakeUp(requests).begin();
    outcomes.forEach(outcome -> assertThat(outcome.join()).isEqualTo(ANSWER));
    await().until(() -> ended.get() == 1);
  }

  @Test
  void nobodyAsleep_theNextCallFollowsAtOnce() {
    List<Request> requests = requests(5);
    requests.forEach(request -> request.answer(ANSWER));
    wakeUp(requests).begin();
    assertThat(ended).hasValue(1);
  }

  @Test
  void callerThatIsNotAnswered_sleepsOn() {
    List<Request> requests = requests(3);
    List<CompletableFuture<Object>> outcomes = allAsleep(requests);
    requests.get(0).answer(ANSWER);
    requests.get(2).answer(ANSWER);
    wakeUp(requests).begin();
    assertThat(outcomes.get(0).join()).isEqualTo(ANSWER);
    assertThat(outcomes.get(2).join()).isEqualTo(ANSWER);
    await().until(() -> ended.get() == 1);
    assertThat(outcomes.get(1)).isNotDone();
    requests.get(1).complete(ANSWER); // wakes its caller itself
    assertThat(outcomes.get(1).join()).isEqualTo(ANSWER);
  }

  static List<String> kindsOfThreads() {
    return Runtime.version().feature() < 21 ? List.of("platform") : List.of("platform", "virtual");
  }

  /** A virtual one that is woken may never run: its carrier is held by one that sleeps. */
  @ParameterizedTest
  @MethodSource("kindsOfThreads")
  void callersOfEitherKind_areWoken_virtualOnesByNoneOfThemselves(String kind) throws Exception {
    List<Request> requests = requests(6);
    for (Request request : requests) {
      Thread caller = start(kind, () -> awaits(request));
      await().until(() -> caller.getState() == Thread.State.TIMED_WAITING);
    }
    requests.forEach(request -> request.answer(ANSWER));
    wakeUp(requests).begin();
    if (kind.equals("virtual")) {
      assertThat(ended).as("nobody was left to be woken by another").hasValue(1);
    }
    await().until(() -> ended.get() == 1);
  }

  private static Thread start(String kind, Runnable work) throws ReflectiveOperationException {
    if (kind.equals("virtual")) {
      return (Thread)
          Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    }
    Thread thread = new Thread(work);
    thread.start();
    return thread;
  }

  private void awaits(Request request) {
    try {
      var unused = timing.await(request, LONG_NANOS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void failureAndCancellation_wakeTheCaller() {
    List<Request> requests = requests(2);
    List<CompletableFuture<Object>> outcomes = allAsleep(requests);
    requests.get(0).completeExceptionally(new IllegalStateException("no"));
    requests.get(1).cancel(false);
    outcomes.forEach(outcome -> assertThat(outcome.join()).isInstanceOf(Exception.class));
  }

  @Test
  void interruptedCaller_leavesAtOnce_andTheRestIsWoken() {
    List<Request> requests = requests(9);
    List<CompletableFuture<Object>> outcomes = allAsleep(requests.subList(1, 9));
    CompletableFuture<Object> first = new CompletableFuture<>();
    asleep(requests.get(0), first).interrupt();
    assertThat(first.join()).isInstanceOf(InterruptedException.class);
    requests.forEach(request -> request.answer(ANSWER));
    wakeUp(requests).begin();
    outcomes.forEach(outcome -> assertThat(outcome.join()).isEqualTo(ANSWER));
  }

  @Test
  void secondCallerOfARequest_isRefused() {
    Request request = request();
    var unused = allAsleep(List.of(request));
    assertThatThrownBy(() -> timing.await(request, LONG_NANOS))
        .isInstanceOf(IllegalStateException.class);
    request.complete(ANSWER);
  }

  /** The race: callers whose time is over leave while others take them for sleepers to be woken. */
  @Test
  void callersThatLeaveAtAnyMoment_makeNobodyMissItsAnswer() throws InterruptedException {
    int callers = 8;
    int rounds = 1_500;
    BlockingQueue<Request> waiting = new LinkedBlockingQueue<>();
    Queue<Exception> missed = new ConcurrentLinkedQueue<>();
    for (int i = 0; i < callers; i++) {
      SplittableRandom random = new SplittableRandom(i);
      new Thread(
              () -> {
                for (int round = 0; round < rounds; round++) {
                  boolean leaves = random.nextInt(3) == 0;
                  Request request = request();
                  waiting.add(request);
                  try {
                    var unused =
                        timing.await(request, leaves ? random.nextInt(100_000) : LONG_NANOS / 3);
                  } catch (TimeoutException e) {
                    if (!leaves) {
                      missed.add(e);
                    }
                  } catch (Exception e) {
                    missed.add(e);
                  }
                }
              })
          .start();
    }
    int calls = 0;
    for (int answered = 0; answered < callers * rounds; calls++) {
      List<Request> shared = new ArrayList<>();
      shared.add(waiting.take());
      waiting.drainTo(shared);
      shared.forEach(request -> request.answer(ANSWER));
      wakeUp(shared).begin();
      answered += shared.size();
    }
    int all = calls;
    await().until(() -> ended.get() == all);
    assertThat(missed).isEmpty();
  }
}
