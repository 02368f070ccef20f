// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.Decision.DecidedBy;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Settlement;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A limit with several quotas is all or nothing, and answers with the strictest. */
final class SeveralQuotasTest {

  private static final long SECOND = 1_000_000_000;
  private static final Quota A_SECOND = Quota.per(3, Duration.ofSeconds(1));
  private static final Quota AN_HOUR = Quota.per(10, Duration.ofHours(1));
  private static final LimitName CALLS =
      LimitName.builder("Calls").id(IdFormat.string()).longestWait(Duration.ofHours(2)).build();
  private static final LimitName OTHER =
      LimitName.builder(2, "Other").id(IdFormat.string()).build();

  private final AtomicLong nowNanos = new AtomicLong(1_000_000 * SECOND);
  private final List<String> keys = new ArrayList<>();
  private final BucketStore memory = BucketStore.inMemory(nowNanos::get);
  private final BucketStore store =
      new BucketStore() {
        @Override
        public List<Reading> charge(List<Charge> charges) {
          charges.forEach(one -> keys.add(one.key()));
          return memory.charge(charges);
        }
      };
  private final CurrentLimits limits = new CurrentLimits(limits(AN_HOUR, A_SECOND));
  private final Limiter limiter = limiter(store);

  private static Limits.Builder builder(Quota... quotas) {
    return Limits.builder(Catalogue.of(CALLS, OTHER))
        .limit("Calls", List.of(quotas))
        .limit("Other", Quota.per(2, Duration.ofHours(1)));
  }

  private static Limits limits(Quota... quotas) {
    return builder(quotas).build();
  }

  private Limiter limiter(BucketStore buckets) {
    return Limiter.builder(limits, buckets).time(nowNanos::get).build();
  }

  private int granted(int attempts) {
    int granted = 0;
    for (int i = 0; i < attempts; i++) {
      granted += limiter.spend("Calls", "a").allowed() ? 1 : 0;
    }
    return granted;
  }

  private List<Long> remaining() {
    return limiter.check("Calls", "a", 0).quotas().stream().map(Decision::remaining).toList();
  }

  @Test
  void spend_isHeldToEachQuota() {
    assertThat(granted(5)).isEqualTo(3);
    nowNanos.addAndGet(SECOND);
    assertThat(granted(5)).isEqualTo(3);
    nowNanos.addAndGet(5 * SECOND);
    assertThat(granted(5)).isEqualTo(3);
    nowNanos.addAndGet(5 * SECOND);
    assertThat(granted(5)).as("the last of 10 an hour").isEqualTo(1);
  }

  @Test
  void spend_denied_takesNothingFromAnyBucket() {
    assertThat(granted(4)).isEqualTo(3);
    assertThat(remaining()).containsExactly(7L, 0L);
  }

  @Test
  void decision_describesOneQuota_theStrictest() {
    Decision first = limiter.spend("Calls", "a");
    assertThat(first.transaction().quota()).isEqualTo(A_SECOND);
    assertThat(first.remaining()).isEqualTo(2);
    assertThat(first.resetIn()).isEqualTo(Duration.ofNanos(SECOND / 3));
    assertThat(first.taken()).isEqualTo(1);
    assertThat(first.quotas())
        .extracting(one -> one.transaction().quota())
        .containsExactly(AN_HOUR, A_SECOND);
    assertThat(first.quotas()).extracting(Decision::remaining).containsExactly(9L, 2L);
    for (int i = 0; i < 3; i++) {
      nowNanos.addAndGet(SECOND);
      assertThat(granted(3)).isGreaterThan(0);
    }
    nowNanos.addAndGet(SECOND);
    Decision denied = limiter.spend("Calls", "a");
    assertThat(denied.denied()).isTrue();
    assertThat(denied.transaction().quota()).isEqualTo(AN_HOUR);
    assertThat(denied.retryIn()).isGreaterThan(Duration.ofMinutes(5));
    assertThat(denied.message()).contains("10").contains("1h");
    assertThat(denied.quotas()).extracting(Decision::allowed).containsExactly(false, true);
    assertThat(denied.quotas().get(1).remaining()).as("not spent").isEqualTo(3);
  }

  @Test
  void decision_withEqualWaits_isThatOfTheLongest() {
    limits.replace(limits(Quota.per(5, Duration.ofHours(1)), Quota.per(5, Duration.ofSeconds(1))));
    assertThat(limiter.check("Calls", "a", 0).transaction().quota().period())
        .isEqualTo(Duration.ofHours(1));
  }

  @Test
  void keys_ofTheLongestAreAsBefore_othersHaveTheirPeriod() {
    limits.replace(
        limits(
            Quota.per(9, Duration.ofMinutes(90)),
            Quota.per(5, Duration.ofMillis(250)),
            Quota.per(7, Duration.ofSeconds(1))));
    assertThat(limiter.spend("Calls", "a:b").allowed()).isTrue();
    assertThat(keys).containsExactly("Calls:a:b", "Calls/1s:a:b", "Calls/250ms:a:b");
    assertThat(limiter.transaction("Calls", "a:b").bucketKey()).isEqualTo("Calls:a:b");
    keys.clear();
    Transaction trial =
        Transaction.of(OTHER, List.of(A_SECOND, AN_HOUR), "x").inShadow(); // in any order
    assertThat(limiter.spend(trial).allowed()).isTrue();
    assertThat(keys).containsExactly("shadow-2:x", "shadow-2/1s:x");
  }

  @Test
  void secondQuota_added_keepsTheBucketOfTheFirst() {
    limits.replace(limits(AN_HOUR));
    assertThat(granted(8)).isEqualTo(8);
    limits.replace(limits(AN_HOUR, A_SECOND));
    assertThat(granted(8)).isEqualTo(2);
    limits.replace(limits(A_SECOND, AN_HOUR, Quota.per(20, Duration.ofMinutes(1))));
    assertThat(remaining()).containsExactly(0L, 20L, 1L);
  }

  @Test
  void batch_withOtherLimits_isAllOrNothing() {
    List<Transaction> batch =
        List.of(limiter.transaction("Other", "a"), limiter.transaction("Calls", "a"));
    assertThat(limiter.spend(batch).allowed()).isTrue();
    assertThat(limiter.spend(batch).allowed()).isTrue();
    Decision denied = limiter.spend(batch);
    assertThat(denied.transaction().name()).isEqualTo(OTHER);
    assertThat(denied.parts()).hasSize(2);
    assertThat(denied.parts().get(1).quotas())
        .extracting(Decision::remaining)
        .containsExactly(8L, 1L);
    assertThat(remaining()).containsExactly(8L, 1L);
    assertThat(granted(2)).isEqualTo(1);
    Decision byTheSecond = limiter.check(batch.get(1));
    assertThat(byTheSecond.denied()).isTrue();
    assertThat(byTheSecond.transaction().quota()).isEqualTo(A_SECOND);
  }

  @Test
  void refundAndReset_reachEachBucket() {
    assertThat(granted(3)).isEqualTo(3);
    Decision back = limiter.refund("Calls", "a", 2);
    assertThat(back.allowed()).isTrue();
    assertThat(remaining()).containsExactly(9L, 2L);
    nowNanos.addAndGet(SECOND);
    Decision ofOne = limiter.refund("Calls", "a");
    assertThat(ofOne.allowed()).as("the bucket of the second was full").isTrue();
    assertThat(ofOne.transaction().quota()).isEqualTo(AN_HOUR);
    assertThat(ofOne.remaining()).isEqualTo(10);
    assertThat(granted(2)).isEqualTo(2);
    limiter.reset("Calls", "a");
    assertThat(remaining()).containsExactly(10L, 3L);
    assertThat(limiter.refund("Calls", "a").denied()).isTrue();
  }

  @Test
  void transactionOfADecision_refunded_reachesEachBucket() {
    assertThat(granted(2)).isEqualTo(2);
    assertThat(limiter.refund(limiter.spend("Calls", "a").transaction()).allowed()).isTrue();
    assertThat(remaining()).containsExactly(8L, 1L);
  }

  @Test
  void reservation_cancelled_givesBackToEachBucket() {
    Reservation reserved = limiter.reserve("Calls", "a", 2);
    assertThat(remaining()).containsExactly(8L, 1L);
    reserved.cancel(one -> one.bucketKey().equals("Calls:a") && one.quotas().size() == 2);
    assertThat(remaining()).containsExactly(10L, 3L);
    Reservation mostlyRefilled = limiter.reserve("Calls", "a", 2);
    nowNanos.addAndGet(SECOND);
    mostlyRefilled.cancel();
    assertThat(remaining()).containsExactly(10L, 3L);
  }

  @Test
  void reservation_cancelledUnderOtherQuotas_givesBackToTheBucketsThatAreStillUsed() {
    Reservation reserved = limiter.reserve("Calls", "a", 2);
    limits.replace(limits(AN_HOUR, Quota.per(5, Duration.ofMinutes(1))));
    reserved.cancel();
    assertThat(remaining()).containsExactly(10L, 5L);
    limits.replace(limits(AN_HOUR, A_SECOND));
    assertThat(remaining()).containsExactly(10L, 1L);
  }

  @Test
  void receipt_cancelledByAnotherProcess_givesBackToEachBucket() {
    Reservation.Receipt receipt = limiter.reserve("Calls", "a", 2).receipt();
    limiter(memory).cancel(receipt);
    assertThat(remaining()).containsExactly(10L, 3L);
  }

  @Test
  void receipt_asPlainValues_comesBackForEachBucket() {
    Reservation.Receipt receipt = limiter.reserve("Calls", "a", 2).receipt();
    assertThat(receipt.parts())
        .extracting(Reservation.Receipt.Part::limit)
        .containsExactly("Calls", "Calls/1s");
    limiter.cancel(read(receipt));
    assertThat(remaining()).containsExactly(10L, 3L);
    Reservation.Receipt second = limiter.reserve("Calls", "a", 2).receipt();
    limits.replace(limits(AN_HOUR));
    limiter.cancel(read(second));
    limits.replace(limits(AN_HOUR, A_SECOND));
    assertThat(remaining()).containsExactly(10L, 1L);
  }

  @Test
  void receiptOfATrial_asPlainValues_givesBackToTheTrialsBuckets() {
    Transaction trial = limiter.transaction("Calls", "a").withCost(2).inShadow();
    Reservation.Receipt receipt = limiter.reserve(trial).receipt();
    assertThat(granted(3)).isEqualTo(3);
    limiter.cancel(read(receipt));
    assertThat(remaining()).containsExactly(7L, 0L);
    assertThat(limiter.check(trial.withCost(0)).quotas())
        .extracting(Decision::remaining)
        .containsExactly(10L, 3L);
  }

  private Reservation.Receipt read(Reservation.Receipt receipt) {
    return new Reservation.Receipt(
        receipt.parts().stream()
            .map(
                part ->
                    Reservation.Receipt.Part.of(
                        limits.get(),
                        part.limit(),
                        part.transaction().id(),
                        part.transaction().cost(),
                        part.intervalNanos(),
                        part.untilNanos()))
            .toList());
  }

  @Test
  void settle_chargesAndGivesBackTheSameCostOnEachBucket() {
    Reservation lower = limiter.reserve("Calls", "a", 3);
    assertThat(lower.settle(Map.of("Calls", 1L)).parts())
        .extracting(part -> part.transaction().quota(), Settlement.Part::charged)
        .containsExactly(tuple(AN_HOUR, 1L), tuple(A_SECOND, 1L));
    assertThat(remaining()).containsExactly(9L, 2L);
    Reservation higher = limiter.reserve("Calls", "a", 1);
    assertThat(higher.settle(Costs.of("Calls", 5)).parts())
        .extracting(Settlement.Part::charged, Settlement.Part::cut)
        .containsExactly(tuple(5L, 0L), tuple(2L, 3L));
    assertThat(remaining()).containsExactly(4L, 0L);
    nowNanos.addAndGet(SECOND);
    Transaction call = limiter.transaction("Calls", "a");
    Reservation.Receipt receipt = limiter.reserve(call).receipt();
    limiter.settle(read(receipt), Costs.of(Map.of()).and(call, 2));
    assertThat(remaining()).containsExactly(2L, 1L);
  }

  @Test
  void settle_tellsTheObserverOfTheStrictestBucket_once() {
    List<String> told = new ArrayList<>();
    LimiterObserver observer =
        new LimiterObserver() {
          @Override
          public void settled(Settlement.Part part, long estimate, long cost) {
            told.add(
                "%s of %s: cut %s of %s"
                    .formatted(part.transaction().id(), estimate, part.cut(), cost));
          }
        };
    Limiter observed =
        Limiter.builder(limits, store).time(nowNanos::get).observer(observer).build();
    Transaction a = observed.transaction("Calls", "a").withCost(3);
    Transaction b = observed.transaction("Calls", "b").withCost(2);
    Transaction other = observed.transaction("Other", "a");
    var unused =
        observed
            .reserve(List.of(a, b, other))
            .settle(Costs.of(Map.of()).and(a, 1).and(b, 7).and(other, 1));
    assertThat(told)
        .containsExactlyInAnyOrder(
            "a of 3: cut 0 of 1", "b of 2: cut 4 of 7", "a of 1: cut 0 of 1");
  }

  @Test
  void acquire_waitsForEachQuota() throws InterruptedException {
    assertThat(granted(3)).isEqualTo(3);
    assertThat(limiter.acquire("Calls", "a", Duration.ZERO).denied()).isTrue();
    assertThat(limiter.acquire("Calls", "a", Duration.ofMillis(100)).denied()).isTrue();
    assertThat(remaining()).containsExactly(7L, 0L);
    Decision waited =
        Limiter.of(limits, BucketStore.inMemory()).acquire("Calls", "a", 3, Duration.ofMinutes(1));
    assertThat(waited.allowed()).isTrue();
  }

  @Test
  void acquire_denied_observed_reportsEachDenyingLimitOnce() throws Exception {
    List<String> refused = new ArrayList<>();
    LimiterObserver observer =
        new LimiterObserver() {
          @Override
          public void waited(LimitName limit, Ending ending, long waitedNanos) {
            refused.add(limit.name() + " " + ending);
          }
        };
    LimitName patient =
        LimitName.builder("Patient").id(IdFormat.string()).longestWait(Duration.ofHours(2)).build();
    Limiter observed =
        Limiter.builder(limits, store).time(nowNanos::get).observer(observer).build();
    Transaction other = Transaction.of(patient, Quota.per(1, Duration.ofHours(1)), "b");
    assertThat(granted(3)).isEqualTo(3);
    Duration wait = Duration.ofMillis(100);
    assertThat(observed.acquire("Calls", "a", wait).denied()).isTrue();
    assertThat(observed.async().acquire("Calls", "a", 1, wait).toCompletableFuture().get().denied())
        .isTrue();
    assertThat(refused).containsExactly("Calls REFUSED", "Calls REFUSED");
    refused.clear();
    List<Transaction> batch = List.of(observed.transaction("Calls", "a"), other);
    assertThat(observed.acquire(batch, wait).denied()).isTrue();
    assertThat(refused).containsExactly("Calls REFUSED");
    refused.clear();
    assertThat(observed.spend(other).allowed()).isTrue();
    assertThat(observed.acquire(batch, wait).denied()).isTrue();
    assertThat(refused).containsExactly("Calls REFUSED", "Patient REFUSED");
  }

  @Test
  void estimatedCost_aboveTheSmallestBurst_isThatBurst() {
    Transaction call =
        limiter.transaction("Calls", "a").withCost(Reservation.Estimate.mean(1, 8).of("group"));
    assertThat(call.cost()).isEqualTo(3);
    assertThat(limiter.reserve(call).decision().allowed()).isTrue();
    assertThat(remaining()).containsExactly(7L, 0L);
  }

  @Test
  void cost_aboveTheSmallestBurst_isRefused_withItsQuota() {
    assertThatThrownBy(() -> limiter.spend("Calls", "a", 4))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessage("cost 4 exceeds the burst (3) of the quota with the period 1s of Calls");
  }

  @Test
  void spendUpTo_takesWhatFitsEachQuota() {
    assertThat(limiter.spendUpTo("Calls", "a", 2).taken()).isEqualTo(2);
    Decision rest = limiter.spendUpTo("Calls", "a", Long.MAX_VALUE);
    assertThat(rest.taken()).isEqualTo(1);
    assertThat(rest.transaction().quota()).isEqualTo(A_SECOND);
    assertThat(rest.quotas()).extracting(Decision::taken).containsExactly(1L, 1L);
    assertThat(remaining()).containsExactly(7L, 0L);
    Decision none = limiter.limit("Calls").spendUpTo("a", 3);
    assertThat(none.denied()).isTrue();
    assertThat(none.taken()).isZero();
    assertThat(none.retryIn()).as("for one").isEqualTo(Duration.ofNanos(333_333_333));
    for (long taken : List.of(3L, 3L, 1L)) {
      nowNanos.addAndGet(SECOND);
      assertThat(limiter.async().spendUpTo("Calls", "a", 3))
          .isCompletedWithValueMatching(one -> one.taken() == taken);
    }
    assertThat(remaining()).containsExactly(0L, 2L);
    assertThat(limiter.refund("Calls", "a", 2).allowed()).isTrue();
    assertThat(limiter.spendUpTo("Calls", "a", 3).taken()).isEqualTo(2);
  }

  @Test
  void spendUpTo_isTwoCalls_andObservedOnce() {
    List<String> seen = new ArrayList<>();
    LimiterObserver observer =
        new LimiterObserver() {
          @Override
          public void decided(Act act, Decision decision, long elapsedNanos) {
            seen.add(act + " " + decision.taken());
          }
        };
    Limiter observed =
        Limiter.builder(limits, store).time(nowNanos::get).observer(observer).build();
    assertThat(observed.spendUpTo("Calls", "a", 3).taken()).isEqualTo(3);
    assertThat(keys).as("all fit").hasSize(2);
    assertThat(granted(1)).isZero();
    nowNanos.addAndGet(SECOND / 2);
    keys.clear();
    assertThat(observed.spendUpTo("Calls", "a", 3).taken()).isEqualTo(1);
    assertThat(keys).hasSize(4);
    keys.clear();
    assertThat(observed.spendUpTo("Calls", "a", 3).taken()).isZero();
    assertThat(keys).hasSize(4);
    assertThat(seen).containsExactly("SPEND 3", "SPEND 1", "SPEND 0");
  }

  /** Race: before each call to the store, another caller takes one token. */
  @Test
  void spendUpTo_whileOthersSpend_takesWhatIsLeft_inAFewCalls() {
    limits.replace(
        limits(Quota.per(1000, Duration.ofHours(1)), Quota.per(100, Duration.ofSeconds(1))));
    Limiter other = limiter(memory);
    List<Long> asked = new ArrayList<>();
    BucketStore contended =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            asked.add(charges.get(1).incrementNanos() / (SECOND / 100));
            assertThat(other.spend("Calls", "a").allowed()).isTrue();
            return memory.charge(charges);
          }
        };
    assertThat(limiter(contended).spendUpTo("Calls", "a", 100).taken()).isEqualTo(1);
    assertThat(asked).containsExactly(100L, 99L, 98L, 97L, 96L, 95L, 94L, 1L);
  }

  @Test
  void spendUpTo_withoutTheStore_takesWhatFitsTheShares() {
    BucketStore away =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new StoreException("away", new IllegalStateException());
          }
        };
    Limiter local =
        Limiter.builder(limits, away).time(nowNanos::get).onFailure(FailureRule.local(2)).build();
    assertThat(local.spendUpTo("Calls", "a", 3).taken()).as("a half of 3 a second").isEqualTo(1);
    nowNanos.addAndGet(2 * SECOND);
    Decision second = local.spendUpTo("Calls", "a", 3);
    assertThat(second.taken()).isEqualTo(1);
    assertThat(second.degraded()).isTrue();
    assertThat(local.spendUpTo("Calls", "a", 3).taken()).isZero();
  }

  @Test
  void spendUpTo_underAPenalty_isDenied() {
    Instant until = Instant.ofEpochSecond(0, nowNanos.get()).plusSeconds(9);
    limits.replace(limits.get().withPenalties(List.of(new Penalty(CALLS, "a", until, 0, ""))));
    assertThat(limiter.spendUpTo("Calls", "a", 3).retryIn()).isEqualTo(Duration.ofSeconds(9));
    nowNanos.addAndGet(9 * SECOND);
    assertThat(limiter.spendUpTo("Calls", "a", 9).taken()).isEqualTo(3);
  }

  @Test
  void spendUpTo_underAPenaltyWithAnEmptyBucket_waitsForOneToken() {
    assertThat(limiter.spendUpTo("Calls", "a", 3).taken()).isEqualTo(3);
    nowNanos.addAndGet(SECOND);
    while (remaining().get(0) > 0) {
      assertThat(limiter.spendUpTo("Calls", "a", 3).taken()).isPositive();
      nowNanos.addAndGet(SECOND);
    }
    Duration unpenalized = limiter.spendUpTo("Calls", "a", 3).retryIn();
    assertThat(unpenalized).isBetween(Duration.ofMinutes(5), Duration.ofMinutes(6));
    Instant until = Instant.ofEpochSecond(0, nowNanos.get()).plusSeconds(9);
    limits.replace(limits.get().withPenalties(List.of(new Penalty(CALLS, "a", until, 0, ""))));
    assertThat(limiter.spendUpTo("Calls", "a", 3).retryIn()).isEqualTo(unpenalized);
  }

  @Test
  void override_replacesAllQuotas() {
    Quota one = Quota.per(5, Duration.ofSeconds(1));
    limits.replace(
        builder(AN_HOUR, A_SECOND)
            .override("Calls", "a", one)
            .override(
                new LimitOverride(
                    CALLS, "b", List.of(one, Quota.per(20, Duration.ofDays(1))), "", "", null))
            .build());
    assertThat(granted(9)).isEqualTo(5);
    assertThat(limiter.spend("Calls", "b").quotas())
        .extracting(Decision::remaining)
        .containsExactly(19L, 4L);
    assertThat(limiter.limit("Calls").check("b").quotas()).hasSize(2);
    assertThat(limiter.limit("Calls").trySpend("c", 3)).isTrue();
    assertThat(limiter.limit("Calls").trySpend("c")).isFalse();
  }

  @Test
  void limits_withAnotherSecondQuota_areNotEqual() {
    assertThat(limits(AN_HOUR, A_SECOND)).isEqualTo(limits(A_SECOND, AN_HOUR));
    assertThat(limits(AN_HOUR, A_SECOND)).isNotEqualTo(limits(AN_HOUR));
    assertThat(limits(AN_HOUR, A_SECOND))
        .hasToString(
            "limits Calls (burst 10, 10 per PT1H and burst 3, 3 per PT1S), Other (burst 2, 2 per PT1H)");
  }

  @Test
  void quotas_thatDoNotFitTogether_areRefused() {
    assertThatThrownBy(() -> Limit.of(A_SECOND, Quota.per(5, Duration.ofSeconds(1))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("two quotas with the same period");
    assertThatThrownBy(() -> builder().build()).hasMessage("found 0 quotas, expected 1 to 4");
    assertThatThrownBy(() -> Limit.of(A_SECOND, A_SECOND, A_SECOND, A_SECOND, A_SECOND))
        .hasMessage("found 5 quotas, expected 1 to 4");
  }

  @Test
  void standaloneLimit_takesSeveral() {
    Limit limit = Limit.of(List.of(A_SECOND, AN_HOUR), nowNanos::get);
    assertThat(limit.trySpendEach(List.of("a", "a", "b", "a", "a")))
        .containsExactly(true, true, true, true, false);
    assertThat(limit.trySpend("a")).isFalse();
    assertThat(limit.spend("a").retryIn()).isEqualTo(Duration.ofNanos(SECOND / 3));
    assertThat(limit).hasToString("limit Limit: burst 10, 10 per PT1H and burst 3, 3 per PT1S");
    assertThat(Limit.of(AN_HOUR, A_SECOND).spend("x").quotas()).hasSize(2);
    assertThat(limiter.limit(OTHER, AN_HOUR, A_SECOND).spend("x").quotas()).hasSize(2);
  }

  @Test
  void lease_spendsOneTokenAtATime() {
    try (Lease lease = limiter.lease("Calls", "a", 100)) {
      assertThat(lease.trySpend()).isTrue();
      assertThat(remaining()).containsExactly(9L, 2L);
      assertThat(lease.trySpend()).isTrue();
      assertThat(lease.trySpend()).isTrue();
      assertThat(lease.trySpend()).isFalse();
      limits.replace(limits(AN_HOUR));
      assertThat(lease.trySpend()).isTrue();
      limits.replace(limits(AN_HOUR, A_SECOND));
      assertThat(lease.trySpend()).isFalse();
      assertThat(remaining()).as("what was held is back").containsExactly(6L, 0L);
    }
  }

  @Test
  void penalty_deniesAndSpendsNothing() {
    Instant end = Instant.ofEpochSecond(nowNanos.get() / SECOND + 60);
    limits.replace(limits.get().withPenalties(List.of(new Penalty(CALLS, "a", end, 0, ""))));
    Decision denied = limiter.spend("Calls", "a");
    assertThat(denied.penalty()).isNotNull();
    assertThat(denied.retryIn()).isEqualTo(Duration.ofMinutes(1));
    limits.replace(limits.get().withPenalties(List.of()));
    assertThat(remaining()).containsExactly(10L, 3L);
  }

  @Test
  void observer_seesOneDecisionOfALimit() {
    List<Decision> seen = new ArrayList<>();
    LimiterObserver observer =
        new LimiterObserver() {
          @Override
          public void decided(Act act, Decision decision, long nanos) {
            seen.add(decision);
          }
        };
    Limiter observed = Limiter.builder(limits, store).observer(observer).build();
    assertThat(observed.spend("Calls", "a").allowed()).isTrue();
    assertThat(seen).hasSize(1);
    assertThat(seen.get(0).quotas()).hasSize(2);
  }

  @Test
  void store_gone_eachQuotaIsShared() {
    BucketStore gone =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new StoreException("gone");
          }
        };
    Limiter alone =
        Limiter.builder(limits, gone).time(nowNanos::get).onFailure(FailureRule.local(2)).build();
    Decision first = alone.spend("Calls", "a");
    assertThat(first.decidedBy()).isEqualTo(DecidedBy.LOCAL);
    assertThat(first.quotas())
        .extracting(one -> one.transaction().quota().burst())
        .containsExactly(5L, 1L);
    assertThat(alone.spend("Calls", "a").denied()).isTrue();
    assertThat(alone.spend("Calls", "b", 2).decidedBy()).isEqualTo(DecidedBy.DENY);
  }

  // Debts

  @Test
  void secondQuota_shrunk_doesNotLockOut() {
    Quota day = Quota.per(1_000, Duration.ofDays(1));
    limits.replace(limits(day, Quota.per(100, Duration.ofHours(1))));
    for (int i = 0; i < 100; i++) {
      assertThat(limiter.spend("Calls", "a").allowed()).isTrue();
    }
    limits.replace(limits(day, Quota.burst(1).refill(100, Duration.ofHours(1)))); // a debt of 1 h
    // The longest wait of the limit adds 2 h to the depth: none of this is a debt.
    assertThat(limiter.spend("Calls", "a").retryIn()).isGreaterThan(Duration.ofMinutes(59));
    Limiter without = Limiter.builder(limits(day), memory).time(nowNanos::get).build();
    List<Quota> large = List.of(day, Quota.per(100, Duration.ofHours(1)));
    List<Quota> small = List.of(day, Quota.burst(1).refill(100, Duration.ofHours(1)));
    for (int i = 0; i < 100; i++) {
      assertThat(without.spend(Transaction.of(OTHER, large, "a")).allowed()).isTrue();
    }
    Transaction shrunk = Transaction.of(OTHER, small, "a");
    assertThat(without.check(shrunk).retryIn()).isEqualTo(Duration.ofHours(1));
    Decision forgiven = without.spend(shrunk);
    assertThat(forgiven.denied()).isTrue();
    assertThat(forgiven.retryIn()).isEqualTo(Duration.ofSeconds(36));
    nowNanos.addAndGet(36 * SECOND);
    assertThat(without.spend(shrunk).allowed()).isTrue();
  }

  /** As for limits with one quota: what the larger one allows, and one forgiven debt more. */
  @Test
  void twoListsInTurns_giveOutWhatTheLargerAllows_andOneForgivenDebtMore() {
    Quota day = Quota.per(1_000_000, Duration.ofDays(1));
    List<Quota> slow = List.of(day, Quota.burst(300).refill(300, Duration.ofHours(3)));
    List<Quota> fast = List.of(day, Quota.burst(300).refill(600, Duration.ofHours(3)));
    // The periods are equal, so the two share a bucket.
    Limiter one = limiter(memory);
    Limiter other = limiter(memory);
    int granted = 0;
    for (int turn = 0; turn < 50; turn++) {
      for (int i = 0; i < 301; i++) {
        granted += one.spend(Transaction.of(OTHER, fast, "a")).allowed() ? 1 : 0;
      }
      for (int i = 0; i < 301; i++) {
        granted += other.spend(Transaction.of(OTHER, slow, "a")).allowed() ? 1 : 0;
      }
    }
    assertThat(granted).isEqualTo(300 + 150 + 150);
  }
}
