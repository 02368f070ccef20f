// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a penalty does to every act, on every way into the limiter. */
final class PenaltyTest {

  private static final String CALLS = "Calls";
  private static final String OTHERS = "Others";
  private static final long HOUR = 3_600_000_000_000L;
  private static final Catalogue CATALOGUE =
      Catalogue.of(
          LimitName.builder(1, CALLS).id(IdFormat.string()).longestWait(Duration.ofDays(1)).build(),
          LimitName.builder(2, OTHERS).id(IdFormat.string()).build());
  private static final Limits LIMITS =
      Limits.builder(CATALOGUE)
          .limit(CALLS, Quota.per(10, Duration.ofHours(10)))
          .limit(OTHERS, Quota.per(10, Duration.ofHours(10)))
          .build();

  private final AtomicLong nowNanos = new AtomicLong(1_000 * HOUR);
  private final AtomicBoolean gone = new AtomicBoolean();
  private final BucketStore memory = BucketStore.inMemory(nowNanos::get);
  private final CurrentLimits limits = new CurrentLimits(LIMITS);
  private final Limiter limiter = Limiter.of(limits, memory);

  private Instant in(Duration time) {
    return Instant.ofEpochSecond(0, nowNanos.get()).plus(time);
  }

  private Penalty ban(String id, Duration time) {
    return new Penalty(CATALOGUE.get(CALLS), id, in(time), 0, "");
  }

  private void penalize(Penalty... penalties) {
    limits.replace(limits.get().withPenalties(List.of(penalties)));
  }

  private void pass(Duration time) {
    nowNanos.addAndGet(time.toNanos());
  }

  /** The ways of asking for a token. */
  private enum Way {
    SPEND,
    CHECK,
    TRANSACTION,
    ASYNC,
    ASYNC_CHECK,
    RESERVE,
    ASYNC_RESERVE,
    ASYNC_ACQUIRE,
    LIMIT,
    LIMIT_CHECK,
    UP_TO
  }

  private Decision ask(Way way, String id) {
    return switch (way) {
      case SPEND -> limiter.spend(CALLS, id);
      case CHECK -> limiter.check(CALLS, id);
      case TRANSACTION -> limiter.spend(limiter.transaction(CALLS, id));
      case ASYNC -> joined(limiter.async().spend(CALLS, id));
      case ASYNC_CHECK -> joined(limiter.async().check(CALLS, id, 1));
      case RESERVE -> limiter.reserve(CALLS, id).decision();
      case ASYNC_RESERVE -> joined(limiter.async().reserve(CALLS, id, 1)).decision();
      case ASYNC_ACQUIRE -> joined(limiter.async().acquire(CALLS, id, 1, Duration.ofHours(9)));
      case LIMIT -> limiter.limit(CALLS).spend(id);
      case LIMIT_CHECK -> limiter.limit(CALLS).check(id);
      case UP_TO -> limiter.spendUpTo(CALLS, id, 1);
    };
  }

  private static <T> T joined(CompletionStage<T> stage) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    return future.join();
  }

  @ParameterizedTest
  @EnumSource(Way.class)
  void everyWay_ofAPenalizedId_isDeniedUntilTheEnd_andTold(Way way) {
    Penalty penalty = ban("a", Duration.ofMinutes(10));
    penalize(penalty);
    Decision denied = ask(way, "a");
    assertThat(denied.denied()).isTrue();
    assertThat(denied.remaining()).isZero();
    assertThat(denied.retryIn()).isEqualTo(Duration.ofMinutes(10));
    assertThat(denied.resetIn()).isEqualTo(Duration.ofMinutes(10));
    assertThat(denied.penalty()).isEqualTo(penalty);
    assertThat(denied.message())
        .startsWith("a penalty on this id of the limit Calls is in force, retry after ");
    assertThat(ask(way, "b").allowed()).as("another id").isTrue();

    pass(Duration.ofMinutes(10).minusNanos(1));
    assertThat(ask(way, "a").retryInNanos()).isEqualTo(1);
    pass(Duration.ofNanos(1));
    Decision after = ask(way, "a");
    assertThat(after.allowed()).as("over, though the limits still have it").isTrue();
    assertThat(after.penalty()).isNull();
    assertThat(limiter.check(CALLS, "a", 0).remaining()).isGreaterThanOrEqualTo(9);
  }

  @Test
  void trySpend_ofAPenalizedId_isDenied_aloneAndInBulk_alsoThroughAViewFromBefore() {
    Limit calls = limiter.limit(CALLS);
    assertThat(calls.trySpend("a")).isTrue();
    penalize(ban("a", Duration.ofMinutes(10)));
    assertThat(calls.trySpend("a")).isFalse();
    assertThat(calls.trySpendUtf8(new byte[] {'a'})).isFalse();
    assertThat(calls.trySpendEach(List.of("a", "b"))).containsExactly(false, true);
    penalize();
    assertThat(calls.trySpend("a")).isTrue();
  }

  @Test
  void acquire_neverWaitsForAPenaltyToEnd() throws InterruptedException {
    penalize(ban("a", Duration.ofMinutes(10)));
    Decision denied = limiter.acquire(CALLS, "a", Duration.ofHours(9));
    assertThat(denied.denied()).isTrue();
    assertThat(denied.retryIn()).isEqualTo(Duration.ofMinutes(10));
  }

  @Test
  void bucketThatNeedsLonger_isWhatTheWaitIsTold() {
    assertThat(limiter.spend(CALLS, "a", 10).allowed()).isTrue();
    penalize(ban("a", Duration.ofMinutes(10)));
    Decision denied = limiter.spend(CALLS, "a", 3);
    assertThat(denied.retryIn()).isEqualTo(Duration.ofHours(3));
    assertThat(denied.resetIn()).isEqualTo(Duration.ofHours(10));
    assertThat(denied.penalty()).isNotNull();
  }

  @Test
  void batchWithAPenalizedId_isDeniedAsAWhole_andSpendsNothing() {
    penalize(ban("a", Duration.ofMinutes(10)));
    List<Transaction> batch =
        List.of(limiter.transaction(OTHERS, "x").withCost(4), limiter.transaction(CALLS, "a"));
    for (Function<List<Transaction>, Decision> way :
        List.<Function<List<Transaction>, Decision>>of(
            limiter::spend, limiter::check, all -> joined(limiter.async().spend(all)))) {
      Decision denied = way.apply(batch);
      assertThat(denied.denied()).isTrue();
      assertThat(denied.penalty()).isNotNull();
      assertThat(denied.transaction()).isNotNull();
      assertThat(denied.parts().get(0).allowed()).isTrue();
      assertThat(denied.parts().get(1).denied()).isTrue();
    }
    assertThat(limiter.spend(batch).parts().get(0).remaining()).as("nothing spent").isEqualTo(10);
    assertThat(limiter.check(OTHERS, "x", 0).remaining()).isEqualTo(10);
  }

  @Test
  void checkOnlyPart_denies_andSpendOnlyPart_spendsNothingAndDeniesNobody() {
    penalize(ban("a", Duration.ofMinutes(10)));
    Transaction other = limiter.transaction(OTHERS, "x");
    Transaction penalized = limiter.transaction(CALLS, "a");
    assertThat(limiter.spend(List.of(other, penalized.checkOnly())).denied()).isTrue();
    Decision passed = limiter.spend(List.of(other, penalized.spendOnly()));
    assertThat(passed.allowed()).isTrue();
    assertThat(passed.parts().get(1).denied()).isTrue();
    assertThat(passed.parts().get(1).penalty()).isNotNull();
    pass(Duration.ofMinutes(10));
    assertThat(limiter.check(CALLS, "a", 0).remaining()).as("none was spent").isEqualTo(10);
    assertThat(limiter.check(OTHERS, "x", 0).remaining()).isEqualTo(9);
  }

  /** The race: a penalty ends between the look at the buckets and the charge. */
  @Test
  void spendOnlyPart_whosePenaltyEndsMeanwhile_isDeniedAndSpendsNothing() {
    penalize(ban("a", Duration.ofMinutes(10)));
    BucketStore slow =
        charges -> {
          List<Reading> readings = memory.charge(charges);
          pass(Duration.ofMinutes(10));
          return readings;
        };
    Limiter late = Limiter.of(limits, slow);
    Decision passed =
        late.spend(
            List.of(late.transaction(OTHERS, "x"), late.transaction(CALLS, "a").spendOnly()));
    assertThat(passed.allowed()).isTrue();
    assertThat(passed.parts().get(1).denied()).as("none was spent").isTrue();
    assertThat(passed.parts().get(1).retryIn()).isZero();
    assertThat(limiter.check(CALLS, "a", 0).remaining()).isEqualTo(10);
  }

  @Test
  void costOfZero_readsThePenalizedBucket_asEmpty() {
    penalize(ban("a", Duration.ofMinutes(10)));
    Decision read = limiter.check(CALLS, "a", 0);
    assertThat(read.allowed()).isTrue();
    assertThat(read.remaining()).isZero();
    assertThat(read.resetIn()).isEqualTo(Duration.ofMinutes(10));
    assertThat(read.penalty()).isNotNull();
  }

  @Test
  void allowOnly_andShadow_meetNoPenalty() {
    penalize(ban("a", Duration.ofMinutes(10)));
    Transaction penalized = limiter.transaction(CALLS, "a");
    assertThat(limiter.spend(penalized.allowOnly()).allowed()).isTrue();
    assertThat(limiter.spend(penalized.inShadow()).allowed()).isTrue();
  }

  /** Like any transaction of the limit; the penalty is on the bucket, whatever the quota. */
  @Test
  void callersQuota_ofALimitOfTheCatalogue_meetsThePenalty() {
    penalize(ban("a", Duration.ofMinutes(10)));
    Quota plan = Quota.per(100, Duration.ofHours(1));
    LimitName calls = CATALOGUE.get(CALLS);

    assertThat(limiter.spend(Transaction.of(calls, plan, "a")).penalty()).isNotNull();
    assertThat(limiter.limit(calls, plan).trySpend("a")).isFalse();
    assertThat(limiter.limit(calls, plan).spend("a").penalty()).isNotNull();
    assertThat(limiter.limit(calls, plan).trySpend("b")).isTrue();
    pass(Duration.ofMinutes(10));
    assertThat(limiter.limit(calls, plan).trySpend("a")).isTrue();
  }

  @Test
  void callersQuota_ofALimitOutsideTheCatalogue_meetsNoPenalty() {
    penalize(ban("a", Duration.ofMinutes(10)));
    Quota plan = Quota.per(100, Duration.ofHours(1));

    assertThat(limiter.spend(Transaction.of(LimitName.builder("Own").build(), plan, "a")).penalty())
        .isNull();
  }

  @Test
  void refundAndReset_actOnTheBucket_liftNoPenalty_andTheRefundTellsIt() {
    assertThat(limiter.spend(CALLS, "a", 5).allowed()).isTrue();
    penalize(ban("a", Duration.ofMinutes(10)));
    Decision refund = limiter.refund(CALLS, "a", 2);
    assertThat(refund.allowed()).as("tokens were given back").isTrue();
    assertThat(refund.remaining()).isZero();
    assertThat(refund.penalty()).isEqualTo(ban("a", Duration.ofMinutes(10)));
    assertThat(refund.retryIn()).isZero();
    assertThat(refund.resetIn()).as("the bucket lacks 3").isEqualTo(Duration.ofHours(3));
    assertThat(refund.message()).isEmpty();
    limiter.reset(CALLS, "a");
    Decision nothing = limiter.refund(CALLS, "a");
    assertThat(nothing.denied()).as("the bucket was full").isTrue();
    assertThat(nothing.resetIn()).isEqualTo(Duration.ofMinutes(10));
    assertThat(limiter.spend(CALLS, "a").denied()).as("a reset lifts no penalty").isTrue();
    pass(Duration.ofMinutes(10));
    assertThat(limiter.refund(CALLS, "a").penalty()).isNull();
    assertThat(limiter.check(CALLS, "a", 0).remaining()).isEqualTo(10);
  }

  @Test
  void lease_thatHoldsTokens_givesNoneOutWhileThePenaltyHolds() {
    try (Lease lease = limiter.lease(CALLS, "a", 5)) {
      assertThat(lease.trySpend()).isTrue();
      penalize(ban("a", Duration.ofMinutes(10)));
      assertThat(lease.trySpend()).isFalse();
      pass(Duration.ofMinutes(10));
      assertThat(lease.trySpend()).isTrue();
    }
    assertThat(limiter.check(CALLS, "a", 0).remaining()).isEqualTo(8);
  }

  /** A far TAT alone would be forgiven by the first spend (docs/decisions/003). */
  @Test
  void debt_isNotForgivenWhileThePenaltyHolds_andTheBucketIsEmptyAtItsEnd() {
    long toEmpty = 10 * HOUR;
    long owed = 3 * HOUR;
    Effect debt = Effect.of(Effect.Op.SPEND, toEmpty + owed, Long.MAX_VALUE);
    var unused = memory.charge(List.of(new Charge("1:a", debt)));
    penalize(new Penalty(CATALOGUE.get(CALLS), "a", in(Duration.ofHours(3)), 3, ""));
    for (int i = 0; i < 5; i++) {
      Decision denied = limiter.spend(CALLS, "a");
      assertThat(denied.retryIn()).isEqualTo(Duration.ofHours(4)); // when the first token is there
      assertThat(denied.penalty()).isNotNull();
    }
    pass(Duration.ofHours(3));
    assertThat(limiter.check(CALLS, "a", 0).remaining()).isZero();
    assertThat(limiter.spend(CALLS, "a").retryIn()).isEqualTo(Duration.ofHours(1));
    pass(Duration.ofHours(1));
    assertThat(limiter.spend(CALLS, "a").allowed()).isTrue();
  }

  @Test
  void check_afterThePenalty_tellsTheDebt_whichASpendForgives() {
    assertThat(limiter.spend(OTHERS, "a", 10).allowed()).isTrue();
    limits.replace(
        Limits.builder(CATALOGUE).limit(OTHERS, Quota.per(10, Duration.ofHours(1))).build());
    penalize(new Penalty(CATALOGUE.get(OTHERS), "a", in(Duration.ofMinutes(1)), 0, ""));
    pass(Duration.ofMinutes(2));
    Duration owed = Duration.ofHours(9).plusMinutes(4);
    assertThat(limiter.check(OTHERS, "a").retryIn()).isEqualTo(owed);
    assertThat(limiter.async().check(OTHERS, "a").toCompletableFuture().join().retryIn())
        .isEqualTo(owed);
    assertThat(limiter.spend(OTHERS, "a").retryIn()).isEqualTo(Duration.ofMinutes(6));
  }

  @Test
  void storeThatIsGone_leavesThePenaltyToThisProcessesClock() {
    BucketStore store =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            if (gone.get()) {
              throw new StoreException("gone");
            }
            return memory.charge(charges);
          }
        };
    for (FailureRule rule : List.of(FailureRule.allow(), FailureRule.local(2))) {
      Limiter lenient = Limiter.builder(limits, store).time(nowNanos::get).onFailure(rule).build();
      penalize(ban("a", Duration.ofMinutes(10)));
      gone.set(true);
      Decision denied = lenient.spend(CALLS, "a");
      assertThat(denied.denied()).isTrue();
      assertThat(denied.degraded()).isTrue();
      assertThat(denied.retryIn()).isEqualTo(Duration.ofMinutes(10));
      assertThat(denied.penalty()).isNotNull();
      assertThat(lenient.reserve(CALLS, "a").denied()).isTrue();
      assertThat(joined(lenient.async().spend(CALLS, "a")).denied()).isTrue();
      assertThat(lenient.limit(CALLS).trySpend("a")).isFalse();
      assertThat(lenient.spend(CALLS, "b").allowed()).isTrue();
      pass(Duration.ofMinutes(10));
      assertThat(lenient.spend(CALLS, "a").allowed()).isTrue();
    }
  }

  @Test
  void storeThatIsGone_batchWithAPenalizedId_spendsNothingLocallyEither() {
    BucketStore store =
        charges -> {
          throw new StoreException("gone");
        };
    Limiter lenient =
        Limiter.builder(limits, store).time(nowNanos::get).onFailure(FailureRule.local(1)).build();
    penalize(ban("a", Duration.ofMinutes(10)));
    Transaction others = lenient.transaction(OTHERS, "b");
    assertThat(lenient.spend(List.of(lenient.transaction(CALLS, "a"), others)).denied()).isTrue();
    assertThat(lenient.check(OTHERS, "b", 0).remaining()).isEqualTo(10);
    assertThat(lenient.spend(List.of(lenient.transaction(CALLS, "b"), others)).allowed()).isTrue();
    assertThat(lenient.check(OTHERS, "b", 0).remaining()).isEqualTo(9);
  }

  /** A cost of 0 passes any penalty, and no rule that denies: else the rest of a batch passed. */
  @Test
  void storeThatIsGone_ruleThatDenies_deniesACostOfNothingBesideAPenalty() {
    BucketStore store =
        charges -> {
          throw new StoreException("gone");
        };
    Limiter strict =
        Limiter.builder(limits, store)
            .time(nowNanos::get)
            .onFailure(FailureRule.local(1))
            .onFailure(CALLS, FailureRule.deny())
            .build();
    Transaction nothing = strict.transaction(CALLS, "a").withCost(0);
    Transaction others = strict.transaction(OTHERS, "b");
    assertThat(strict.spend(nothing).denied()).isTrue();
    penalize(ban("a", Duration.ofMinutes(10)));
    assertThat(strict.spend(nothing).denied()).isTrue();
    assertThat(strict.spend(List.of(nothing, others)).denied()).isTrue();
    assertThat(strict.check(OTHERS, "b", 0).remaining()).isEqualTo(10);
  }

  @Test
  void withPenalties_replacesThose_thatThereWere_andIsPartOfEquality() {
    Limits with = LIMITS.withPenalties(List.of(ban("a", Duration.ofMinutes(1))));
    assertThat(with).isNotEqualTo(LIMITS);
    assertThat(with.withPenalties(List.of())).isEqualTo(LIMITS);
    assertThat(with.withOverrides(List.of()).hasPenalties()).isTrue();
    assertThat(with.penaltiesOf(CATALOGUE.get(CALLS))).hasSize(1);
    assertThat(with.penaltyFor(CATALOGUE.get(OTHERS), "a")).isNull();
    Penalty one = ban("a", Duration.ofMinutes(1));
    assertThatThrownBy(() -> LIMITS.withPenalties(List.of(one, one)))
        .hasMessageContaining("second penalty of Calls for the id \"a\"");
  }

  @Test
  void penalty_withAnEndThatNoClockShows_orANegativeDebt_isRefused() {
    LimitName name = CATALOGUE.get(CALLS);
    assertThatThrownBy(() -> new Penalty(name, "a", Instant.MAX, 0, ""))
        .hasMessageContaining("until: found");
    assertThatThrownBy(() -> new Penalty(name, "a", Instant.EPOCH.minusNanos(1), 0, ""))
        .hasMessageContaining("until: found");
    assertThatThrownBy(() -> new Penalty(name, "a", Instant.EPOCH, -1, ""))
        .hasMessageContaining("owed: found -1");
  }
}
