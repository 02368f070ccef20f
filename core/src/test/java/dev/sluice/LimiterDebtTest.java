// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Two limits on one bucket, and clocks that step back: what is forgiven, and how often. */
final class LimiterDebtTest {

  private static final String NAME = "CallsPerTenant";
  private static final long HOUR = 3_600_000_000_000L;
  private static final Catalogue CATALOGUE =
      Catalogue.of(LimitName.builder(1, NAME).id(IdFormat.string()).build());

  private final AtomicLong nowNanos = new AtomicLong(1_000 * HOUR);
  private final BucketStore store = BucketStore.inMemory(nowNanos::get);

  private Limiter process(long count) {
    return Limiter.of(limits(count), store);
  }

  private static Limits limits(long count) {
    return Limits.builder(CATALOGUE)
        .limit(NAME, Quota.burst(300).refill(count, Duration.ofHours(3)))
        .build();
  }

  private static int granted(Limiter limiter, int attempts) {
    int granted = 0;
    for (int i = 0; i < attempts; i++) {
      granted += limiter.spend(NAME, "a").allowed() ? 1 : 0;
    }
    return granted;
  }

  /**
   * The hole: 300 per 3 h in one process and 600 per 3 h in another, both with a burst of 300, gave
   * out 1,650 tokens in an instant, and more with each turn.
   */
  @Test
  void twoLimitsInTurns_giveOutWhatTheLargerAllows_andOneForgivenDebtMore() {
    Limiter slow = process(300); // tolerance 3 h
    Limiter fast = process(600); // tolerance 1.5 h
    int granted = 0;
    for (int turn = 0; turn < 50; turn++) {
      granted += granted(fast, 301) + granted(slow, 301);
    }
    // 3 h of debt at 18 s a token are 600; one debt of 1.5 h is forgiven, at 36 s a token.
    assertThat(granted).isEqualTo(300 + 150 + 150);
  }

  @Test
  void spendUpTo_inDebt_isForgivenItsDebtAndDenied_andTakesWhatRefillsThen() {
    Limiter slow = process(300); // a token each 36 s
    Limiter fast = process(600); // a token each 18 s
    assertThat(slow.spendUpTo(NAME, "a", 300).taken()).isEqualTo(300);
    Decision denied = fast.spendUpTo(NAME, "a", 300);
    assertThat(denied.taken()).isZero();
    assertThat(denied.retryInNanos()).isEqualTo(HOUR / 200);
    nowNanos.addAndGet(HOUR / 20);
    assertThat(fast.spendUpTo(NAME, "a", 300).taken()).isEqualTo(10);
  }

  @Test
  void twoLimitsInTurns_forHours_giveOutNoMoreForEachTurn() {
    Limiter slow = process(300);
    Limiter fast = process(600);
    int granted = 0;
    for (int turn = 0; turn < 60; turn++) {
      granted += granted(fast, 50) + granted(slow, 50);
      nowNanos.addAndGet(HOUR / 10);
    }
    // 6 h at the faster rate, the larger depth, and a debt forgiven in each 1.5 h.
    assertThat(granted).isLessThanOrEqualTo(6 * 200 + 600 + 4 * 150);
  }

  @Test
  void eachOfMany_isForgivenItsDebt_asASingleSpendIs() {
    Limiter slow = process(300);
    assertThat(granted(slow, 300))
        .isEqualTo(300); // a debt of 3 h, for a limit whose tolerance is 1.5 h
    Limit fast = process(600).limit(NAME);
    assertThat(fast.trySpendEach(List.of("a", "b", "a"))).containsExactly(false, true, false);
    nowNanos.addAndGet(HOUR / 200); // a token of 18 s
    assertThat(fast.trySpendEach(List.of("b", "a", "a"))).containsExactly(true, true, false);
  }

  @Test
  void debt_isForgivenOnceWithinTheTimeOfTheTolerance_thenToldAsItIs() {
    Limiter slow = process(300);
    Limiter fast = process(600);
    assertThat(granted(slow, 300)).isEqualTo(300);
    Decision forgiven = fast.spend(NAME, "a");
    assertThat(forgiven.denied()).isTrue();
    assertThat(forgiven.retryIn()).isEqualTo(Duration.ofSeconds(18));
    assertThat(granted(slow, 150)).isEqualTo(150);
    Decision debt = fast.spend(NAME, "a");
    assertThat(debt.retryIn()).isEqualTo(Duration.ofMinutes(90).plusSeconds(18));
    assertThat(debt.remaining()).isZero();
    nowNanos.addAndGet(debt.retryInNanos() - 1);
    assertThat(fast.check(NAME, "a").denied()).isTrue();
    nowNanos.addAndGet(1);
    assertThat(fast.spend(NAME, "a").allowed()).isTrue();
  }

  @Test
  void deniedBatchAndCheck_leaveTheDebtAlone_andTellIt() {
    Limiter slow = process(300);
    Limiter fast = process(600);
    assertThat(granted(slow, 300)).isEqualTo(300);
    Decision check = fast.check(NAME, "a");
    Decision batch = fast.spend(List.of(fast.transaction(NAME, "a"), fast.transaction(NAME, "b")));
    assertThat(check.retryIn()).isEqualTo(Duration.ofMinutes(90).plusSeconds(18));
    assertThat(batch.retryIn()).isEqualTo(check.retryIn());
    assertThat(granted(slow, 300)).isZero();
    assertThat(fast.check(NAME, "b", 300).allowed()).isTrue();
    assertThat(fast.spend(NAME, "a", 0).allowed()).as("a cost of 0 reads the bucket").isTrue();
  }

  @Test
  void clockThatStepsBack_locksNobodyOut_whicheverWayItIsAsked() {
    Limiter limiter = process(300);
    for (String id : List.of("decision", "yes or no", "async", "reserved")) {
      assertThat(limiter.spend(NAME, id, 300).allowed()).isTrue();
    }
    nowNanos.addAndGet(-24 * HOUR);
    assertThat(limiter.spend(NAME, "decision").retryIn()).isEqualTo(Duration.ofSeconds(36));
    assertThat(limiter.limit(NAME).trySpend("yes or no")).isFalse();
    CompletionStage<Decision> async = limiter.async().spend(NAME, "async");
    assertThat(async.toCompletableFuture().join().retryIn()).isEqualTo(Duration.ofSeconds(36));
    assertThat(limiter.reserve(NAME, "reserved").decision().retryIn())
        .isEqualTo(Duration.ofSeconds(36));
    nowNanos.addAndGet(Duration.ofSeconds(36).toNanos());
    for (String id : List.of("decision", "yes or no", "async", "reserved")) {
      assertThat(limiter.limit(NAME).trySpend(id)).as(id).isTrue();
    }
  }

  /** A check forgives nothing, so a shorter wait would not hold. */
  @Test
  void check_afterTheClockSteppedBackByADay_tellsTheDebt_whicheverWayItIsAsked() {
    Limiter limiter = process(300);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    nowNanos.addAndGet(-24 * HOUR);
    Duration full = Duration.ofHours(24 + 3);
    for (Decision read :
        List.of(
            limiter.check(NAME, "a", 0),
            limiter.spend(NAME, "a", 0),
            limiter.limit(NAME).check("a", 0))) {
      assertThat(read.allowed()).isTrue();
      assertThat(read.remaining()).isZero();
      assertThat(read.resetIn()).isEqualTo(full);
    }
    for (Decision check :
        List.of(
            limiter.check(NAME, "a"),
            limiter.limit(NAME).check("a"),
            limiter.check(List.of(limiter.transaction(NAME, "a"))),
            limiter.async().check(NAME, "a", 1).toCompletableFuture().join(),
            limiter.spend(limiter.transaction(NAME, "a").checkOnly()))) {
      assertThat(check.denied()).isTrue();
      assertThat(check.retryIn()).isEqualTo(Duration.ofHours(24).plusSeconds(36));
      assertThat(check.resetIn()).isEqualTo(full);
    }
    assertThat(limiter.spend(NAME, "a").retryIn()).isEqualTo(Duration.ofSeconds(36));
  }

  /** A gate may only check, and spend later: the wait that it reports must hold for a check. */
  @Test
  void check_ofADebt_isAllowedAfterTheWaitThatItTells() {
    assertThat(granted(process(300), 300)).isEqualTo(300);
    Limiter fast = process(600);
    Transaction gate = fast.transaction(NAME, "a").checkOnly();
    long wait = fast.spend(gate).retryInNanos();
    assertThat(fast.check(NAME, "a").retryInNanos()).isEqualTo(wait);
    nowNanos.addAndGet(wait - 1);
    assertThat(fast.spend(gate).denied()).isTrue();
    nowNanos.addAndGet(1);
    assertThat(fast.spend(gate).allowed()).isTrue();
    assertThat(fast.check(NAME, "a").allowed()).isTrue();
  }

  /** Forgiving takes a call of its own; the store has decided on the spend by then. */
  @Test
  void forgivingThatFails_leavesTheDenialAndTellsTheDebt() {
    assertThat(granted(process(300), 300)).isEqualTo(300);
    Limiter blocking = unforgiving();
    Limiter async = unforgiving();
    for (Decision denial :
        List.of(
            blocking.spend(NAME, "a"),
            async.async().spend(NAME, "a").toCompletableFuture().join())) {
      assertThat(denial.denied()).isTrue();
      assertThat(denial.degraded()).isFalse();
      assertThat(denial.retryIn()).isEqualTo(Duration.ofMinutes(90).plusSeconds(18));
    }
  }

  private Limiter unforgiving() {
    return Limiter.builder(new CurrentLimits(limits(600)), new Unforgiving())
        .onFailure(FailureRule.allow())
        .build();
  }

  /** Fails where a debt is to be forgiven. */
  private final class Unforgiving implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (charges.get(0).op() == Effect.Op.FORGIVE) {
        throw new StoreException("timed out");
      }
      return store.charge(charges);
    }
  }

  @Test
  void loweredLimit_isWaitedForNoLongerThanItsOwnTokenTakes() {
    CurrentLimits current = new CurrentLimits(limits(300));
    Limiter limiter = Limiter.of(current, store);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    current.replace(limits(3_000)); // ten times as fast: the TAT is 2 h 42 min too far
    assertThat(limiter.spend(NAME, "a").retryInNanos()).isEqualTo(3_600_000_000L);
  }

  /** Each key costs a client two commands, and its debt is remembered for years. */
  @Test
  void debtsOfQuotasThatCallersSend_doNotEndTheForgivingOfTheLimitsOwn() {
    CurrentLimits current = new CurrentLimits(limits(300));
    Limiter limiter = Limiter.of(current, store);
    assertThat(limiter.spend(NAME, "a", 300).allowed()).isTrue();
    LimitName throttle = LimitName.builder(2, "Throttle").id(IdFormat.string()).build();
    Quota big = Quota.burst(200).refill(1, Duration.ofDays(365));
    Quota small = Quota.burst(100).refill(1, Duration.ofDays(365));
    int most = 65_536; // decision 003
    for (int i = 0; i < most; i++) {
      var unused = limiter.spend(Transaction.of(throttle, big, "k" + i).withCost(200));
      Decision denied = limiter.spend(Transaction.of(throttle, small, "k" + i));
      boolean isForgiven = denied.retryInNanos() <= small.intervalNanos();
      assertThat(isForgiven).as("key %d", i).isEqualTo(i < most / 2);
    }
    current.replace(limits(3_000));
    assertThat(limiter.spend(NAME, "a").retryInNanos()).isEqualTo(3_600_000_000L);
  }

  /** A debt that rules may make: up to two bursts here, which are 6 h. */
  @Test
  void debtThatTheLimitDeclares_isForgivenByNobody_andWhatLiesBeyondIs() {
    Quota quota = Quota.per(300, Duration.ofHours(3));
    Limits owing = Limits.builder(CATALOGUE).limit(NAME, quota).debt(NAME, 2).build();
    Limiter limiter = Limiter.of(owing, store);
    LimitName name = limiter.limits().get().catalogue().get(NAME);
    Quota deep = Quota.burst(900).refill(300, Duration.ofHours(3));
    Quota deeper = Quota.burst(1_800).refill(300, Duration.ofHours(3));
    List<String> ids = List.of("decision", "yes or no", "async", "reserved");
    for (String id : ids) {
      assertThat(limiter.spend(Transaction.of(name, deep, id).withCost(900)).allowed()).isTrue();
    }
    Duration owed = Duration.ofHours(6).plusSeconds(36);
    assertThat(limiter.spend(NAME, "decision").retryIn()).isEqualTo(owed);
    assertThat(limiter.limit(NAME).trySpend("yes or no")).isFalse();
    CompletionStage<Decision> async = limiter.async().spend(NAME, "async");
    assertThat(async.toCompletableFuture().join().retryIn()).isEqualTo(owed);
    assertThat(limiter.reserve(NAME, "reserved").decision().retryIn()).isEqualTo(owed);
    for (String id : ids) {
      assertThat(limiter.check(NAME, id).retryIn()).as(id).isEqualTo(owed);
      assertThat(limiter.spend(Transaction.of(name, deeper, id).withCost(900)).allowed()).isTrue();
      assertThat(limiter.limit(NAME).trySpend(id)).isFalse();
      assertThat(limiter.check(NAME, id).retryIn()).as(id).isEqualTo(owed);
    }
    nowNanos.addAndGet(owed.toNanos());
    for (String id : ids) {
      assertThat(limiter.limit(NAME).trySpend(id)).as(id).isTrue();
    }
  }
}
