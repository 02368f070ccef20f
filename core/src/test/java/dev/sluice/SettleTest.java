// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Costs that are known after the call: each result computed by hand. */
final class SettleTest {

  private static final String KEY = "TokensPerKey";
  private static final String TEAM = "TokensPerTeam";
  private static final String OWING = "TokensPerPlan";
  private static final String FREE = "CallsPerTester";
  private static final Catalogue CATALOGUE =
      Catalogue.of(name(1, KEY), name(2, TEAM), name(3, OWING), name(4, FREE));
  private static final long SECOND = 1_000_000_000;
  private static final long START = 1_000_000 * SECOND;

  /** A token each second in all buckets, which hold 100; one may owe another 100. */
  private static final Limits LIMITS = limits(Quota.per(100, Duration.ofSeconds(100)));

  private final HandClock clock = new HandClock(START);
  private final CurrentLimits limits = new CurrentLimits(LIMITS);
  private final BucketStore store = BucketStore.inMemory(clock);
  private final Limiter limiter = Limiter.builder(limits, store).time(clock).build();

  private static LimitName name(int number, String name) {
    return LimitName.builder(number, name).id(IdFormat.string()).build();
  }

  private static Limits limits(Quota quota) {
    return Limits.builder(CATALOGUE)
        .limit(KEY, quota)
        .limit(TEAM, quota)
        .limit(OWING, quota)
        .debt(OWING, 1)
        .unlimited(FREE)
        .build();
  }

  private void pass(long seconds) {
    clock.nanos += seconds * SECOND;
  }

  /** Lets time pass, and rings all alarms, also those that the others set. */
  private void passMillis(int millis) {
    for (int i = 0; i < millis; i += 50) {
      clock.pass(clock.nanos + SECOND / 20);
    }
  }

  private long remaining(String limit) {
    return limiter.check(limit, "a", 0).remaining();
  }

  private Transaction on(String limit, long cost) {
    return limiter.transaction(limit, "a").withCost(cost);
  }

  /** Returns the numbers of a part: charged, given back, owed, cut, remaining. */
  private static List<Long> numbers(Settlement.Part part) {
    return List.of(part.charged(), part.givenBack(), part.owed(), part.cut(), part.remaining());
  }

  private static List<Long> only(Settlement settlement) {
    assertThat(settlement.settled()).isTrue();
    assertThat(settlement.parts()).hasSize(1);
    return numbers(settlement.parts().get(0));
  }

  @Test
  void lowerCost_givesTheDifferenceBack() {
    Reservation call = limiter.reserve(KEY, "a", 60);
    pass(10);
    assertThat(only(call.settle(Map.of(KEY, 25L)))).containsExactly(25L, 35L, 0L, 0L, 85L);
    assertThat(remaining(KEY)).isEqualTo(85);
    assertThat(limiter.openReservations().size()).isZero();
    assertThat(call.toString()).startsWith("reservation, closed: allowed");
  }

  @Test
  void lowerCost_givesBackNoMoreThanHasNotRefilled() {
    Reservation call = limiter.reserve(KEY, "a", 60);
    clock.nanos += 40 * SECOND + SECOND / 2; // 19.5 tokens are left
    assertThat(only(call.settle(Map.of(KEY, 25L)))).containsExactly(41L, 19L, 0L, 0L, 100L);
  }

  @Test
  void lowerCost_afterAllHasRefilled_givesNothingBack() {
    Reservation call = limiter.reserve(KEY, "a", 60);
    pass(60);
    assertThat(limiter.spend(KEY, "a", 30).allowed()).isTrue();
    assertThat(only(call.settle(Map.of(KEY, 25L)))).containsExactly(60L, 0L, 0L, 0L, 70L);
  }

  @Test
  void higherCost_isChargedAtTheEnd() {
    Reservation call = limiter.reserve(KEY, "a", 10);
    pass(4);
    assertThat(only(call.settle(Map.of(KEY, 70L)))).containsExactly(70L, 0L, 0L, 0L, 34L);
    assertThat(remaining(KEY)).isEqualTo(34);
  }

  @Test
  void higherCost_withoutADebt_isChargedToTheEndOfTheBucket() {
    Reservation call = limiter.reserve(KEY, "a", 10);
    clock.nanos += SECOND / 2; // 90.5 are left
    assertThat(only(call.settle(Map.of(KEY, 500L)))).containsExactly(100L, 0L, 0L, 400L, 0L);
    assertThat(limiter.check(KEY, "a").retryIn()).isEqualTo(Duration.ofMillis(500));
  }

  @Test
  void higherCost_onAnEmptyBucket_isCut() {
    Reservation call = limiter.reserve(KEY, "a", 10);
    assertThat(limiter.spend(KEY, "a", 90).allowed()).isTrue();
    assertThat(only(call.settle(Map.of(KEY, 11L)))).containsExactly(10L, 0L, 0L, 1L, 0L);
  }

  @Test
  void higherCost_withADebt_isOwed_andTheNextSpendWaitsForIt() {
    Reservation call = limiter.reserve(OWING, "a", 10);
    clock.nanos += SECOND / 2;
    assertThat(only(call.settle(Map.of(OWING, 150L)))).containsExactly(150L, 0L, 50L, 0L, 0L);
    Decision next = limiter.spend(OWING, "a");
    assertThat(next.denied()).isTrue();
    assertThat(next.retryIn()).isEqualTo(Duration.ofMillis(50_500));
    clock.nanos += next.retryInNanos() - 1;
    assertThat(limiter.spend(OWING, "a").denied()).isTrue();
    clock.nanos += 1;
    assertThat(limiter.spend(OWING, "a").allowed()).isTrue();
  }

  @Test
  void higherCost_beyondTheDebt_isCut() {
    Reservation call = limiter.reserve(OWING, "a", 10);
    Settlement settled = call.settle(Map.of(OWING, Long.MAX_VALUE));
    assertThat(only(settled)).containsExactly(200L, 0L, 100L, Long.MAX_VALUE - 200, 0L);
  }

  @Test
  void equalCost_orNone_staysSpent() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 20)));
    Settlement settled = call.settle(Map.of(TEAM, 20L));
    assertThat(settled.parts()).hasSize(2);
    assertThat(numbers(settled.parts().get(0))).containsExactly(10L, 0L, 0L, 0L, 90L);
    assertThat(numbers(settled.parts().get(1))).containsExactly(20L, 0L, 0L, 0L, 80L);
    assertThat(limiter.openReservations().size()).isZero();
  }

  @Test
  void batch_settlesEachBucket() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 20), on(OWING, 100)));
    Settlement settled = call.settle(Costs.of(KEY, 60).and(TEAM, 5).and(OWING, 201));
    assertThat(settled.parts())
        .extracting(part -> part.transaction().name().name())
        .containsExactly(KEY, TEAM, OWING);
    assertThat(numbers(settled.parts().get(0))).containsExactly(60L, 0L, 0L, 0L, 40L);
    assertThat(numbers(settled.parts().get(1))).containsExactly(5L, 15L, 0L, 0L, 95L);
    assertThat(numbers(settled.parts().get(2))).containsExactly(200L, 0L, 100L, 1L, 0L);
  }

  @Test
  void zero_needsAWord() {
    Reservation call = limiter.reserve(KEY, "a", 10);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Map.of(KEY, 0L)))
        .withMessage(
            "cost of TokensPerKey: found 0, expected 1 or more; if the call cost nothing, set allowZero (ALLOWZERO over the Redis protocol)");
    assertThat(remaining(KEY)).isEqualTo(90);
    Settlement settled = call.settle(Costs.of(KEY, 0).allowZero());
    assertThat(only(settled)).containsExactly(0L, 10L, 0L, 0L, 100L);
  }

  @Test
  void unknownLimit_isRefused_andTheReservationStaysOpen() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 20)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Map.of(KEY, 50L, "TokensPerTeem", 5L)))
        .withMessage(
            "the reservation has no limit TokensPerTeem; did you mean \"TokensPerTeam\"?; it has TokensPerKey, TokensPerTeam");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Costs.of(Map.of()).and(on(OWING, 1), 5)))
        .withMessageContaining("the reservation has no bucket TokensPerPlan:a; ");
    assertThat(remaining(KEY)).isEqualTo(90);
    call.cancel();
    assertThat(remaining(KEY)).isEqualTo(100);
  }

  @Test
  void negativeCost_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.of(KEY, -1))
        .withMessage("cost of TokensPerKey: found -1, expected 0 or more");
    assertThatIllegalArgumentException().isThrownBy(() -> Costs.of(KEY, 1).and(on(TEAM, 1), -1));
  }

  @Test
  void costGivenTwice_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.of(KEY, 1).and(KEY, 2))
        .withMessage("the cost of TokensPerKey is given twice; give it once");
    Reservation call = limiter.reserve(KEY, "a", 10);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Costs.of(KEY, 1).and(on(KEY, 1), 2)))
        .withMessage("the cost of TokensPerKey is given twice; give it once");
  }

  @Test
  void limitWithSeveralBuckets_isSettledByTransaction() {
    Transaction other = limiter.transaction(KEY, "b").withCost(20);
    Reservation call = limiter.reserve(List.of(on(KEY, 10), other));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Map.of(KEY, 5L)))
        .withMessage(
            "the reservation has several buckets of TokensPerKey; give the cost of each id, or reserve each id by itself");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Costs.of(Map.of()).and(KEY, "c", 5)))
        .withMessage(
            "the reservation has no bucket TokensPerKey:c; did you mean \"TokensPerKey:a\"?; it has TokensPerKey:a, TokensPerKey:b");
    Settlement settled = call.settle(Costs.of(Map.of()).and(other, 30).and(KEY, "a", 4));
    assertThat(settled.parts()).extracting(Settlement.Part::remaining).containsExactly(96L, 70L);
  }

  @Test
  void costsByOtherSpellingsOfManyIds_takeOneCanonicalFormEach() {
    AtomicInteger forms = new AtomicInteger();
    LimitName name = LimitName.builder(1, KEY).id(lowerCase(forms)).build();
    Limits many =
        Limits.builder(Catalogue.of(name)).limit(KEY, Quota.per(9, Duration.ofHours(1))).build();
    Limiter counting = Limiter.of(many, store);
    List<Transaction> calls = new ArrayList<>();
    Costs costs = Costs.of(Map.of());
    for (int i = 0; i < 60; i++) {
      calls.add(counting.transaction(KEY, "a" + i));
      costs = costs.and(KEY, "A" + i, 2);
    }
    Reservation call = counting.reserve(calls);
    forms.set(0);
    assertThat(call.settle(costs).parts())
        .hasSize(60)
        .allSatisfy(part -> assertThat(part.remaining()).isEqualTo(7));
    assertThat(forms).hasValue(60);
  }

  /** A format whose ids are in lower case; counts the canonical forms. */
  private static IdFormat lowerCase(AtomicInteger forms) {
    return new IdFormat() {
      @Override
      public String name() {
        return "lowerCase";
      }

      @Override
      public String canonical(String text, Strictness strictness) {
        forms.incrementAndGet();
        return text.toLowerCase(Locale.ROOT);
      }
    };
  }

  @Test
  void idGivenInTwoSpellings_isRefused() {
    LimitName name = LimitName.builder(1, KEY).id(lowerCase(new AtomicInteger())).build();
    Limits one =
        Limits.builder(Catalogue.of(name)).limit(KEY, Quota.per(9, Duration.ofHours(1))).build();
    Reservation call = Limiter.of(one, store).reserve(KEY, "a");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Costs.of(Map.of()).and(KEY, "A", 1).and(KEY, "a", 1)))
        .withMessage("the cost of TokensPerKey:a is given twice; give it once");
  }

  @Test
  void settledAgain_doesNothing() {
    Reservation call = limiter.reserve(KEY, "a", 10);
    assertThat(call.settle(Map.of(KEY, 20L)).settled()).isTrue();
    Settlement again = call.settle(Map.of(KEY, 30L));
    assertThat(again.settled()).isFalse();
    assertThat(again.parts()).isEmpty();
    call.cancel();
    call.close();
    assertThat(remaining(KEY)).isEqualTo(80);
  }

  @Test
  void settleAfterCancelOrClose_doesNothing() {
    Reservation cancelled = limiter.reserve(KEY, "a", 10);
    cancelled.cancel();
    assertThat(cancelled.settle(Map.of(KEY, 20L)).settled()).isFalse();
    Reservation closed = limiter.reserve(KEY, "a", 10);
    closed.close();
    assertThat(closed.settle(Map.of(KEY, 20L)).settled()).isFalse();
    assertThat(remaining(KEY)).isEqualTo(90);
  }

  @Test
  void settleOfADenial_doesNothing() {
    assertThat(limiter.spend(KEY, "a", 95).allowed()).isTrue();
    Reservation denied = limiter.reserve(KEY, "a", 10);
    assertThat(denied.settle(Map.of(KEY, 20L)).settled()).isFalse();
    assertThat(remaining(KEY)).isEqualTo(5);
  }

  @Test
  void limitThatRefillsFasterNow_givesBackAtTheLesserInterval_andChargesAtItsOwn() {
    Reservation lower = limiter.reserve(KEY, "a", 60);
    Reservation higher = limiter.reserve(TEAM, "a", 60);
    limits.replace(limits(Quota.burst(100).refill(2, Duration.ofSeconds(1))));
    // 60 s are taken; 40 tokens are worth 20 s now, so 40 s of 50 s remain taken.
    assertThat(only(lower.settle(Map.of(KEY, 20L)))).containsExactly(20L, 40L, 0L, 0L, 20L);
    // The bucket is overdrawn by 10 s, which is 20 tokens now.
    assertThat(only(higher.settle(Map.of(TEAM, 61L)))).containsExactly(60L, 0L, 20L, 1L, 0L);
  }

  @Test
  void limitThatRefillsSlowerNow_keepsTheReservationsInterval() {
    Reservation lower = limiter.reserve(KEY, "a", 60);
    Reservation higher = limiter.reserve(TEAM, "a", 60);
    limits.replace(limits(Quota.burst(100).refill(1, Duration.ofSeconds(2))));
    assertThat(only(lower.settle(Map.of(KEY, 20L)))).containsExactly(20L, 40L, 0L, 0L, 90L);
    assertThat(only(higher.settle(Map.of(TEAM, 80L)))).containsExactly(80L, 0L, 0L, 0L, 60L);
  }

  @Test
  void limitWhoseBucketHoldsNotOneReservedToken_cutsTheRest() {
    Reservation call = limiter.reserve(KEY, "a", 1);
    pass(2);
    limits.replace(limits(Quota.per(2, Duration.ofSeconds(1)))); // τ = 1 s
    limits.replace(limits(Quota.per(1, Duration.ofMillis(900)))); // τ = 0.9 s
    assertThat(only(call.settle(Map.of(KEY, 5L)))).containsExactly(1L, 0L, 0L, 4L, 1L);
  }

  @Test
  void limitThatIsDisabledNow_hasNoPart() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 10)));
    limits.replace(
        Limits.builder(CATALOGUE)
            .limit(TEAM, Quota.per(100, Duration.ofSeconds(100)))
            .unlimited(KEY)
            .build());
    Settlement settled = call.settle(Map.of(KEY, 5L, TEAM, 5L));
    assertThat(only(settled)).containsExactly(5L, 5L, 0L, 0L, 95L);
    assertThat(limiter.openReservations().size()).isZero();
  }

  @Test
  void unlimitedTransaction_isKnown_andChargesNothing() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(FREE, 10)));
    assertThat(only(call.settle(Map.of(KEY, 5L, FREE, 5L)))).containsExactly(5L, 5L, 0L, 0L, 95L);
    Reservation free = limiter.reserve(FREE, "a", 10);
    assertThat(free.settle(Map.of(FREE, 5L))).isEqualTo(new Settlement(true, false, List.of()));
  }

  @Test
  void spendOnlyTransactionThatTookNothing_isChargedItsCost() {
    assertThat(limiter.spend(TEAM, "a", 95).allowed()).isTrue();
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 10).spendOnly()));
    assertThat(remaining(TEAM)).isEqualTo(5);
    pass(5);
    Settlement settled = call.settle(Map.of(TEAM, 7L));
    assertThat(numbers(settled.parts().get(1))).containsExactly(7L, 0L, 0L, 0L, 3L);
  }

  @Test
  void costOfZero_thatOnlyLooked_isChargedAfterwards() {
    Reservation call = limiter.reserve(KEY, "a", 0);
    assertThat(only(call.settle(Map.of(KEY, 30L)))).containsExactly(30L, 0L, 0L, 0L, 70L);
  }

  @Test
  void checkOnlyTransaction_cannotBeSettled() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 10).checkOnly()));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> call.settle(Map.of(TEAM, 10L)))
        .withMessageContaining("the reservation has no limit TokensPerTeam");
    assertThat(call.settle(Map.of(KEY, 5L)).parts()).hasSize(1);
  }

  @Test
  void settleAsync_isTheSame() {
    Reservation call = limiter.reserve(List.of(on(KEY, 10), on(TEAM, 20)));
    Settlement settled =
        call.settleAsync(Costs.of(KEY, 5).and(TEAM, 30)).toCompletableFuture().join();
    assertThat(settled.parts()).extracting(Settlement.Part::charged).containsExactly(5L, 30L);
  }

  @Test
  void settlement_waitsForAnAlreadyCancelledNeighbour_asACancellationDoes() {
    Reservation older = limiter.reserve(KEY, "a", 20);
    Reservation younger = limiter.reserve(KEY, "a", 30);
    older.cancel(); // the younger one refills 20 s earlier
    pass(25);
    assertThat(only(younger.settle(Map.of(KEY, 10L)))).containsExactly(25L, 5L, 0L, 0L, 100L);
  }

  @Test
  void manySettlementsAtOnce_oneWins_andTheOthersAreTold() throws InterruptedException {
    for (int round = 0; round < 200; round++) {
      Reservation call = limiter.reserve(KEY, "race" + round, 50);
      AtomicInteger settled = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (long cost : new long[] {10, 60, 90}) {
        threads.add(
            new Thread(
                () ->
                    settled.addAndGet(call.settle(Map.of(KEY, cost)).settled() ? (int) cost : 0)));
      }
      threads.add(new Thread(call::cancel));
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(limiter.check(KEY, "race" + round, 0).remaining()).isEqualTo(100 - settled.get());
      assertThat(settled.get()).isIn(0, 10, 60, 90);
    }
  }

  /** The known accident: five calls at once, each of which costs more than all of the limit. */
  @Test
  void fiveCallsOfUnknownCost_takeTheLimitAndTheDeclaredDebt() {
    for (String limit : List.of(KEY, OWING)) {
      List<Reservation> calls = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        calls.add(limiter.reserve(limit, "a", 20));
      }
      assertThat(limiter.reserve(limit, "a", 20).denied()).isTrue();
      long charged = 0;
      long cut = 0;
      for (Reservation call : calls) {
        Settlement.Part part = call.settle(Map.of(limit, 133L)).parts().get(0);
        charged += part.charged();
        cut += part.cut();
      }
      boolean owes = limit.equals(OWING);
      assertThat(charged).as(limit).isEqualTo(owes ? 200 : 100);
      assertThat(charged + cut).isEqualTo(5 * 133);
      assertThat(limiter.spend(limit, "a").retryIn()).isEqualTo(Duration.ofSeconds(owes ? 101 : 1));
    }
  }

  private Limiter otherProcess() {
    return Limiter.builder(limits, store).time(clock).build();
  }

  @Test
  void receipt_settlesInAnotherProcess() {
    Transaction half = limiter.transaction(FREE, "a");
    Receipt receipt =
        limiter.reserve(List.of(on(KEY, 60), half, on(TEAM, 10), on(OWING, 5))).receipt();
    pass(10);
    Settlement settled =
        otherProcess().settle(receipt, Costs.of(Map.of(KEY, 25L, FREE, 3L, TEAM, 12L)));
    assertThat(settled.parts()).hasSize(3);
    assertThat(numbers(settled.parts().get(0))).containsExactly(25L, 35L, 0L, 0L, 85L);
    assertThat(numbers(settled.parts().get(1))).containsExactly(12L, 0L, 0L, 0L, 98L);
    assertThat(numbers(settled.parts().get(2))).containsExactly(5L, 0L, 0L, 0L, 100L);
  }

  @Test
  void receipt_givesBackNoMoreThanHasNotRefilled() {
    Receipt settled = limiter.reserve(KEY, "a", 60).receipt();
    Receipt cancelled = limiter.reserve(TEAM, "a", 60).receipt();
    pass(45); // 15 tokens are left
    assertThat(limiter.spend(List.of(on(KEY, 50), on(TEAM, 50))).allowed()).isTrue();
    assertThat(only(otherProcess().settle(settled, Costs.of(KEY, 25))))
        .containsExactly(45L, 15L, 0L, 0L, 50L);
    otherProcess().cancel(cancelled);
    assertThat(remaining(TEAM)).isEqualTo(50);
  }

  @Test
  void receipt_ofTokensThatHaveRefilled_chargesAHigherCost() {
    Receipt receipt = limiter.reserve(KEY, "a", 10).receipt();
    pass(20);
    var settled =
        otherProcess().async().settle(receipt, Costs.of(KEY, 40)).toCompletableFuture().join();
    assertThat(only(settled)).containsExactly(40L, 0L, 0L, 0L, 70L);
    Reservation reset = limiter.reserve(TEAM, "a", 10);
    limiter.reset(TEAM, "a");
    settled = otherProcess().settle(reset.receipt(), Costs.of(TEAM, 4));
    assertThat(only(settled)).containsExactly(10L, 0L, 0L, 0L, 100L);
  }

  @Test
  void receipt_ofASettledReservation_isEmpty() {
    Reservation call = limiter.reserve(KEY, "a", 10);
    call.settle(Map.of(KEY, 5L));
    assertThat(call.receipt().parts()).isEmpty();
    Receipt open = limiter.reserve(KEY, "a", 10).receipt();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> otherProcess().settle(open, Costs.of(FREE, 5)))
        .withMessage("the reservation has no limit CallsPerTester; it has TokensPerKey");
  }

  /** A store that can be taken away. */
  private final class Shaky implements BucketStore {
    private int answers = Integer.MAX_VALUE;
    private boolean isSure; // that it has charged nothing
    private Effect.Op last = Effect.Op.CHECK;

    @Override
    public List<Reading> charge(List<Charge> charges) {
      last = charges.get(0).op();
      if (answers-- <= 0) {
        throw new Away(isSure);
      }
      return store.charge(charges);
    }
  }

  private static final class Away extends StoreException {
    private static final long serialVersionUID = 1;
    private final boolean isSure;

    Away(boolean isSure) {
      super("away");
      this.isSure = isSure;
    }

    @Override
    public boolean chargedNothing() {
      return isSure;
    }
  }

  private final AtomicInteger lost = new AtomicInteger();

  private final LimiterObserver counting =
      new LimiterObserver() {
        @Override
        public void settlementLost() {
          lost.incrementAndGet();
        }
      };

  private Limiter over(BucketStore store) {
    return Limiter.builder(limits, store).time(clock).observer(counting).build();
  }

  @Test
  void storeIsAway_theSettlementWaits_andIsAppliedOnce() {
    Shaky shaky = new Shaky();
    shaky.isSure = true;
    Limiter failing = over(shaky);
    for (int answered = 0; answered < 3; answered++) {
      failing.reset(KEY, "a");
      failing.reset(TEAM, "a");
      failing.reset(OWING, "a");
      Reservation call = failing.reserve(List.of(on(KEY, 10), on(TEAM, 20), on(OWING, 30)));
      shaky.answers = answered;
      Settlement first = call.settle(Map.of(KEY, 5L, TEAM, 30L, OWING, 50L));
      assertThat(first.settled()).isFalse();
      assertThat(first.waiting()).isTrue();
      assertThat(first.parts()).hasSize(answered);
      assertThat(call.settle(Map.of(KEY, 5L))).isEqualTo(new Settlement(false, false, List.of()));
      call.close();
      shaky.answers = 0;
      passMillis(400);
      shaky.answers = Integer.MAX_VALUE;
      passMillis(400);
      assertThat(remaining(KEY)).isEqualTo(95);
      assertThat(remaining(TEAM)).isEqualTo(70);
      assertThat(remaining(OWING)).isEqualTo(50);
      passMillis(100);
      assertThat(failing.openReservations().size()).isZero();
    }
    assertThat(lost).hasValue(0);
  }

  private Limiter sureOver(Shaky shaky) {
    shaky.isSure = true;
    return over(shaky);
  }

  @Test
  void giveBackThatWaits_isNoGiveBackOfLaterSpends_afterAReset() {
    Shaky shaky = new Shaky();
    Limiter failing = sureOver(shaky);
    Reservation call = failing.reserve(KEY, "a", 60);
    shaky.answers = 0;
    assertThat(call.settle(Map.of(KEY, 20L)).waiting()).isTrue();
    shaky.answers = Integer.MAX_VALUE;
    failing.reset(KEY, "a");
    assertThat(failing.spend(KEY, "a", 60).allowed()).isTrue();
    passMillis(400);
    assertThat(remaining(KEY)).isEqualTo(40);
    assertThat(failing.openReservations().buckets()).isZero();
  }

  @Test
  void giveBackThatWaits_isMovedByOtherGiveBacks() {
    Shaky shaky = new Shaky();
    Limiter failing = sureOver(shaky);
    Reservation older = failing.reserve(KEY, "a", 40);
    Reservation call = failing.reserve(KEY, "a", 5);
    shaky.answers = 0;
    assertThat(call.settle(Map.of(KEY, 1L)).waiting()).isTrue();
    shaky.answers = Integer.MAX_VALUE;
    older.cancel();
    clock.nanos += 5 * SECOND; // all has refilled; the settlement is too late
    assertThat(failing.spend(KEY, "a", 10).allowed()).isTrue();
    passMillis(400);
    assertThat(remaining(KEY)).isEqualTo(90);
  }

  @Test
  void giveBackThatWaits_movesTheEndsOfOthersOnce() {
    Shaky shaky = new Shaky();
    Limiter failing = sureOver(shaky);
    Reservation call = failing.reserve(KEY, "a", 30);
    Reservation younger = failing.reserve(KEY, "a", 60);
    shaky.answers = 0;
    assertThat(call.settle(Map.of(KEY, 20L)).waiting()).isTrue();
    passMillis(3_000);
    shaky.answers = 1;
    Reservation youngest = failing.reserve(KEY, "a", 10);
    passMillis(1_000);
    shaky.answers = Integer.MAX_VALUE;
    passMillis(500);
    assertThat(remaining(KEY)).isEqualTo(100 - 20 - 60 - 10 + 4);
    youngest.cancel();
    younger.cancel();
    assertThat(remaining(KEY)).isEqualTo(100 - 20 + 4);
  }

  @Test
  void cancellationThatFailed_movesNoEnds_andIsClosed() {
    Shaky shaky = new Shaky();
    Limiter failing = sureOver(shaky);
    Reservation call = failing.reserve(KEY, "a", 30);
    Reservation younger = failing.reserve(KEY, "a", 60);
    shaky.answers = 0;
    assertThatThrownBy(call::cancel).isInstanceOf(Away.class);
    assertThat(failing.openReservations().size()).isEqualTo(1);
    shaky.answers = Integer.MAX_VALUE;
    clock.nanos += 25 * SECOND;
    younger.cancel();
    assertThat(failing.openReservations().buckets()).isZero();
    clock.nanos += 5 * SECOND;
    assertThat(remaining(KEY)).isEqualTo(100);
  }

  /** Servers for one limit each, all on one store, of which one can be taken away. */
  private Limiter withoutTheServerOf(String limit, AtomicInteger answers) {
    String prefix = limiter.transaction(limit, "a").bucketKey();
    BucketStore servers =
        charges -> {
          boolean isHere = charges.stream().noneMatch(charge -> charge.key().equals(prefix));
          if (!isHere && answers.getAndDecrement() <= 0) {
            throw new Away(charges.size() == 1);
          }
          return store.charge(charges);
        };
    return over(servers);
  }

  @Test
  void serverThatIsAway_holdsUpNoOtherBucket() {
    for (String dead : List.of(KEY, TEAM, OWING, FREE)) {
      for (String limit : List.of(KEY, TEAM, OWING)) {
        limiter.reset(limit, "a");
      }
      AtomicInteger answers = new AtomicInteger(1);
      Limiter failing = withoutTheServerOf(dead, answers);
      Reservation call = failing.reserve(List.of(on(KEY, 10), on(TEAM, 20), on(OWING, 30)));
      Settlement settled = call.settle(Map.of(KEY, 15L, TEAM, 30L, OWING, 5L));
      boolean isWhole = dead.equals(FREE);
      assertThat(settled.waiting()).as(dead).isNotEqualTo(isWhole);
      assertThat(settled.parts())
          .extracting(part -> part.transaction().name().name())
          .doesNotContain(dead)
          .hasSize(isWhole ? 3 : 2);
      answers.set(100);
      passMillis(300);
      assertThat(remaining(KEY)).isEqualTo(85);
      assertThat(remaining(TEAM)).isEqualTo(70);
      assertThat(remaining(OWING)).isEqualTo(95);
    }
    assertThat(lost).hasValue(0);
  }

  @Test
  void bucketThatKeepsItsEstimate_andCannotBeRead_isSettled_withoutAReading() {
    AtomicInteger answers = new AtomicInteger(1);
    Limiter failing = withoutTheServerOf(TEAM, answers);
    Reservation call = failing.reserve(List.of(on(KEY, 10), on(TEAM, 20)));
    assertThat(only(call.settle(Map.of(KEY, 5L)))).containsExactly(5L, 5L, 0L, 0L, 95L);
    answers.set(1);
    call = failing.reserve(TEAM, "a", 20);
    assertThat(call.settle(Map.of(TEAM, 20L))).isEqualTo(new Settlement(true, false, List.of()));
    passMillis(11_000);
    assertThat(lost).hasValue(0);
    assertThat(failing.openReservations().size()).isZero();
  }

  @Test
  void storeStaysAway_theSettlementIsLost() {
    Shaky shaky = new Shaky();
    shaky.isSure = true;
    Limiter failing = over(shaky);
    Reservation call = failing.reserve(KEY, "a", 50);
    Receipt receipt = failing.reserve(KEY, "a", 10).receipt();
    shaky.answers = 0;
    assertThat(call.settle(Map.of(KEY, 20L)).waiting()).isTrue();
    assertThat(failing.settle(receipt, Costs.of(KEY, 20)).waiting()).isTrue();
    passMillis(9_000);
    assertThat(lost).hasValue(0);
    passMillis(1_300);
    assertThat(lost).hasValue(2);
    shaky.answers = Integer.MAX_VALUE;
    passMillis(700);
    assertThat(remaining(KEY)).isEqualTo(51); // 60 spent, 11 refilled
  }

  @Test
  void storeIsAway_andTheQueueIsFull_theSettlementIsLostAtOnce() {
    Shaky shaky = new Shaky();
    shaky.isSure = true;
    Limiter failing = over(shaky);
    Receipt receipt = failing.reserve(KEY, "a", 1).receipt();
    shaky.answers = 0;
    for (int i = 0; i < 10_000; i++) {
      assertThat(failing.settle(receipt, Costs.of(KEY, 2)).waiting()).isTrue();
    }
    assertThatThrownBy(() -> failing.settle(receipt, Costs.of(KEY, 2))).isInstanceOf(Away.class);
    assertThat(lost).hasValue(1);
    shaky.answers = 90;
    passMillis(1_000);
    assertThat(remaining(KEY)).isEqualTo(100 - 1 - 90 + 1);
    passMillis(10_000);
    assertThat(lost).hasValue(1 + 10_000 - 90);
  }

  @Test
  void lostAnswer_losesTheSettlement_andGivesNothingBack() {
    Shaky shaky = new Shaky();
    Limiter failing = over(shaky);
    Reservation call = failing.reserve(List.of(on(KEY, 10), on(TEAM, 20)));
    shaky.answers = 0;
    assertThatThrownBy(() -> call.settle(Map.of(KEY, 5L, TEAM, 30L)))
        .isInstanceOf(StoreException.class)
        .hasMessage("away");
    assertThat(shaky.last).as("the other bucket is tried too").isEqualTo(Effect.Op.REFUND);
    shaky.answers = Integer.MAX_VALUE;
    assertThat(call.settle(Map.of(KEY, 5L, TEAM, 30L)).settled()).isFalse();
    assertThat(remaining(KEY)).isEqualTo(90);
    assertThat(remaining(TEAM)).isEqualTo(80);
    assertThat(failing.openReservations().size()).isZero();

    Reservation second = failing.reserve(List.of(on(KEY, 10), on(TEAM, 20)));
    shaky.answers = 1;
    assertThatThrownBy(
            () -> second.settleAsync(Costs.of(KEY, 5).and(TEAM, 30)).toCompletableFuture().join())
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(StoreException.class);
    assertThat(remaining(KEY)).as("given back after what is charged").isEqualTo(80);
    assertThat(remaining(TEAM)).isEqualTo(50);
    assertThat(failing.openReservations().size()).isZero();
    assertThat(lost).hasValue(2);
  }

  @Test
  void localDecision_isSettledInThisProcessesShare() {
    Limiter local =
        Limiter.builder(
                limits,
                charges -> {
                  throw new StoreException("away");
                })
            .time(clock)
            .onFailure(FailureRule.local(4)) // 25 tokens, one each 4 s
            .onFailure(OWING, FailureRule.allow())
            .build();
    Reservation call = local.reserve(List.of(on(KEY, 20), on(TEAM, 10), on(OWING, 50)));
    assertThat(call.allowed()).isTrue();
    Settlement settled = call.settle(Map.of(KEY, 15L, TEAM, 40L, OWING, 80L));
    assertThat(settled.parts()).hasSize(2);
    assertThat(numbers(settled.parts().get(0))).containsExactly(15L, 5L, 0L, 0L, 10L);
    assertThat(numbers(settled.parts().get(1))).containsExactly(25L, 0L, 0L, 15L, 0L);
    assertThat(remaining(KEY)).isEqualTo(100);
    assertThat(Objects.requireNonNull(settled.parts().get(0).transaction().quota()).burst())
        .isEqualTo(100);
  }
}
