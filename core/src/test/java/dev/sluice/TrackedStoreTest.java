// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.sluice.LimiterObserver.Act;
import dev.sluice.OpenReservations.Stretch;
import dev.sluice.WaitQueues.Place;
import dev.sluice.WaitQueues.Turn;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is asked of a store, what is told of it, and what is left behind where it fails. */
final class TrackedStoreTest {

  private static final String NAME = "CallsPerTenant";
  private static final long HOUR = 3_600_000_000_000L;
  private static final long MINUTE = HOUR / 60;
  private final StoreException timedOut = new StoreException("timed out");
  private static final Debts.Depths DEPTH = charge -> 1_000;
  private static final Charge SPEND = charge("1:a", Op.SPEND);
  private static final Charge REFUND = charge("1:a", Op.REFUND);

  private long nowNanos = 1_000 * HOUR;
  private final ScriptedStore store = new ScriptedStore();
  private final Told told = new Told();
  private final TrackedStore tracked = new TrackedStore(store, told, () -> nowNanos);

  private static Charge charge(String key, Op op) {
    return new Charge(key, op, 100, 1_000, Effect.NO_END);
  }

  /** Answers from memory, or fails, on the caller's thread. */
  private final class ScriptedStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory(() -> nowNanos);
    private final List<String> calls = new ArrayList<>();
    private @Nullable StoreException failure;
    private boolean throwsAsync;
    private long skewNanos;
    private @Nullable Tentative tentative;
    private Runnable beforeForgiving = () -> {};

    private List<Reading> answer(List<Charge> charges, String how) {
      calls.add(charges.get(0).op() + how);
      if (failure != null) {
        throw failure;
      }
      if (charges.get(0).op() == Op.FORGIVE) {
        beforeForgiving.run();
      }
      return memory.charge(charges);
    }

    private CompletionStage<List<Reading>> answerAsync(List<Charge> charges, String how) {
      if (throwsAsync && failure != null) {
        throw failure;
      }
      try {
        return CompletableFuture.completedFuture(answer(charges, how));
      } catch (StoreException e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    @Override
    public List<Reading> charge(List<Charge> charges) {
      return answer(charges, "");
    }

    @Override
    public List<Reading> charge(List<Charge> charges, Tentative tentative) {
      this.tentative = tentative;
      return answer(charges, ", parts in vain");
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
      return answerAsync(charges, "");
    }

    @Override
    public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges, Tentative tentative) {
      return answerAsync(charges, ", parts in vain");
    }

    @Override
    public long clockSkewNanos() {
      return skewNanos;
    }
  }

  /** What an observer is told of the store. */
  private static final class Told implements LimiterObserver {
    private final List<String> calls = new ArrayList<>();
    private int settledEarly;

    @Override
    public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
      assertThat(elapsedNanos).isBetween(0L, MINUTE);
      calls.add(act + " " + charges + (failure == null ? "" : " " + failure.getMessage()));
    }

    @Override
    public void settledEarly(int most) {
      settledEarly = most;
    }

    List<String> andForget() {
      List<String> all = List.copyOf(calls);
      calls.clear();
      return all;
    }
  }

  private static String message(Throwable failure) {
    return String.valueOf(Stages.cause(failure).getMessage());
  }

  private static <T> T joined(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  // What is asked

  /** Only of a batch may a store take parts in vain, and give them back. */
  @Test
  void charge_ofABatch_goesToTheStoreWithThoseWhoFollowItsParts() {
    List<Charge> both = List.of(SPEND, charge("1:b", Op.SPEND));
    assertThat(tracked.readings(Act.SPEND, both, Debts.NEVER_FORGIVES)).hasSize(2);
    assertThat(joined(chargedAsync(both, Debts.NEVER_FORGIVES))).hasSize(2);
    assertThat(tracked.readings(Act.SPEND, List.of(SPEND), DEPTH)).hasSize(1);
    assertThat(joined(chargedAsync(List.of(SPEND), DEPTH))).hasSize(1);
    assertThat(store.calls)
        .containsExactly("SPEND, parts in vain", "SPEND, parts in vain", "SPEND", "SPEND");
  }

  private CompletionStage<List<Reading>> chargedAsync(List<Charge> charges, Debts.Depths depths) {
    return tracked.charge(
        store,
        Act.SPEND,
        charges,
        depths,
        (readings, failure) -> {
          if (failure != null) {
            throw new CompletionException(Stages.cause(failure));
          }
          return readings;
        });
  }

  // What is told

  @Test
  void observer_isToldOfEachCall_andOfItsFailure() {
    List<Charge> spend = List.of(SPEND);
    List<Charge> refund = List.of(REFUND);
    assertThat(tracked.readings(Act.SPEND, spend, DEPTH)).hasSize(1);
    assertThat(tracked.readings(Act.REFUND, refund, Debts.NEVER_FORGIVES)).hasSize(1);
    assertThat(told.andForget()).containsExactly("SPEND 1", "REFUND 1");
    assertThat(joined(chargedAsync(spend, DEPTH))).hasSize(1);
    joined(tracked.charge(store, Act.REFUND, refund));
    assertThat(told.andForget()).containsExactly("SPEND 1", "REFUND 1");
    store.failure = timedOut;
    assertThatThrownBy(() -> tracked.readings(Act.SPEND, spend, DEPTH)).isSameAs(timedOut);
    assertThatThrownBy(() -> tracked.readings(Act.REFUND, refund, Debts.NEVER_FORGIVES))
        .isSameAs(timedOut);
    assertThat(told.andForget()).containsExactly("SPEND 1 timed out", "REFUND 1 timed out");
    assertThatThrownBy(() -> joined(chargedAsync(spend, DEPTH))).hasCause(timedOut);
    assertThatThrownBy(() -> joined(tracked.charge(store, Act.REFUND, refund))).hasCause(timedOut);
    assertThat(told.andForget()).containsExactly("SPEND 1 timed out", "REFUND 1 timed out");
  }

  @Test
  void observer_isToldOfAWaitThatIsGivenUp_asARefund() {
    Limiter limiter = limiter(Duration.ofHours(1), 300, told);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    for (StoreException failure : new @Nullable StoreException[] {null, timedOut}) {
      store.failure = null;
      var waits = limiter.async().acquire(NAME, "a", 1, Duration.ofHours(1)).toCompletableFuture();
      assertThat(told.andForget()).isNotEmpty();
      store.failure = failure;
      assertThat(waits.cancel(false)).isTrue();
      assertThat(told.andForget())
          .containsExactly("REFUND 1" + (failure == null ? "" : " timed out"));
    }
  }

  @Test
  void observer_isToldOfReservations_thatAreSettledAsThereAreTooMany() {
    Stretch first = tracked.reservations().open(List.of(SPEND)).get(0);
    tracked.reservations().place(first, new Reading(nowNanos, 0), nowNanos + HOUR);
    assertThat(
            tracked
                .reservations()
                .open(Collections.nCopies(OpenReservations.MOST_OF_A_BUCKET, SPEND)))
        .hasSize(OpenReservations.MOST_OF_A_BUCKET);
    assertThat(told.settledEarly).isEqualTo(4_096);
  }

  /** A store that answers at once needs no wrapper, which would cost each decision an object. */
  @Test
  void blocking_ofTheMemoryStore_isTheStoreItself() {
    assertThat(TrackedStore.blocking(store.memory)).isSameAs(store.memory);
    assertThat(TrackedStore.blocking(store)).isNotSameAs(store);
  }

  @Test
  void chargeAsync_ofNothing_asksNobody() {
    CompletableFuture<Void> done =
        tracked.charge(store, Act.RESET, List.of()).toCompletableFuture();
    assertThat(done).isCompleted();
    assertThat(tracked.giveBack(store, List.of()).toCompletableFuture()).isCompleted();
    assertThat(store.calls).isEmpty();
    assertThat(told.andForget()).isEmpty();
  }

  // What is left behind

  /** Another process gave back, so a stretch from here had taken the TAT to where it was found. */
  @Test
  void giveUp_whatTheStoreTookBack_movesTheStretchThatEndedThere() {
    LimitName name = LimitName.builder(1, NAME).longestWait(Duration.ofDays(1)).build();
    long endNanos = nowNanos + HOUR;
    Charge wide = new Charge("1:a", Op.SPEND, HOUR, 2 * HOUR, Effect.NO_END);
    assertThat(store.memory.charge(List.of(wide))).hasSize(1);
    Stretch stretch = tracked.reservations().open(List.of(SPEND)).get(0);
    tracked.reservations().place(stretch, new Reading(nowNanos, endNanos - 100), endNanos);
    Place place = new Place("1:a", name, 100, 1_000, endNanos, nowNanos);
    WaitQueues queues = tracked.waitQueues();
    Turn turn = queues.enter(List.of(place), queues.asks(), () -> {});
    assertThat(queues.giveUp(turn)).isTrue();
    assertThat(store.calls).containsExactly("WITHDRAW");
    assertThat(stretch.untilNanos()).isEqualTo(endNanos - 100);
  }

  // What was taken in vain

  /** A part of a batch, before its answer. */
  private Tentative.Part begun() {
    List<Charge> both = List.of(SPEND, charge("1:b", Op.SPEND));
    assertThat(tracked.readings(Act.SPEND, both, Debts.NEVER_FORGIVES)).hasSize(2);
    Tentative.Part part = Objects.requireNonNull(store.tentative).begin(SPEND);
    assertThat(tracked.reservations().inFlight()).isEqualTo(1);
    return part;
  }

  @Test
  void partThatIsKept_leavesNothingOpen() {
    begun().kept();
    assertThat(tracked.reservations().buckets()).isZero();
    assertThat(tracked.reservations().size()).isZero();
  }

  @Test
  void partInVain_givesBackWhatItTook_andIsUnderWayUntilItsAnswer() {
    Tentative.Part part = begun();
    Reading full = new Reading(nowNanos, 0);
    assertThat(part.giveBack(full))
        .isEqualTo(new Charge("1:a", Op.REFUND, 100, 1_000, nowNanos + 100));
    assertThat(tracked.reservations().isLowering("1:a")).isTrue();
    part.gaveBack(new Reading(nowNanos, nowNanos + 100));
    assertThat(tracked.reservations().isLowering("1:a")).isFalse();
    assertThat(tracked.reservations().buckets()).isZero();
  }

  /** The refund may still arrive: for the 100 ns that it is worth, and 50 ms more. */
  @Test
  void partInVain_whoseAnswerIsLost_mayLowerItsBucketForAWhile() {
    Tentative.Part part = begun();
    assertThat(part.giveBack(new Reading(nowNanos, 0))).isNotNull();
    part.gaveBack(null);
    assertThat(tracked.reservations().inFlight()).isZero();
    assertThat(tracked.reservations().isLowering("1:a")).isTrue();
    nowNanos += TimeUnit.MILLISECONDS.toNanos(50) + 99;
    assertThat(tracked.reservations().isLowering("1:a")).isTrue();
    nowNanos++;
    assertThat(tracked.reservations().open(List.of(charge("1:c", Op.SPEND)))).hasSize(1);
    assertThat(tracked.reservations().isLowering("1:a")).isFalse();
  }

  private Turn waits() {
    LimitName name = LimitName.builder(1, NAME).longestWait(Duration.ofDays(1)).build();
    Place place = new Place("1:a", name, 100, 1_000, nowNanos + HOUR, nowNanos);
    WaitQueues queues = tracked.waitQueues();
    return queues.enter(List.of(place), queues.asks(), () -> {});
  }

  private List<String> asksToGiveUp(Turn turn) {
    store.calls.clear();
    assertThat(tracked.waitQueues().giveUp(turn)).isTrue();
    return List.copyOf(store.calls);
  }

  /** The TAT may come back to where a spend left it, so its tokens could be given back twice. */
  @Test
  void partInVain_whoAskedBeforeItWasOver_withdrawsNothing() {
    for (boolean isLost : List.of(false, true)) {
      Tentative.Part part = begun();
      Turn first = waits();
      Turn second = waits();
      assertThat(part.giveBack(new Reading(nowNanos, 0))).isNotNull();
      assertThat(asksToGiveUp(first)).isEmpty();
      part.gaveBack(isLost ? null : new Reading(nowNanos, nowNanos + 100));
      nowNanos += isLost ? TimeUnit.MILLISECONDS.toNanos(50) + 100 : 0;
      Turn third = waits();
      nowNanos++;
      assertThat(asksToGiveUp(second)).isEmpty();
      assertThat(asksToGiveUp(third)).isEmpty();
      assertThat(asksToGiveUp(waits())).containsExactly("WITHDRAW");
    }
  }

  /** What a reset or a refund of everything gave back at the same time is not given back again. */
  @Test
  void partInVain_besideAResetOrARefund_givesNothingBack() {
    for (Op op : List.of(Op.RESET, Op.REFUND)) {
      Tentative.Part part = begun();
      var underWay = tracked.reservations().send(List.of(charge("1:a", op)));
      assertThat(part.giveBack(new Reading(nowNanos, 0))).as(op.name()).isNull();
      tracked.reservations().ended(underWay, false);
      assertThat(tracked.reservations().buckets()).isZero();
      assertThat(tracked.reservations().size()).isZero();
    }
  }

  @Test
  void hold_ofASpendThatFails_leavesNothingOpen() {
    store.failure = timedOut;
    for (boolean throwsAsync : new boolean[] {false, true}) {
      store.throwsAsync = throwsAsync;
      CompletionStage<String> told =
          tracked.hold(store, List.of(SPEND), DEPTH, holding -> "held", TrackedStoreTest::message);
      assertThat(joined(told)).isEqualTo("timed out");
      assertThat(tracked.reservations().size()).isZero();
      assertThat(tracked.reservations().buckets()).isZero();
    }
  }

  @Test
  void hold_ofASpendThatIsDenied_leavesNothingOpen() {
    Limiter limiter = limiter(Duration.ZERO, 300);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    assertThat(limiter.reserve(NAME, "a").denied()).isTrue();
    assertThat(joined(limiter.async().reserve(NAME, "a", 1)).denied()).isTrue();
    assertThat(limiter.openReservations().size()).isZero();
    assertThat(limiter.openReservations().buckets()).isZero();
  }

  /** Where the caller's own code throws, what was taken stays spent: nobody could cancel it. */
  @Test
  void hold_whoseCallerThrows_leavesNothingOpen() {
    IllegalStateException fault = new IllegalStateException("a caller's");
    assertThatThrownBy(
            () ->
                TrackedStore.result(
                    tracked.hold(
                        store,
                        List.of(SPEND),
                        DEPTH,
                        holding -> {
                          throw fault;
                        },
                        TrackedStoreTest::message)))
        .isSameAs(fault);
    assertThat(tracked.reservations().buckets()).isZero();
  }

  @Test
  void refundOrReset_whoseAnswerCame_isInFlightNoMore() {
    for (Op op : List.of(Op.REFUND, Op.RESET)) {
      Act act = op == Op.REFUND ? Act.REFUND : Act.RESET;
      assertThat(tracked.readings(act, List.of(charge("1:a", op)), Debts.NEVER_FORGIVES))
          .hasSize(1);
      assertThat(tracked.reservations().buckets()).isZero();
      joined(tracked.charge(store, act, List.of(charge("1:a", op))));
      assertThat(tracked.reservations().buckets()).isZero();
    }
  }

  @Test
  void refund_whoseAnswerIsLost_mayStillLowerItsBucket_butIsNotInFlight() {
    store.failure = timedOut;
    assertThatThrownBy(() -> tracked.readings(Act.REFUND, List.of(REFUND), Debts.NEVER_FORGIVES))
        .isSameAs(timedOut);
    assertThatThrownBy(
            () -> joined(tracked.charge(store, Act.REFUND, List.of(charge("1:b", Op.REFUND)))))
        .hasCause(timedOut);
    store.throwsAsync = true;
    assertThatThrownBy(
            () -> joined(tracked.charge(store, Act.REFUND, List.of(charge("1:c", Op.REFUND)))))
        .hasCause(timedOut);
    assertThat(tracked.reservations().inFlight()).isZero();
    for (String key : List.of("1:a", "1:b", "1:c")) {
      assertThat(tracked.reservations().isLowering(key)).as(key).isTrue();
    }
    nowNanos += MINUTE;
    assertThat(tracked.reservations().open(List.of(SPEND))).hasSize(1); // looks for what is over
    assertThat(tracked.reservations().isLowering("1:a")).isFalse();
  }

  @Test
  void refundOrReset_thatCertainlyChargedNothing_lowersNothingAnyMore() {
    store.failure = new Refused(true);
    for (Op op : List.of(Op.REFUND, Op.RESET)) {
      Act act = op == Op.REFUND ? Act.REFUND : Act.RESET;
      List<Charge> blocking = List.of(charge("1:a", op));
      List<Charge> async = List.of(charge("1:b", op));
      assertThatThrownBy(() -> tracked.readings(act, blocking, Debts.NEVER_FORGIVES))
          .isSameAs(store.failure);
      assertThatThrownBy(() -> joined(tracked.charge(store, act, async))).hasCause(store.failure);
      assertThat(tracked.reservations().inFlight()).isZero();
      assertThat(tracked.reservations().buckets()).isZero();
      assertThat(tracked.reservations().isLowering("1:a")).isFalse();
      assertThat(tracked.reservations().isLowering("1:b")).isFalse();
    }
  }

  /** Only a refund that may still be decided on keeps a caller from giving its place up. */
  @Test
  void wait_thatBeginsAfterARefundWasAnswered_isGivenBackToTheStore() {
    Limiter limiter = limiter(Duration.ofHours(1), 300);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    assertThat(limiter.refund(NAME, "a", 1).allowed()).isTrue();
    nowNanos += TimeUnit.SECONDS.toNanos(1);
    store.calls.clear();
    var waits = limiter.async().acquire(NAME, "a", 2, Duration.ofHours(1)).toCompletableFuture();
    assertThat(waits.cancel(false)).isTrue();
    assertThat(store.calls).containsExactly("SPEND", "WITHDRAW");
  }

  @Test
  void refund_whoseAnswerIsLost_tellsThatAsItCame() {
    store.failure = timedOut;
    AtomicReference<Throwable> came = new AtomicReference<>();
    CompletionStage<Boolean> done =
        tracked.charge(
            store,
            Act.REFUND,
            List.of(REFUND),
            Debts.NEVER_FORGIVES,
            (readings, failure) -> {
              came.set(failure);
              return true;
            });
    assertThat(joined(done)).isTrue();
    assertThat(came.get()).isSameAs(timedOut);
  }

  /** Thousands fail together where a server dies: none of them gets an exception of its own. */
  @Test
  void failure_goesOnAsItCame_unlessItsCallerMadeAnother() {
    store.failure = timedOut;
    AtomicReference<Throwable> came = new AtomicReference<>();
    CompletionStage<Boolean> same =
        tracked.charge(
            store,
            Act.SPEND,
            List.of(SPEND),
            DEPTH,
            (readings, failure) -> {
              came.set(failure);
              throw (StoreException) Stages.cause(Objects.requireNonNull(failure));
            });
    assertThat(catchThrowable(() -> joined(same))).isSameAs(came.get()).hasCause(timedOut);
    StoreException other = new StoreException("another");
    CompletionStage<Boolean> another =
        tracked.charge(
            store,
            Act.SPEND,
            List.of(SPEND),
            DEPTH,
            (readings, failure) -> {
              throw other;
            });
    assertThat(catchThrowable(() -> joined(another))).hasCause(other);
  }

  // Debts

  private static Limits limits(Duration longestWait, long count) {
    LimitName name =
        LimitName.builder(1, NAME).id(IdFormat.string()).longestWait(longestWait).build();
    return Limits.builder(Catalogue.of(name))
        .limit(NAME, Quota.burst(300).refill(count, Duration.ofHours(3)))
        .build();
  }

  private Limiter limiter(Duration longestWait, long count, LimiterObserver observer) {
    return Limiter.builder(new CurrentLimits(limits(longestWait, count)), store)
        .observer(observer)
        .time(() -> nowNanos)
        .build();
  }

  private Limiter limiter(Duration longestWait, long count) {
    return limiter(longestWait, count, Engine.NOBODY);
  }

  /** Where callers may wait, a debt is lowered to the depth to which they may, and not spent on. */
  @Test
  void debtBeyondTheWait_isLoweredToIt_andTheSpendAskedAgain() {
    Limiter slow = limiter(Duration.ofMinutes(30), 300);
    Limiter fast = limiter(Duration.ofMinutes(30), 600);
    assertThat(slow.spend(NAME, "a", 300).allowed()).isTrue();
    assertThat(slow.spend(NAME, "b", 300).allowed()).isTrue();
    store.calls.clear();
    Decision blocking = fast.spend(NAME, "a");
    Decision async = joined(fast.async().spend(NAME, "b"));
    assertThat(store.calls)
        .containsExactly("SPEND", "FORGIVE", "SPEND", "SPEND", "FORGIVE", "SPEND");
    for (Decision denial : List.of(blocking, async)) {
      assertThat(denial.denied()).isTrue();
      assertThat(denial.retryIn()).isEqualTo(Duration.ofMinutes(30).plusSeconds(18));
    }
    assertThat(fast.openReservations().inFlight()).isZero();
  }

  /** The race: another process resets the bucket before the debt is forgiven. */
  @Test
  void debtThatWasResetMeanwhile_costsItsSpendOnce() {
    for (Duration longestWait : List.of(Duration.ZERO, Duration.ofMinutes(30))) {
      Limiter slow = limiter(longestWait, 300);
      Limiter fast = limiter(longestWait, 600);
      for (String id : List.of("a", "b")) {
        assertThat(slow.spend(NAME, id, 300).allowed()).isTrue();
        store.beforeForgiving = () -> slow.reset(NAME, id);
        Decision spent =
            id.equals("a") ? fast.spend(NAME, id) : joined(fast.async().spend(NAME, id));
        store.beforeForgiving = () -> {};
        assertThat(spent.allowed()).isTrue();
        assertThat(fast.check(NAME, id, 0).remaining()).isEqualTo(299);
        fast.reset(NAME, id);
      }
    }
  }

  /** What was certainly not forgiven is forgiven by the next spend; otherwise nobody knows. */
  @Test
  void forgivingThatChargedNothing_isTriedAgainByTheNextSpend() {
    for (boolean certain : List.of(true, false)) {
      Limiter slow = limiter(Duration.ZERO, 300);
      Limiter fast = limiter(Duration.ZERO, 600);
      for (String id : List.of("a" + certain, "b" + certain)) {
        assertThat(slow.spend(NAME, id, 300).allowed()).isTrue();
        store.beforeForgiving =
            () -> {
              throw new Refused(certain);
            };
        Duration owed = Duration.ofMinutes(90).plusSeconds(18);
        assertThat(spent(fast, id).retryIn()).isEqualTo(owed);
        store.beforeForgiving = () -> {};
        assertThat(spent(fast, id).retryIn()).isEqualTo(certain ? Duration.ofSeconds(18) : owed);
      }
    }
  }

  private static Decision spent(Limiter limiter, String id) {
    return id.startsWith("a") ? limiter.spend(NAME, id) : joined(limiter.async().spend(NAME, id));
  }

  private static final class Refused extends StoreException {
    private static final long serialVersionUID = 1;
    private final boolean certain;

    Refused(boolean certain) {
      super("refused");
      this.certain = certain;
    }

    @Override
    public boolean chargedNothing() {
      return certain;
    }
  }

  @Test
  void denial_withoutADebt_asksTheStoreOnce() {
    Limiter limiter = limiter(Duration.ZERO, 300);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    store.calls.clear();
    assertThat(limiter.spend(NAME, "a").denied()).isTrue();
    assertThat(joined(limiter.async().spend(NAME, "a")).denied()).isTrue();
    assertThat(store.calls).containsExactly("SPEND", "SPEND");
  }

  /** A TAT that a clock ahead of ours may have left is no debt. */
  @Test
  void debtWithinTheSkewOfTheClocks_isNotForgiven() {
    Limiter slow = limiter(Duration.ZERO, 300);
    Limiter fast = limiter(Duration.ZERO, 600);
    assertThat(slow.spend(NAME, "a", 300).allowed()).isTrue(); // 1.5 h of debt for the other
    store.skewNanos = Duration.ofMinutes(90).toNanos();
    assertThat(fast.spend(NAME, "a").retryIn()).isEqualTo(Duration.ofMinutes(90).plusSeconds(18));
    store.skewNanos = TimeUnit.MINUTES.toNanos(90) - 1;
    assertThat(fast.spend(NAME, "a").retryIn()).isEqualTo(Duration.ofSeconds(18));
  }
}
