// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.redis.StoreUri.Host;
import dev.sluice.remote.Breaker;
import dev.sluice.remote.CallbackExecutor;
import dev.sluice.remote.Endpoint;
import dev.sluice.remote.Request;
import dev.sluice.remote.RequestQueue;
import dev.sluice.remote.StoreContext;
import dev.sluice.remote.StoreLog;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Observer.State;
import io.lettuce.core.RedisCommandExecutionException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An Error of a timer, of the log or of an observer, once: every later call ends all the same. */
final class OneErrorTest {

  private static final Duration SHORT = Duration.ofMillis(100);
  private static final Duration LONG = Duration.ofMinutes(5);

  private final FaultyTiming timing = new FaultyTiming(RedisThread.timing());
  private final List<UnsentCall> calls = new CopyOnWriteArrayList<>();
  private final List<State> states = new CopyOnWriteArrayList<>();
  private volatile boolean observerThrows;
  private final BucketStore.Observer observer =
      new BucketStore.Observer() {
        @Override
        public void called(String server, Result result, int batches, int charges, long elapsed) {
          throwIfTold();
        }

        @Override
        public void refused(String server, Refusal why) {
          throwIfTold();
        }

        @Override
        public void changed(String server, State state, String reason) {
          states.add(state);
        }

        private void throwIfTold() {
          if (observerThrows) {
            observerThrows = false;
            throw new NoClassDefFoundError("as the test wants");
          }
        }
      };
  private final Breaker patient =
      new Breaker(
          "there",
          500,
          1_000_000,
          CompletableFuture<String>::new,
          timing,
          observer,
          new StoreLog("redis"));
  private final RequestQueue queue =
      new RequestQueue(
          new Silent(),
          new RequestQueue.Options(1000, 2, 100, LONG.toNanos()),
          new AtomicInteger(),
          timing,
          observer);

  /** Answers nothing. */
  private final class Silent implements Endpoint {
    @Override
    public String name() {
      return "there";
    }

    @Override
    public Breaker breaker() {
      return patient;
    }

    @Override
    public UnsentCall call(List<byte[]> keys, List<List<Charge>> batches) {
      return new UnsentCall(calls::add);
    }

    @Override
    public ServerFault fault(@Nullable Throwable failure) {
      return ServerFault.of(failure);
    }
  }

  @AfterEach
  void stop() {
    queue.close();
    timing.close();
  }

  private Request submit(Duration timeout) {
    long deadline = timing.nanoTime() + timeout.toNanos();
    List<byte[]> keys = List.of("1:a".getBytes(StandardCharsets.UTF_8));
    Request request = new Request(Charges.spend("1:a"), keys, deadline, deadline);
    queue.submit(request);
    return request;
  }

  /** Not a join, which an Error that loses a request would hold up for ever. */
  private static void ended(Request request) throws Exception {
    var unused = request.get(60, TimeUnit.SECONDS);
  }

  private static void awaitAll(List<Request> requests) {
    await().untilAsserted(() -> assertThat(requests).allMatch(Request::isDone));
  }

  // The queue

  @Test
  void timerOfARequest_thatCannotBeSet_failsThatOne_andTheNextOnesEnd() {
    timing.failNext(1);
    assertThatThrownBy(() -> ended(submit(LONG)))
        .hasMessageContaining("as the test wants")
        .hasMessageContaining("nothing was charged");
    awaitAll(List.of(submit(SHORT), submit(SHORT), submit(SHORT)));
    assertThat(queue.isIdle()).isTrue();
  }

  @Test
  void timerOfTheNextSweep_thatCannotBeSet_leavesNobodyWaiting() throws InterruptedException {
    Request first = submit(SHORT);
    TimeUnit.MILLISECONDS.sleep(SHORT.toMillis() / 2);
    Request second = submit(SHORT); // due at the next sweep
    timing.failNext(1);
    awaitAll(List.of(first, second));
    awaitAll(List.of(submit(SHORT)));
  }

  /** The race: one thread relies on the timer that another is about to set, and cannot. */
  @Test
  void timersThatFailNowAndThen_leaveNobodyWaiting() throws InterruptedException {
    List<Request> requests = new CopyOnWriteArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int j = 0; j < 100; j++) {
                  requests.add(submit(Duration.ofMillis(2 + j % 7)));
                  if (j % 5 == 0) {
                    timing.failNext(1);
                  }
                  LockSupport.parkNanos(100_000);
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    timing.failNext(0);
    assertThat(requests).hasSize(400);
    awaitAll(requests);
  }

  @Test
  void errorWhileACallIsToldOf_leavesNoneOfItsCallersWaiting() {
    Request request = submit(LONG);
    observerThrows = true;
    calls.get(0).completeExceptionally(new RedisCommandExecutionException("ERR no"));
    assertThatThrownBy(() -> ended(request)).hasMessageContaining("ERR no");
    assertThat(submit(LONG)).isNotDone();
    assertThat(calls).hasSize(2);
  }

  /** What had left the queue, and was in no call yet, was found by no sweep. */
  @Test
  void errorBetweenTheQueueAndTheCall_failsTheRequest() {
    queue.answeredWithin(Duration.ofMillis(50).toNanos());
    observerThrows = true;
    Request late = submit(Duration.ofMillis(40)); // refused, which is told
    assertThatThrownBy(() -> ended(late)).hasMessageContaining("nothing was charged");
    assertThat(submit(LONG)).isNotDone();
    assertThat(calls).hasSize(1);
  }

  @Test
  void errorOfASweep_leavesTheQueueToTheNext() {
    Request first = submit(SHORT);
    Request second = submit(SHORT);
    List<Request> waiting = List.of(submit(SHORT), submit(SHORT), submit(SHORT));
    observerThrows = true;
    awaitAll(List.of(first, second));
    awaitAll(waiting);
  }

  // The breaker

  private Breaker breaker(AtomicInteger probes) {
    return new Breaker(
        "gone",
        1,
        1_000_000,
        () -> {
          probes.incrementAndGet();
          return CompletableFuture.completedFuture("PONG");
        },
        timing,
        observer,
        new StoreLog("redis"));
  }

  @Test
  void logThatThrows_leavesTheServerProbed() {
    Handler broken =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            throw new NoClassDefFoundError("as the test wants");
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger log = Logger.getLogger("dev.sluice.redis");
    AtomicInteger probes = new AtomicInteger();
    Breaker breaker = breaker(probes);
    log.addHandler(broken);
    try {
      breaker.failed("no answer", timing.nanoTime());
      await().until(() -> states.size() == 2);
    } finally {
      log.removeHandler(broken);
    }
    assertThat(states).containsExactly(State.DOWN, State.UP);
    assertThat(probes).hasValue(1);
    breaker.requireUp();
  }

  @Test
  void firstProbe_thatCannotBeSet_letsCallersThrough_andTheNextFailureGivesUpAgain() {
    AtomicInteger probes = new AtomicInteger();
    Breaker breaker = breaker(probes);
    timing.failNext(1);
    breaker.failed("no answer", timing.nanoTime());
    assertThat(states).containsExactly(State.DOWN, State.UP);
    breaker.requireUp();
    assertThat(probes).hasValue(0);
    breaker.failed("no answer", timing.nanoTime());
    await().until(() -> states.size() == 4);
    assertThat(probes).hasValue(1);
  }

  @Test
  void laterProbe_thatCannotBeSet_letsCallersThrough() {
    AtomicInteger probes = new AtomicInteger();
    Breaker breaker =
        new Breaker(
            "gone",
            1,
            1_000_000,
            () -> {
              probes.incrementAndGet();
              timing.failNext(1);
              return CompletableFuture.failedFuture(new IllegalStateException("CLUSTERDOWN"));
            },
            timing,
            observer,
            new StoreLog("redis"));
    breaker.failed("no answer", timing.nanoTime());
    await().until(() -> states.size() == 2);
    assertThat(states).containsExactly(State.DOWN, State.UP);
    breaker.requireUp();
    assertThat(probes).hasValue(1);
  }

  // The code of callers

  @Test
  void watchThatCannotBeSet_holdsUpNoAnswerBehindABlockedCaller() throws InterruptedException {
    CallbackExecutor callbacks = new CallbackExecutor(timing);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    CompletableFuture<String> second = new CompletableFuture<>();
    CompletableFuture<String> third = new CompletableFuture<>();
    try {
      callbacks.run(
          () -> {
            begun.countDown();
            awaitUninterruptibly(over);
          });
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      timing.failNext(1);
      callbacks.run(() -> second.complete("told"));
      await().until(second::isDone);
      callbacks.run(() -> third.complete("told"));
      await().until(third::isDone);
    } finally {
      over.countDown();
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // The Sentinels

  /** Tells a master, and connects to nobody. */
  private static final class Sentinels extends UnusedConnector {
    private final AtomicInteger questions = new AtomicInteger();
    private volatile Host master = new Host("old", 1);
    private volatile @Nullable Error error;

    @Override
    public CompletionStage<? extends Connection> connect(Host server) {
      return new CompletableFuture<>();
    }

    @Override
    public CompletionStage<Host> askForMaster() {
      questions.incrementAndGet();
      Error now = error;
      if (now != null) {
        throw now;
      }
      return CompletableFuture.completedFuture(master);
    }
  }

  private Master master(Sentinels sentinels) {
    RedisOptions options = RedisOptions.of(StoreUri.parse("redis-sentinel://s:1/0#m"));
    return new Master(sentinels, new StoreContext(options.settings(), timing, observer));
  }

  @Test
  void leavingTheOldMaster_thatThrows_doesNotEndTheQuestions() {
    Sentinels sentinels = new Sentinels();
    Master master = master(sentinels);
    AtomicInteger left = new AtomicInteger();
    master.onChange(
        () -> {
          if (left.incrementAndGet() == 1) {
            throw new NoClassDefFoundError("as the test wants");
          }
        });
    var unused = master.connect();
    sentinels.master = new Host("new", 1);
    await().until(() -> left.get() >= 2);
    master.close();
  }

  @Test
  void questionThatThrows_doesNotEndTheQuestions() {
    Sentinels sentinels = new Sentinels();
    Master master = master(sentinels);
    var unused = master.connect();
    sentinels.error = new NoClassDefFoundError("as the test wants");
    await().until(() -> sentinels.questions.get() >= 3);
    sentinels.error = null;
    int before = sentinels.questions.get();
    await().until(() -> sentinels.questions.get() > before);
    master.close();
  }

  @Test
  void questionsThatCannotBegin_beginWithTheNextConnection() {
    Sentinels sentinels = new Sentinels();
    Master master = master(sentinels);
    timing.failNext(1);
    assertThatThrownBy(master::connect).isInstanceOf(NoClassDefFoundError.class);
    var unused = master.connect();
    await().until(() -> sentinels.questions.get() >= 3);
    master.close();
  }
}
