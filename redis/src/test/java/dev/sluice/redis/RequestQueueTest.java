// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.remote.Breaker;
import dev.sluice.remote.ClientClock;
import dev.sluice.remote.Endpoint;
import dev.sluice.remote.Request;
import dev.sluice.remote.RequestQueue;
import dev.sluice.remote.StoreLog;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.TimeSource;
import io.lettuce.core.RedisCommandExecutionException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The order of events in a queue, told one by one; what servers do is tried on real ones. */
final class RequestQueueTest {

  private static final Duration LONG = Duration.ofMinutes(5);
  private static final Duration SHORT = Duration.ofMillis(100);

  private final List<String> told = new CopyOnWriteArrayList<>();
  private final BucketStore.Observer observer =
      new BucketStore.Observer() {
        @Override
        public void called(String server, Result result, int batches, int charges, long elapsed) {
          told.add(server + " " + result);
        }
      };
  private final ManualTiming timing = new ManualTiming();
  private final List<UnsentCall> calls = new CopyOnWriteArrayList<>();
  private Breaker breaker = breaker("there");
  private @Nullable Error error;
  private final RequestQueue queue = queue(null);

  private Breaker breaker(String server) {
    return breaker(server, 5);
  }

  private Breaker breaker(String server, int maxFailures) {
    return new Breaker(
        server,
        maxFailures,
        1_000_000,
        CompletableFuture<String>::new,
        timing,
        observer,
        new StoreLog("redis"));
  }

  private RequestQueue queue(@Nullable ClientClock clock) {
    RequestQueue.Options options =
        new RequestQueue.Options(100, clock == null ? 2 : 1, 100, LONG.toNanos());
    return new RequestQueue(new Told(clock), options, new AtomicInteger(), timing, observer);
  }

  /** Answers when it is told to. */
  private final class Told implements Endpoint {
    private final @Nullable ClientClock clock;

    Told(@Nullable ClientClock clock) {
      this.clock = clock;
    }

    @Override
    public String name() {
      return breaker.server();
    }

    @Override
    public Breaker breaker() {
      return breaker;
    }

    @Override
    public UnsentCall call(List<byte[]> keys, List<List<Charge>> batches) {
      var unused = ChargeScript.argument(clock, batches);
      return new UnsentCall(
          call -> {
            Error now = error;
            if (now != null) {
              throw now;
            }
            calls.add(call);
          });
    }

    @Override
    public ServerFault fault(@Nullable Throwable failure) {
      return ServerFault.of(failure);
    }
  }

  @AfterEach
  void stop() {
    timing.close();
    queue.close();
  }

  private Request submit(Duration timeout) {
    return submit(queue, timeout);
  }

  private Request submit(RequestQueue queue, Duration timeout) {
    return submit(queue, Charges.spend("1:a"), timeout);
  }

  private Request submit(RequestQueue queue, List<Charge> charges, Duration timeout) {
    List<byte[]> keys = List.of("1:a".getBytes(StandardCharsets.UTF_8));
    long deadline = timing.nanoTime() + timeout.toNanos();
    Request request = new Request(charges, keys, deadline, deadline);
    queue.submit(request);
    return request;
  }

  private void fail(int call, String words) {
    calls.get(call).completeExceptionally(new RedisCommandExecutionException(words));
  }

  @Test
  void outageOfOneOfACall_leavesTheOthersTheirRetry() {
    Request first = submit(LONG);
    Request second = submit(LONG);
    Request third = submit(LONG);
    Request fourth = submit(LONG);
    fail(0, "ERR no");
    assertThat(first).isCompletedExceptionally();
    Request fifth = submit(LONG);
    fail(2, "TRYAGAIN moving"); // the third and the fourth, which go apart as calls 3 and 4
    assertThat(calls).hasSize(5);
    fail(3, "TRYAGAIN moving");
    fail(4, "CLUSTERDOWN gone");
    assertThatThrownBy(fourth::join).hasMessageContaining("CLUSTERDOWN");
    timing.pass(SHORT);
    assertThat(calls).hasSize(6);
    assertThat(calls.get(5).isAbandoned()).isFalse();
    fail(5, "ERR third");
    assertThatThrownBy(third::join).hasMessageContaining("ERR third");
    assertThat(calls).as("the place is free for the fifth only now").hasSize(7);
    assertThat(second).isNotDone();
    assertThat(fifth).isNotDone();
  }

  @Test
  void sweep_comesForWhatIsDueFirst() {
    Request later = submit(LONG);
    Request sooner = submit(SHORT);
    timing.pass(SHORT);
    assertThatThrownBy(sooner::join).hasMessageContaining("timed out");
    assertThat(later).isNotDone();
  }

  @ParameterizedTest
  @ValueSource(classes = {OutOfMemoryError.class, NoClassDefFoundError.class})
  void errorWhileSending_endsItsRequest_andTheNextOneLeaves(Class<? extends Error> kind)
      throws ReflectiveOperationException {
    error = kind.getConstructor(String.class).newInstance("as the test wants");
    for (int i = 0; i < 3; i++) { // one for each place, and one more
      assertThatThrownBy(submit(LONG)::join)
          .hasMessageContaining("as the test wants")
          .hasMessageContaining("nothing was charged");
    }
    error = null;
    assertThat(submit(LONG)).isNotDone();
    assertThat(calls).hasSize(1);
    Request last = submit(SHORT);
    timing.pass(SHORT);
    assertThatThrownBy(last::join).hasMessageContaining("timed out");
  }

  /** It would be charged, and nobody would be there any more to be told. */
  @Test
  void requestDueWithinARoundTrip_isNotSent() {
    queue.answeredWithin(Duration.ofMillis(50).toNanos());
    Request late = submit(Duration.ofMillis(40));
    assertThat(calls).isEmpty();
    assertThatThrownBy(late::join).hasMessageContaining("nothing was charged");
    assertThat(submit(LONG)).isNotDone();
    assertThat(calls).hasSize(1);
  }

  private static final long MILLI = 1_000_000;

  private RequestQueue standingQueue(long timeoutMillis) {
    RequestQueue.Options options = new RequestQueue.Options(100, 2, 100, timeoutMillis * MILLI);
    return new RequestQueue(new Told(null), options, new AtomicInteger(), timing, observer);
  }

  /** It waits for so long at most. */
  private Request submit(RequestQueue to, List<Charge> charges, long forMillis) {
    List<byte[]> keys = List.of("1:a".getBytes(StandardCharsets.UTF_8));
    long deadline = timing.nanoTime() + forMillis * MILLI;
    Request request = new Request(charges, keys, deadline, deadline);
    to.submit(request);
    return request;
  }

  /** Else no request would leave any more, and nothing would show that the server is fast again. */
  @Test
  void oneSlowAnswer_refusesNoneThatHasItsWholeTimeOut() {
    for (long timeoutMillis : List.of(1L, 5L, 50L, 100L, 500L)) {
      calls.clear();
      RequestQueue fast = standingQueue(timeoutMillis);
      fast.answeredWithin(2 * timeoutMillis * MILLI); // the timer that ends calls was late
      assertThat(submit(fast, Charges.spend("1:a"), timeoutMillis)).isNotDone();
      assertThat(calls).as("of a time-out of %s ms", timeoutMillis).hasSize(1);
    }
  }

  /** Callers that come late in their time-outs would all be refused. */
  @Test
  void requestRefusedForASlowAnswer_isTheOnlyOne() {
    RequestQueue slow = standingQueue(500);
    slow.answeredWithin(400 * MILLI);
    assertThat(submit(slow, Charges.spend("1:a"), 40)).isCompletedExceptionally();
    assertThat(calls).isEmpty();
    assertThat(submit(slow, Charges.spend("1:a"), 40)).isNotDone();
    assertThat(calls).hasSize(1);
  }

  /** A crowd that came at one time is refused at one time: each would be charged in vain. */
  @Test
  void requestsRefusedTogether_areAllRefused() {
    RequestQueue slow = standingQueue(500);
    List<Request> first =
        List.of(submit(slow, Charges.spend("1:a"), 500), submit(slow, Charges.spend("1:a"), 500));
    slow.answeredWithin(400 * MILLI);
    List<Request> crowd = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      crowd.add(submit(slow, Charges.spend("1:a"), 40));
    }
    fail(0, "ERR no");
    assertThat(first.get(0)).isCompletedExceptionally();
    assertThat(crowd).allMatch(Request::isCompletedExceptionally);
    assertThat(calls).hasSize(2);
  }

  @Test
  void calls_whoseCallersAllGaveUp_holdTheirPlacesNoLongerThanTheTimeOut() {
    List<Request> given = List.of(submit(SHORT), submit(SHORT));
    given.forEach(request -> request.cancel(false));
    Request next = submit(LONG);
    timing.pass(SHORT);
    assertThat(calls).hasSize(3);
    assertThat(next).isNotDone();
  }

  /** Behind a reset, a refund that was sent before it would give back what was spent after it. */
  @Test
  void reset_leavesWhenNoRefundIsUnderWay() {
    Request refund = submit(queue, Charges.refund("1:a"), LONG);
    Request reset = submit(queue, Charges.reset("1:a"), LONG);
    Request spend = submit(LONG);
    assertThat(calls).hasSize(1);
    fail(0, "ERR no");
    assertThat(refund).isCompletedExceptionally();
    assertThat(calls).as("the reset, and the spend behind it").hasSize(2);
    fail(1, "ERR no");
    assertThat(List.of(reset, spend)).allMatch(Request::isCompletedExceptionally);
  }

  /** Behind them, a withdrawal may find by chance the TAT that it expects. */
  @Test
  void refundAndReset_leaveWhenNoWithdrawalIsUnderWay() {
    for (List<Charge> lowering : List.of(Charges.refund("1:a"), Charges.reset("1:a"))) {
      int before = calls.size();
      Request withdrawal = submit(queue, Charges.withdrawal("1:a"), LONG);
      Request lowers = submit(queue, lowering, LONG);
      assertThat(calls).hasSize(before + 1);
      fail(before, "ERR no");
      assertThat(withdrawal).isCompletedExceptionally();
      assertThat(calls).as("what lowers the bucket").hasSize(before + 2);
      fail(before + 1, "ERR no");
      assertThat(lowers).isCompletedExceptionally();
    }
  }

  @Test
  void refund_leavesWhileAnotherBucketsWithdrawalIsUnderWay() {
    assertBothLeave(Charges.withdrawal("1:b"), Charges.refund("1:a"));
  }

  @Test
  void reset_leavesWhileAnotherBucketsRefundIsUnderWay() {
    assertBothLeave(Charges.refund("1:b"), Charges.reset("1:a"));
  }

  private void assertBothLeave(List<Charge> first, List<Charge> second) {
    List<Request> both = List.of(submit(queue, first, LONG), submit(queue, second, LONG));
    assertThat(calls).hasSize(2);
    assertThat(both).noneMatch(Request::isDone);
  }

  /** The race: of a call that was not begun, the first is refused once more, the second is not. */
  @Test
  void resetThatSharesACallWithARefund_staysBehindIt() {
    Request unrelated = submit(LONG);
    Request alike = submit(LONG); // both places are taken: the two share the next call
    Request refund = submit(queue, Charges.refund("1:a"), LONG);
    Request reset = submit(queue, Charges.reset("1:a"), LONG);
    fail(0, "ERR no");
    assertThat(calls).hasSize(3);
    fail(2, "TRYAGAIN moving");
    assertThat(calls).as("the refund alone").hasSize(4);
    fail(3, "TRYAGAIN moving");
    timing.pass(SHORT);
    assertThat(calls).hasSize(5);
    fail(4, "ERR no");
    assertThat(refund).isCompletedExceptionally();
    assertThat(calls).as("the reset").hasSize(6);
    fail(5, "ERR no");
    fail(1, "ERR no");
    assertThat(List.of(unrelated, alike, reset)).allMatch(Request::isCompletedExceptionally);
  }

  @Test
  void withdrawal_waitsForNothing() {
    assertBothLeave(Charges.reset("1:a"), Charges.withdrawal("1:a"));
  }

  @Test
  void reset_waitsForNoSpend() {
    Request spend = submit(LONG);
    Request reset = submit(queue, Charges.reset("1:a"), LONG);
    assertThat(calls).hasSize(2);
    assertThat(List.of(spend, reset)).noneMatch(Request::isDone);
  }

  /** A slot of a Cluster moves, while a call to its old master is under way. */
  @Test
  void callThatFailsAfterItsServerChanged_isToldOfTheFirst_andCountsForNone() {
    Breaker first = breaker("there", 1);
    Breaker second = breaker("elsewhere", 1);
    breaker = first;
    Request request = submit(SHORT);
    breaker = second;
    timing.pass(SHORT);
    assertThatThrownBy(request::join).hasMessageContaining("timed out on there");
    assertThat(told).containsExactly("there TIMED_OUT");
    first.requireUp();
    second.requireUp();
    Request next = submit(SHORT);
    timing.pass(SHORT);
    assertThatThrownBy(next::join).hasMessageContaining("timed out on elsewhere");
    assertThatThrownBy(second::requireUp).hasMessageContaining("elsewhere is marked down");
  }

  /** A slot that moves refuses several keys, which may take longer than callers wait. */
  @Test
  void callThatIsRefusedForItsKeys_andThenTimesOut_saysThatItsServerIsThere() {
    breaker = breaker("there", 1);
    Request refused = submit(SHORT);
    fail(0, "TRYAGAIN moving");
    timing.pass(SHORT);
    assertThatThrownBy(refused::join).hasMessageContaining("timed out on there");
    assertThat(told).containsExactly("there TIMED_OUT");
    breaker.requireUp();
    Request unanswered = submit(SHORT);
    timing.pass(SHORT);
    assertThatThrownBy(unanswered::join).hasMessageContaining("timed out on there");
    assertThatThrownBy(breaker::requireUp).hasMessageContaining("there is marked down");
  }

  @Test
  void byAClientsClock_oneCallIsUnderWay() {
    RequestQueue byOwnClock = queue(new ClientClock(TimeSource.system(), Duration.ZERO));
    Request first = submit(byOwnClock, LONG);
    Request second = submit(byOwnClock, LONG);
    assertThat(calls).hasSize(1);
    fail(0, "ERR no");
    assertThat(first).isCompletedExceptionally();
    assertThat(calls).hasSize(2);
    assertThat(second).isNotDone();
    byOwnClock.close();
  }
}
