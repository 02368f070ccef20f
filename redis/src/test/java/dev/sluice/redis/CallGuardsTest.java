// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.internal.async.Stages;
import dev.sluice.redis.StoreUri.Host;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store whose one server takes each call and says nothing, until a test makes it answer. */
final class CallGuardsTest {

  private static final Duration LONG = Duration.ofMinutes(5);

  /** Three times as long as a later call waits before it asks. */
  private static final Duration PATIENT = Duration.ofMillis(1500);

  private final ManualTiming time = new ManualTiming();
  private final FaultyTiming timing = new FaultyTiming(time);
  private final List<Taken> taken = new CopyOnWriteArrayList<>();
  private final RedisStore store = open();

  private RedisStore open() {
    return open(Duration.ofMillis(300));
  }

  private RedisStore open(Duration timeout) {
    return RedisStore.builder("redis://there:1?connectTimeout=100ms")
        .timeout(timeout)
        .denials(Duration.ZERO)
        .open(timing, new There(), () -> {});
  }

  @AfterEach
  void stop() {
    store.close();
    timing.close();
  }

  /** A command that is sent, or about to be. */
  private static final class Taken implements Exchange {
    private final CompletableFuture<List<Object>> answer = new CompletableFuture<>();
    private volatile boolean sent;

    @Override
    public void send() {
      sent = true;
    }

    @Override
    public CompletionStage<List<Object>> answer() {
      return answer;
    }

    @Override
    public boolean wasSent() {
      return true;
    }

    @Override
    public void cancel() {
      answer.cancel(false);
    }
  }

  private final class There extends UnusedConnector implements Connection {

    @Override
    public CompletionStage<? extends Connection> connect(Host server) {
      return CompletableFuture.completedFuture(this);
    }

    @Override
    public Exchange exchange(boolean whole, byte[][] keys, byte[] argument) {
      Taken one = new Taken();
      taken.add(one);
      return one;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public CompletionStage<String> ping() {
      return new CompletableFuture<>();
    }

    @Override
    public CompletionStage<Void> closeAsync() {
      return CompletableFuture.completedFuture(null);
    }
  }

  private String failureOf(CompletionStage<List<Reading>> call) {
    CompletableFuture<List<Reading>> ended = call.toCompletableFuture();
    time.pass(LONG);
    assertThat(ended).isCompletedExceptionally();
    assertThatThrownBy(ended::join).hasCauseInstanceOf(StoreException.class);
    return String.valueOf(
        ended.handle((none, failure) -> Stages.cause(failure)).join().getMessage());
  }

  /** One call whose time-out is nearly over: a timer of its own ends it. */
  private BucketStore laterCall(RedisStore store) {
    BucketStore call = store.forOneCall();
    time.pass(PATIENT.dividedBy(3));
    return call;
  }

  // Reads

  @Test
  void checkThatTimesOut_hasChargedNothing() {
    List<Charge> check = Charges.check("1:a");
    List<Charge> spend = Charges.spend("1:a");
    assertThatThrownBy(() -> store.charge(check))
        .hasMessageStartingWith("timed out on ")
        .hasMessageEndingWith("; nothing was charged")
        .hasMessageNotContaining("unknown");
    assertThatThrownBy(() -> store.charge(spend)).hasMessageEndingWith("is unknown");
    assertThat(failureOf(store.chargeAsync(check)))
        .endsWith("; nothing was charged")
        .doesNotContain("unknown");
    assertThat(failureOf(store.chargeAsync(spend))).endsWith("is unknown");
  }

  /** Whatever way the failure comes to the caller. */
  @Test
  void failure_tellsProgramsWhetherNothingWasCharged() {
    assertThatThrownBy(() -> store.charge(Charges.check("1:a"))).matches(this::hasChargedNothing);
    assertThatThrownBy(() -> store.charge(Charges.spend("1:a")))
        .matches(failure -> !hasChargedNothing(failure));
    for (int i = 0; i < 5; i++) {
      assertThatThrownBy(() -> store.charge(Charges.spend("1:a")))
          .isInstanceOf(StoreException.class);
    }
    assertThatThrownBy(() -> store.charge(Charges.spend("1:a")))
        .hasMessageContaining("is marked down and was not called")
        .hasMessageEndingWith("; nothing was charged")
        .matches(this::hasChargedNothing);
  }

  private boolean hasChargedNothing(Throwable failure) {
    return failure instanceof StoreException its && its.chargedNothing();
  }

  @Test
  void checkOfALaterCallThatTimesOut_hasChargedNothing() {
    try (RedisStore patient = open(PATIENT)) {
      assertThat(failureOf(laterCall(patient).chargeAsync(Charges.check("1:a"))))
          .endsWith("; nothing was charged");
      assertThat(failureOf(laterCall(patient).chargeAsync(Charges.spend("1:a"))))
          .endsWith("is unknown");
    }
  }

  @Test
  void checkWhoseCallerIsInterrupted_hasChargedNothing() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> store.charge(Charges.check("1:a")))
        .hasMessageContaining("interrupted")
        .hasMessageEndingWith("; nothing was charged");
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void checkOfAStoreThatIsClosed_hasChargedNothing() {
    CompletionStage<List<Reading>> check = store.chargeAsync(Charges.check("1:a"));
    CompletionStage<List<Reading>> spend = store.chargeAsync(Charges.spend("1:b"));
    store.close();
    assertThat(failureOf(check)).endsWith("; nothing was charged").doesNotContain("unknown");
    assertThat(failureOf(spend)).endsWith("is unknown");
  }

  // Denials from memory, after a spend of which nobody told whether it was made

  private static final long TOKEN = 3_600_000_000_000L;
  private static final long NOW_SECONDS = 1_700_000_000L;

  private RedisStore remembering(Duration timeout) {
    return RedisStore.builder("redis://there:1?connectTimeout=100ms")
        .timeout(timeout)
        .denials(Duration.ofHours(1))
        .open(timing, new There(), () -> {});
  }

  /** Of a bucket with room for one token. */
  private static List<Charge> spend(String key, long tokens) {
    return List.of(
        new Charge(key, Op.SPEND, tokens * TOKEN, Spending.BURST * TOKEN, Effect.NO_END));
  }

  private static CompletableFuture<List<Reading>> ask(RedisStore store, List<Charge> charges) {
    return store.chargeAsync(charges).toCompletableFuture();
  }

  /** Denies two tokens; one would still fit. */
  private void denyTwo(RedisStore store, String key) {
    CompletableFuture<List<Reading>> asked = ask(store, spend(key, 2));
    String tat = (NOW_SECONDS + (Spending.BURST - 1) * 3600) + "000000000";
    taken
        .get(taken.size() - 1)
        .answer
        .complete(List.of(NOW_SECONDS, 0L, tat.getBytes(StandardCharsets.US_ASCII)));
    assertThat(asked).isCompleted();
  }

  private boolean isAskedFor(RedisStore store, String key) {
    int before = taken.size();
    var unused = ask(store, spend(key, 2));
    return taken.size() > before;
  }

  @Test
  void spendThatIsCancelledUnderWay_makesItsDenialsForgotten() {
    try (RedisStore store = remembering(LONG)) {
      denyTwo(store, "1:a");
      assertThat(isAskedFor(store, "1:a")).isFalse();
      assertThat(ask(store, spend("1:a", 1)).cancel(false)).isTrue();
      assertThat(isAskedFor(store, "1:a")).isTrue();
    }
  }

  @Test
  void spendWhoseCallerIsInterrupted_makesItsDenialsForgotten() {
    try (RedisStore store = remembering(LONG)) {
      denyTwo(store, "1:a");
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> store.charge(spend("1:a", 1))).hasMessageContaining("interrupted");
      assertThat(Thread.interrupted()).isTrue();
      assertThat(isAskedFor(store, "1:a")).isTrue();
    }
  }

  @Test
  void spendThatIsCancelledInTheQueue_leavesDenialsAlone() {
    try (RedisStore store = remembering(LONG)) {
      denyTwo(store, "1:a");
      var first = ask(store, spend("1:b", 1));
      var second = ask(store, spend("1:b", 1));
      int before = taken.size();
      CompletableFuture<List<Reading>> waiting = ask(store, spend("1:a", 1));
      assertThat(taken).hasSize(before);
      waiting.cancel(false);
      var known = ask(store, spend("1:a", 2));
      assertThat(known).isCompleted();
      assertThat(List.of(first, second)).noneMatch(CompletableFuture::isDone);
    }
  }

  /** The race: a denial is asked for again before the cancelled spend arrives at the server. */
  @Test
  void spendThatWasCancelled_andIsNotAnsweredByTheTimeOut_makesDenialsForgotten() {
    try (RedisStore store = remembering(Duration.ofSeconds(1))) {
      ask(store, spend("1:a", 1)).cancel(false);
      denyTwo(store, "1:a");
      assertThat(isAskedFor(store, "1:a")).isFalse();
      time.pass(Duration.ofSeconds(1));
      assertThat(isAskedFor(store, "1:a")).isTrue();
    }
  }

  // Callers that go away while a connection is made

  /** A server to which a connection is made when the test says so. */
  private static final class Later extends UnusedConnector {
    private final CompletableFuture<Connection> made = new CompletableFuture<>();

    @Override
    public CompletionStage<? extends Connection> connect(Host server) {
      return made;
    }
  }

  private long sent() {
    return taken.stream().filter(one -> one.sent).count();
  }

  private RedisStore on(Later server) {
    return RedisStore.builder("redis://there:1?connectTimeout=100ms")
        .timeout(LONG)
        .open(timing, server, () -> {});
  }

  @Test
  void callOfWhichAllCallersHaveGone_isNotSent() {
    long before = sent();
    Later server = new Later();
    try (RedisStore later = on(server)) {
      CompletableFuture<List<Reading>> first = ask(later, spend("1:a", 1));
      assertThat(first.cancel(false)).isTrue();
      CompletableFuture<List<Reading>> second = ask(later, spend("1:b", 1));
      server.made.complete(new There());
      assertThat(sent() - before).isEqualTo(1 + 1); // and the script of the start
      assertThat(second).isNotDone();
    }
  }

  @Test
  void callThatOneOfItsCallersStillWaitsFor_isSent() {
    long before = sent();
    Later server = new Later();
    try (RedisStore later = on(server)) {
      List<CompletableFuture<List<Reading>>> asked =
          Stream.of("1:a", "1:b", "1:c", "1:d").map(key -> ask(later, spend(key, 1))).toList();
      asked.get(0).cancel(false); // its place is free: those that waited leave together
      asked.get(1).cancel(false);
      asked.get(2).cancel(false);
      server.made.complete(new There());
      assertThat(sent() - before).isEqualTo(1 + 1); // and the script of the start
      assertThat(asked.get(3)).isNotDone();
    }
  }

  // Errors

  @Test
  void timerOfALaterCall_thatCannotBeSet_endsIt() {
    try (RedisStore patient = open(PATIENT)) {
      BucketStore call = laterCall(patient);
      CompletionStage<List<Reading>> before = patient.chargeAsync(Charges.spend("1:b"));
      timing.failNext(1); // the queue's sweep is armed already
      CompletionStage<List<Reading>> stage = call.chargeAsync(Charges.spend("1:a"));
      assertThat(stage.toCompletableFuture()).isCompletedExceptionally();
      assertThat(failureOf(stage))
          .contains("as the test wants")
          .endsWith("whether anything was charged is unknown");
      assertThat(failureOf(before)).startsWith("timed out");
    }
  }

  @Test
  void handoverOfAnAnswer_thatThrows_losesItNot() {
    CompletionStage<List<Reading>> first = store.chargeAsync(Charges.check("1:a"));
    timing.refuseThread();
    Taken call = taken.get(taken.size() - 1);
    call.answer.completeExceptionally(new IllegalStateException("ERR no"));
    assertThat(failureOf(first)).contains("ERR no").endsWith("; nothing was charged");
    assertThat(timing.hasRefusedThread()).isTrue();
  }
}
