// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision.DecidedBy;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
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
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

final class FailureRuleTest {

  private static final Limits LIMITS =
      Limits.builder(
              Catalogue.of(
                  LimitName.builder(1, "Free").id(IdFormat.string()).build(),
                  LimitName.builder(2, "Dear").id(IdFormat.string()).build(),
                  LimitName.builder(3, "Shared").id(IdFormat.string()).build(),
                  LimitName.builder(4, "Off").id(IdFormat.string()).build(),
                  LimitName.builder(5, "Ages").id(IdFormat.string()).build()))
          .limit("Free", Quota.per(10, Duration.ofHours(1)))
          .limit("Dear", Quota.per(10, Duration.ofHours(1)))
          .limit("Shared", Quota.per(10, Duration.ofHours(1)))
          .unlimited("Off")
          .limit("Ages", Quota.burst(3).refill(1, Duration.ofNanos(Long.MAX_VALUE / 3)))
          .build();

  /** A store that is never there. */
  private static final class Gone implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      throw new StoreException("gone");
    }
  }

  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(LIMITS), new Gone())
          .onFailure(FailureRule.allow())
          .onFailure("Dear", FailureRule.deny())
          .onFailure("Shared", FailureRule.local(3))
          .onFailure("Ages", FailureRule.local(2))
          .build();

  private Transaction on(String limit, long cost) {
    return limiter.transaction(limit, "x").withCost(cost);
  }

  /** Many ids at once take a shorter way, which no rule may be forgotten on. */
  @Test
  void rule_asAText_isWhatAFileCallsIt() {
    for (String text : List.of("fail", "allow", "deny", "local:4", "local:auto", "local:auto,6")) {
      assertThat(FailureRule.parse(text)).hasToString(text);
    }
    assertThat(FailureRule.localAuto().during(0)).hasToString("deny");
    assertThat(FailureRule.localAuto(6).during(0)).hasToString("local:6");
    assertThat(FailureRule.localAuto(6).during(2)).hasToString("local:2");
    assertThat(FailureRule.local(4).during(2)).hasToString("local:4");
  }

  private int granted(Limiter by, String limit, String id) {
    int granted = 0;
    for (int i = 0; i < 20; i++) {
      granted += by.spend(limit, id).allowed() ? 1 : 0;
    }
    return granted;
  }

  @Test
  void localAuto_dividesByTheProcessesSupplied_andDeniesWhileTheyAreUnknown() {
    AtomicInteger processes = new AtomicInteger();
    Limiter auto =
        Limiter.builder(new CurrentLimits(LIMITS), new Gone())
            .onFailure(FailureRule.localAuto())
            .onFailure("Dear", FailureRule.localAuto(5))
            .processes(processes::get)
            .build();
    assertThat(granted(auto, "Free", "a")).isZero();
    assertThat(auto.spend("Free", "a").decidedBy()).isEqualTo(DecidedBy.DENY);
    assertThat(granted(auto, "Dear", "a")).isEqualTo(2);
    processes.set(2);
    assertThat(granted(auto, "Free", "b")).isEqualTo(5);
    assertThat(auto.spend("Free", "b").decidedBy()).isEqualTo(DecidedBy.LOCAL);
    assertThat(granted(auto, "Dear", "b")).isEqualTo(5);
    processes.set(3);
    assertThat(granted(auto, "Free", "c")).isEqualTo(3);
  }

  @Test
  void localAuto_dividesEachOfSeveralQuotas_inEveryAct() {
    LimitName both = LimitName.builder(1, "Both").id(IdFormat.string()).build();
    Limits limits =
        Limits.builder(Catalogue.of(both))
            .limit(
                "Both",
                List.of(Quota.per(10, Duration.ofHours(1)), Quota.per(6, Duration.ofMinutes(1))))
            .build();
    Limiter auto =
        Limiter.builder(new CurrentLimits(limits), new Gone())
            .onFailure(FailureRule.localAuto())
            .processes(() -> 2)
            .build();
    Decision most = auto.spendUpTo("Both", "a", 9);
    assertThat(most.decidedBy()).isEqualTo(DecidedBy.LOCAL);
    assertThat(most.taken()).as("the share of the shorter quota").isEqualTo(3);
    assertThat(granted(auto, "Both", "b")).isEqualTo(3);
    assertThat(auto.reserve(auto.transaction("Both", "c")).allowed()).isTrue();
  }

  @Test
  void localAuto_withoutASupplier_denies() {
    Limiter auto =
        Limiter.builder(new CurrentLimits(LIMITS), new Gone())
            .onFailure(FailureRule.localAuto())
            .build();
    assertThat(granted(auto, "Free", "a")).isZero();
  }

  @Test
  void localAuto_whoseProcessesChangeDuringTheCall_decidesByOneNumber() {
    AtomicInteger calls = new AtomicInteger();
    Limiter auto =
        Limiter.builder(new CurrentLimits(LIMITS), new Gone())
            .onFailure(FailureRule.localAuto())
            .processes(() -> calls.getAndIncrement() % 3)
            .build();
    for (int i = 0; i < 30; i++) {
      Decision both =
          auto.spend(List.of(auto.transaction("Free", "i" + i), auto.transaction("Dear", "i" + i)));
      assertThat(both.allowed()).as("call %s", i).isEqualTo(i % 3 > 0);
    }
  }

  @Test
  void trySpendEach_whereTheStoreHasNoRoom_goesByTheRules() {
    CurrentLimits limits = new CurrentLimits(LIMITS);
    Limiter none = Limiter.of(limits, BucketStore.inMemory(() -> 0, 1));
    Limiter ofAll =
        Limiter.builder(limits, BucketStore.inMemory(() -> 0, 1))
            .onFailure(FailureRule.allow())
            .build();
    Limiter ofOne =
        Limiter.builder(limits, BucketStore.inMemory(() -> 0, 1))
            .onFailure("Free", FailureRule.allow())
            .build();
    assertThatThrownBy(() -> none.limit("Free").trySpendEach(List.of("a", "b", "c")))
        .isInstanceOf(StoreException.class);
    assertThat(ofAll.limit("Free").trySpendEach(List.of("a", "b", "c")))
        .containsExactly(true, true, true);
    assertThat(ofOne.limit("Free").trySpendEach(List.of("a", "b", "c")))
        .containsExactly(true, true, true);
  }

  /** The clock was read once to choose what to spend, and again to decide. */
  @Test
  void penaltyThatEndsDuringTheDecision_allowsNothingThatWasNotSpent() {
    Instant end = Instant.EPOCH.plusSeconds(1_000);
    LimitName shared = LIMITS.catalogue().get("Shared");
    CurrentLimits limits =
        new CurrentLimits(
            LIMITS.withPenalties(List.of(new Penalty(shared, "x", end, 0, "scraper"))));
    for (int readingsBefore = 0; readingsBefore < 20; readingsBefore++) {
      AtomicLong millis = new AtomicLong(1_000_000 - readingsBefore);
      Limiter local =
          Limiter.builder(limits, new Gone())
              .onFailure(FailureRule.local(10))
              .time(() -> millis.getAndIncrement() * 1_000_000)
              .build();
      int allowed = 0;
      for (int i = 0; i < 10; i++) {
        allowed += local.spend("Shared", "x").allowed() ? 1 : 0;
      }
      assertThat(allowed).as("of a share of one token").isLessThanOrEqualTo(1);
    }
  }

  /** Another process could not give back to this one's memory. */
  @Test
  void receipt_ofWhatWasTakenFromThisProcessesMemory_isEmpty() {
    try (Reservation reservation = limiter.reserve("Shared", "x")) {
      assertThat(reservation.allowed()).isTrue();
      assertThat(reservation.receipt().parts()).isEmpty();
    }
  }

  @Test
  void waiting_countsThoseWhoWaitForThisProcessesMemory() {
    Limits limits =
        Limits.builder(
                Catalogue.of(
                    LimitName.builder(1, "Slow")
                        .id(IdFormat.string())
                        .longestWait(Duration.ofHours(1))
                        .build()))
            .limit("Slow", Quota.per(1, Duration.ofHours(1)))
            .build();
    Limiter local =
        Limiter.builder(new CurrentLimits(limits), new Gone())
            .onFailure(FailureRule.local(1))
            .build();
    assertThat(local.spend("Slow", "x").allowed()).isTrue();
    var waits = local.async().acquire("Slow", "x", 1, Duration.ofHours(1)).toCompletableFuture();
    assertThat(local.waiting()).isEqualTo(1);
    assertThat(waits.cancel(false)).isTrue();
    assertThat(local.waiting()).isZero();
  }

  @Test
  void local_whoseMemoryHasNoRoom_failsLikeTheStore_andSaysBoth() {
    CurrentLimits limits = new CurrentLimits(LIMITS);
    FailureRules.OneCall rules =
        new FailureRules(FailureRule.local(1), Map.of(), () -> 0, () -> 0, 1).now();
    StoreException gone = new StoreException("gone");
    Plan first = Plan.of(LIMITS, Act.SPEND, List.of(limiter.transaction("Shared", "x")));
    Plan next = Plan.of(LIMITS, Act.SPEND, List.of(limiter.transaction("Shared", "y")));
    assertThat(rules.decide(first, gone).get(0).decidedBy()).isEqualTo(DecidedBy.LOCAL);
    for (ThrowingCallable call :
        List.<ThrowingCallable>of(
            () -> rules.decide(next, gone),
            () -> rules.acquire(next, gone, next::strictest, Engine.NOBODY),
            () -> rules.reserve(limits, next, gone, next::strictest))) {
      assertThatThrownBy(call)
          .isInstanceOf(StoreException.class)
          .hasMessage(
              "gone; the failure rule local has no room: it keeps at most 1 buckets that are not"
                  + " full")
          .hasCause(gone);
    }
  }

  @Test
  void spend_noRule_throws() {
    Limiter bare = Limiter.of(LIMITS, new Gone());
    assertThatThrownBy(() -> bare.spend("Free", "x"))
        .isInstanceOf(StoreException.class)
        .hasMessage("gone");
    assertThatThrownBy(() -> bare.async().spend("Free", "x").toCompletableFuture().join())
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(StoreException.class);
  }

  @Test
  void spendUpTo_storeFails_isDecidedByTheRules() {
    assertThat(limiter.spendUpTo("Free", "x", 99).taken()).as("allow: a burst").isEqualTo(10);
    assertThat(limiter.spendUpTo("Dear", "x", 99).taken()).as("deny").isZero();
    Decision local = limiter.spendUpTo("Shared", "x", 9);
    assertThat(local.decidedBy()).isEqualTo(DecidedBy.LOCAL);
    assertThat(local.taken()).as("the share").isEqualTo(3);
    Decision denied = limiter.spendUpTo("Shared", "x", 9);
    assertThat(denied.taken()).isZero();
    assertThat(denied.retryInNanos())
        .as("the share refills one in 18 minutes")
        .isBetween(Duration.ofMinutes(17).toNanos(), Duration.ofMinutes(18).toNanos());
  }

  @Test
  void spend_allow_passesAndIsRecognisable() {
    Decision decision = limiter.spend("Free", "x");
    assertThat(decision.allowed()).isTrue();
    assertThat(decision.degraded()).isTrue();
    assertThat(decision).asString().contains("allowed (degraded)");
  }

  @Test
  void spend_deny_sendsAwayForASecond() {
    Decision decision = limiter.spend("Dear", "x");
    assertThat(decision.denied()).isTrue();
    assertThat(decision.retryIn()).isEqualTo(Duration.ofSeconds(1));
    assertThat(decision.message())
        .startsWith("the limit Dear cannot be checked at the moment, retry after ");
  }

  @Test
  void spend_local_givesOutItsShareAndNoMore() {
    assertThat(limiter.check("Shared", "x").remaining()).isEqualTo(2);
    for (int i = 0; i < 3; i++) {
      assertThat(limiter.spend("Shared", "x").allowed()).isTrue();
    }
    Decision denied = limiter.async().spend("Shared", "x").toCompletableFuture().join();
    assertThat(denied.denied()).isTrue();
    assertThat(denied.degraded()).isTrue();
    assertThat(denied.retryIn()).isGreaterThan(Duration.ofMinutes(17)); // 6 minutes, for three
    assertThat(limiter.spend("Shared", "x", 4).retryIn()).isEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void spend_localShareOfCenturies_doesNotOverflow() {
    assertThat(limiter.spend("Ages", "x").allowed()).isTrue();
    assertThat(limiter.spend("Ages", "x").denied()).isTrue();
  }

  @Test
  void spendBatch_oneDenied_spendsNothingLocally() {
    Decision decision = limiter.spend(List.of(on("Shared", 3), on("Dear", 1), on("Off", 1)));
    assertThat(decision.denied()).isTrue();
    assertThat(decision.parts()).extracting(Decision::degraded).containsExactly(true, true, false);
    Decision passes = limiter.spend(List.of(on("Shared", 3), on("Dear", 1).spendOnly()));
    assertThat(passes.allowed()).isTrue();
    assertThat(passes.degraded()).isTrue();
  }

  @Test
  void reserve_allowedByARule_hasNothingToGiveBack() {
    try (Reservation reservation = limiter.reserve("Free", "x")) {
      assertThat(reservation.allowed()).isTrue();
      reservation.cancel(); // asks no store
    }
    assertThat(limiter.async().reserve("Dear", "x", 1).toCompletableFuture().join().denied())
        .isTrue();
  }

  @Test
  void spendBatch_deniedByARule_saysWhatTheLocalBucketStillHolds() {
    assertThat(limiter.spend("Shared", "x").remaining()).isEqualTo(2);

    Decision denied = limiter.spend(List.of(on("Shared", 2), on("Dear", 1)));

    assertThat(denied.denied()).isTrue();
    assertThat(denied.parts().get(0).allowed()).isTrue();
    assertThat(denied.parts().get(0).remaining()).isEqualTo(2);
  }

  @Test
  void reserve_decidedLocally_givesBackToThatMemoryOnce() {
    Reservation attempt = limiter.reserve("Shared", "x", 3);
    assertThat(limiter.spend("Shared", "x").denied()).isTrue();
    attempt.cancel();
    attempt.cancel();
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(3);

    Reservation later = limiter.async().reserve("Shared", "x", 2).toCompletableFuture().join();
    later.cancelAsync().toCompletableFuture().join();
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(3);

    limiter.reserve("Shared", "x", 2).close();
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(1);
  }

  @Test
  void reserve_decidedLocallyAndDenied_hasNothingToGiveBack() {
    assertThat(limiter.spend("Shared", "x", 2).allowed()).isTrue();
    Reservation denied = limiter.reserve("Shared", "x", 2);
    assertThat(denied.denied()).isTrue();
    denied.cancel();
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(1);
  }

  @Test
  void reserveBatch_underSeveralRules_givesBackWhatEachTook() {
    try (Reservation batch =
        limiter.reserve(List.of(on("Free", 2), on("Shared", 2), on("Off", 1), on("Ages", 1)))) {
      assertThat(batch.allowed()).isTrue();
      batch.cancel(t -> !t.name().name().equals("Ages"));
    }
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(3);
    assertThat(limiter.check("Ages", "x", 0).remaining()).isZero();

    Reservation refused = limiter.reserve(List.of(on("Shared", 2), on("Dear", 1)));
    assertThat(refused.denied()).isTrue();
    refused.cancel();
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(3);
  }

  @Test
  void reserveBatch_decidedLocally_givesNothingBackForWhatDidNotFit() {
    assertThat(limiter.spend("Ages", "x").allowed()).isTrue();
    Reservation batch = limiter.reserve(List.of(on("Shared", 1), on("Ages", 1).spendOnly()));
    assertThat(batch.allowed()).isTrue();
    batch.cancel();
    assertThat(limiter.check("Ages", "x", 0).remaining()).isZero();
    assertThat(limiter.check("Shared", "x", 0).remaining()).isEqualTo(3);
  }

  @Test
  void cancel_decidedLocallyUnderALimitThatShrankSince_givesBackByTheShareOfTheNewOne() {
    CurrentLimits current = new CurrentLimits(LIMITS);
    Limiter live =
        Limiter.builder(current, new Gone()).onFailure("Shared", FailureRule.local(2)).build();
    Reservation attempt = live.reserve("Shared", "x", 5);
    assertThat(live.check("Shared", "x", 0).remaining()).isZero();
    Limits smaller =
        Limits.builder(LIMITS.catalogue())
            .limit("Shared", Quota.per(4, Duration.ofHours(1)))
            .build();
    current.replace(smaller);
    attempt.cancel();
    assertThat(live.check("Shared", "x", 0).remaining()).isBetween(1L, 2L);
  }

  @Test
  void refundAndReset_fail() {
    assertThatThrownBy(() -> limiter.refund("Free", "x")).isInstanceOf(StoreException.class);
    assertThatThrownBy(() -> limiter.reset("Free", "x")).isInstanceOf(StoreException.class);
  }

  @Test
  void onFailure_unknownLimitOrNoProcess_isRefused() {
    Limiter.Builder builder = Limiter.builder(new CurrentLimits(LIMITS), new Gone());
    assertThatThrownBy(() -> builder.onFailure("Fre", FailureRule.allow()))
        .isInstanceOf(UnknownLimitException.class);
    assertThatThrownBy(() -> FailureRule.local(0)).hasMessageContaining("expected at least 1");
  }

  private static final LimitName PLAN = LimitName.builder(7, "CallsPerPlan").build();
  private static final Quota PLAN_QUOTA = Quota.per(9, Duration.ofHours(1));

  private static Limiter onFailureOfPlans(FailureRule rule) {
    return Limiter.builder(new CurrentLimits(LIMITS), new Gone())
        .onFailure(FailureRule.allow())
        .onFailure(PLAN, rule)
        .build();
  }

  @Test
  void suppliedQuota_noRuleOfItsOwn_isDecidedAsAllOthers() {
    assertThat(limiter.spend(Transaction.of(PLAN, PLAN_QUOTA, "x")).allowed()).isTrue();
    assertThat(limiter.limit(PLAN, PLAN_QUOTA).trySpend("x")).isTrue();
    Limiter bare = Limiter.of(LIMITS, new Gone());
    assertThatThrownBy(() -> bare.spend(Transaction.of(PLAN, PLAN_QUOTA, "x")))
        .isInstanceOf(StoreException.class);
  }

  @Test
  void suppliedQuota_deny_sendsAwayForASecond() {
    Limiter denying = onFailureOfPlans(FailureRule.deny());
    Decision decision = denying.spend(Transaction.of(PLAN, PLAN_QUOTA, "x"));
    assertThat(decision.denied()).isTrue();
    assertThat(decision.degraded()).isTrue();
    assertThat(decision.retryIn()).isEqualTo(Duration.ofSeconds(1));
    assertThat(denying.limit(PLAN, PLAN_QUOTA).trySpend("x")).isFalse();
    assertThat(denying.spend("Free", "x").allowed()).isTrue();
  }

  @Test
  void suppliedQuota_local_givesOutItsShareOfThatQuota() {
    Limiter local = onFailureOfPlans(FailureRule.local(3));
    Transaction one = Transaction.of(PLAN, PLAN_QUOTA, "x");
    for (int left = 2; left >= 0; left--) {
      assertThat(local.spend(one).remaining()).isEqualTo(left);
    }
    assertThat(local.spend(one).denied()).isTrue();
    assertThat(local.spend(one.withCost(4)).denied()).as("above the share of the burst").isTrue();
    Decision async = local.async().spend(one).toCompletableFuture().join();
    assertThat(async.denied()).isTrue();
    try (Lease lease = local.lease(PLAN, PLAN_QUOTA, "y", 3)) {
      assertThat(lease.trySpend()).isTrue();
    }
  }

  @Test
  void suppliedQuota_reservedLocally_givesBackToThatMemory() {
    Limiter local = onFailureOfPlans(FailureRule.local(3));
    Transaction all = Transaction.of(PLAN, PLAN_QUOTA, "x").withCost(3);
    for (int i = 0; i < 2; i++) {
      Reservation reservation = local.reserve(all);
      assertThat(reservation.allowed()).isTrue();
      reservation.cancel();
    }
    assertThat(local.spend(all).allowed()).isTrue();
    assertThat(local.reserve(all).denied()).isTrue();
  }

  @Test
  void onFailure_nameThatClashesWithTheCatalogue_isRefused() {
    LimitName clashing = LimitName.builder(1, "CallsPerPlan").build();
    Limiter.Builder builder = Limiter.builder(new CurrentLimits(LIMITS), new Gone());
    assertThatThrownBy(() -> builder.onFailure(clashing, FailureRule.deny()))
        .hasMessageContaining("number 1, which is the number of Free in the catalogue");
  }
}
