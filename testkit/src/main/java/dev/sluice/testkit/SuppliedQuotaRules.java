// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.AsyncRules.await;
import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.Bench.OFF;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.Decision;
import dev.sluice.Lease;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.store.BucketStore;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests of quotas that the caller supplies, alone and in batches with named limits. The tests cover
 * every operation.
 */
interface SuppliedQuotaRules extends DrivenStores {

  /** A limit that is in no catalogue. */
  LimitName PLAN = LimitName.builder(77, "CallsPerPlan").build();

  Quota FIVE = Quota.per(5, ofSeconds(1));
  Quota TEN = Quota.per(10, ofSeconds(1));

  private static Transaction plan(Quota quota, long cost) {
    return Transaction.of(PLAN, quota, ID).withCost(cost);
  }

  private static Transaction supplied(String limit, Quota quota, long cost) {
    return Transaction.of(Bench.CATALOGUE.get(limit), quota, ID).withCost(cost);
  }

  @Test
  default void trace_replayedWithSuppliedQuotas_givesTheRecordedDecisions() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      Limits limits = GcraVectors.limits();
      Limits none = Limits.builder(Catalogue.of()).build();
      Limiter limiter = Bench.limiter(new CurrentLimits(none), store, time);
      List<JsonNode> decisions = GcraVectors.decisions();
      int line = 0;
      for (JsonNode act : GcraVectors.trace()) {
        time.set(act.get("at").asLong());
        assertThat(GcraVectors.actSupplied(act, limits, limiter))
            .as("line %d, %s", line + 1, act)
            .isEqualTo(GcraVectors.text(decisions.get(line)));
        line++;
      }
    }
  }

  @Test
  default void spend_nameInNoCatalogue_isDecidedByTheSuppliedQuota() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(plan(FIVE, 5))).isAllowed().hasRemaining(0);
      Decision denied = bench.limiter.spend(plan(FIVE, 1));
      assertThat(denied).isDenied().retriesIn(ofMillis(200)).resetsIn(ofSeconds(1));
      assertThat(denied.limited()).isTrue();
      assertThat(denied.message()).contains("denied: at most 5 per 1s (CallsPerPlan)");
      assertThat(denied.transaction())
          .returns(PLAN, Transaction::name)
          .returns(FIVE, Transaction::quota)
          .returns("77:" + ID, Transaction::bucketKey)
          .returns(Coverage.LIMITED, Transaction::coverage)
          .returns(false, Transaction::overridden);
    }
  }

  @Test
  default void checkRefundAndReset_suppliedQuota_actOnItsBucket() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(plan(FIVE, 4))).isAllowed().hasRemaining(1);
      assertThat(bench.limiter.check(plan(FIVE, 2))).isDenied().retriesIn(ofMillis(200));
      assertThat(bench.limiter.refund(plan(FIVE, 1))).isAllowed().hasRemaining(2);
      assertThat(bench.limiter.check(plan(FIVE, 2))).isAllowed().hasRemaining(0);
      bench.limiter.reset(plan(FIVE, 1));
      assertThat(bench.limiter.refund(plan(FIVE, 1))).isDenied().hasRemaining(5).resetsIn(ZERO);
    }
  }

  @Test
  default void async_suppliedQuota_answersAsTheOtherViewDoes() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(await(bench.limiter.async().spend(plan(FIVE, 4)))).isAllowed().hasRemaining(1);
      assertThat(await(bench.limiter.async().check(plan(FIVE, 2)))).isDenied();
      assertThat(await(bench.limiter.async().refund(plan(FIVE, 1)))).isAllowed().hasRemaining(2);
      Reservation reservation = await(bench.limiter.async().reserve(plan(FIVE, 2)));
      assertThat(reservation.decision()).isAllowed().hasRemaining(0);
      await(reservation.cancelAsync());
      assertThat(bench.limiter.check(plan(FIVE, 0))).hasRemaining(2);
      await(bench.limiter.async().reset(plan(FIVE, 1)));
      assertThat(bench.limiter.check(plan(FIVE, 0))).hasRemaining(5);
    }
  }

  @Test
  default void spend_suppliedQuotaForANameOfTheCatalogue_meetsItsBucketAndNotItsLimits() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.spend(6)).isAllowed().hasRemaining(4);
      Quota faster = Quota.per(20, ofSeconds(2));
      assertThat(bench.limiter.spend(supplied(A, faster, 4))).isAllowed().hasRemaining(10);
      assertThat(bench.state()).hasRemaining(0);
      assertThat(bench.limiter.spend(supplied(OFF, FIVE, 5))).isAllowed().hasRemaining(0);
      assertThat(bench.limiter.spend(supplied(OFF, FIVE, 1))).isDenied();
      assertThat(bench.limiter.spend(OFF, ID)).isAllowed().hasRemaining(Long.MAX_VALUE);
    }
  }

  /**
   * A spend with a large quota can leave a debt for a spend with a small quota. If two quotas use
   * one bucket, the limiter forgives a debt at most once within the refill time τ of the smaller
   * quota.
   */
  @Test
  default void spend_twoQuotasOnOneBucket_forgiveADebtOnce() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Quota large = Quota.per(40, ofSeconds(4));
      assertThat(bench.limiter.spend(plan(large, 40))).isAllowed();
      assertThat(bench.limiter.spend(plan(TEN, 1))).isDenied().retriesIn(ofMillis(100));
      assertThat(bench.limiter.spend(plan(large, 30))).isAllowed().hasRemaining(0);
      assertThat(bench.limiter.spend(plan(TEN, 1))).isDenied().retriesIn(ofMillis(3_100));
      bench.time.advance(ofMillis(3_100));
      assertThat(bench.limiter.spend(plan(TEN, 1))).isAllowed().hasRemaining(0);
    }
  }

  @Test
  default void spend_costOutOfTheSuppliedRange_isRefused() {
    for (long cost : new long[] {-1, 6, Long.MAX_VALUE}) {
      assertThatThrownBy(() -> plan(FIVE, cost))
          .isInstanceOf(InvalidRequestException.class)
          .hasMessageContainingAll("cost", Long.toString(cost), "CallsPerPlan")
          .extracting(thrown -> ((InvalidRequestException) thrown).field())
          .isEqualTo(Field.COST);
    }
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(plan(FIVE, 0))).isAllowed().hasRemaining(5);
    }
  }

  @Test
  default void spendBatch_bothForms_isAllOrNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> batch = List.of(bench.on(A, 3), plan(FIVE, 2), bench.on(OFF, 1));
      Decision first = bench.limiter.spend(batch);
      assertThat(first).isAllowed().hasRemaining(3);
      assertThat(first.parts()).extracting(Decision::remaining).startsWith(7L, 3L);
      assertThat(bench.limiter.spend(batch)).isAllowed().hasRemaining(1);
      Decision denied = bench.limiter.spend(batch);
      assertThat(denied).isDenied().hasRemaining(1).retriesIn(ofMillis(200));
      assertThat(denied.transaction()).returns(PLAN, Transaction::name);
      assertThat(bench.state()).hasRemaining(4);
      assertThat(bench.limiter.refund(batch.subList(0, 2))).isAllowed();
      assertThat(bench.state()).hasRemaining(7);
      assertThat(bench.limiter.check(plan(FIVE, 0))).hasRemaining(3);
    }
  }

  @Test
  default void spendBatch_bothFormsOnOneBucket_isRefused() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThatThrownBy(() -> bench.limiter.spend(List.of(bench.on(A, 1), supplied(A, FIVE, 1))))
          .isInstanceOf(InvalidRequestException.class)
          .hasMessageContaining("1:" + ID);
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  @Test
  default void cancel_suppliedQuota_givesBackByThatQuotaWhateverTheLimitsSay() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation =
          bench.limiter.reserve(
              List.of(plan(FIVE, 3), supplied(OFF, FIVE, 2), supplied(A, FIVE, 1)));
      bench.limits.replace(Limits.builder(Bench.CATALOGUE).build());
      reservation.cancel();
      assertThat(bench.limiter.check(plan(FIVE, 0))).hasRemaining(5).resetsIn(ZERO);
      assertThat(bench.limiter.check(supplied(OFF, FIVE, 0))).hasRemaining(5).resetsIn(ZERO);
      assertThat(bench.limiter.check(supplied(A, FIVE, 0))).hasRemaining(5).resetsIn(ZERO);
    }
  }

  @Test
  default void lease_suppliedQuota_givesOutNoMoreThanIt() {
    try (Bench bench = Bench.tenPerSecond(this);
        Lease lease = bench.limiter.lease(PLAN, FIVE, ID, 3)) {
      for (int token = 0; token < 3; token++) {
        assertThat(lease.trySpend()).isTrue();
      }
      assertThat(bench.limiter.check(plan(FIVE, 0))).hasRemaining(2);
      assertThat(List.of(lease.trySpend(), lease.trySpend(), lease.trySpend()))
          .containsExactly(true, true, false);
    }
  }

  @Test
  default void limit_suppliedQuota_sharesItsBucketsWithTransactions() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Limit limit = bench.limiter.limit(PLAN, FIVE);
      assertThat(limit.trySpend(ID, 2)).isTrue();
      assertThat(limit.spend(ID)).isAllowed().hasRemaining(2);
      assertThat(bench.limiter.spend(plan(FIVE, 2))).isAllowed().hasRemaining(0);
      assertThat(limit.trySpend(ID)).isFalse();
      assertThat(limit.refund(ID, 2)).isAllowed().hasRemaining(2);
      Reservation reservation = limit.reserve(ID, 2);
      assertThat(limit.check(ID)).isDenied();
      reservation.cancel();
      assertThat(limit.check(ID, 2)).isAllowed();
      limit.reset(ID);
      assertThat(bench.limiter.check(plan(FIVE, 5))).isAllowed();
    }
  }

  /** A client of the Redis protocol can supply any bytes as an id. */
  @Test
  default void spend_keysOfAnyBytes_haveABucketEach() {
    LimitName door = LimitName.builder(78, "Throttle").id(IdFormat.bytes()).build();
    try (Bench bench = Bench.tenPerSecond(this)) {
      byte[][] keys = {
        {'a'},
        {'a', 0},
        {(byte) 0xff},
        {(byte) 0xc3, (byte) 0xa9},
        "%FF".getBytes(StandardCharsets.UTF_8)
      };
      for (byte[] key : keys) {
        Transaction all = Transaction.of(door, FIVE, IdFormat.ofBytes(key)).withCost(5);
        assertThat(bench.limiter.spend(all)).as(all.id()).isAllowed().hasRemaining(0);
        assertThat(bench.limiter.spend(all)).as(all.id()).isDenied();
      }
    }
  }

  @Test
  default void spend_numberOrNameOfAnotherLimit_isRefused() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      LimitName sameNumber = LimitName.builder(1, "Mine").build();
      LimitName sameName = LimitName.builder(9, B).build();
      assertRefused(
          bench.limiter, sameNumber, "the number 1, which is the number of A in the catalogue");
      assertRefused(bench.limiter, sameName, "but the catalogue has this limit with the number 2");
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  private static void assertRefused(Limiter limiter, LimitName name, String why) {
    Transaction transaction = Transaction.of(name, FIVE, ID);
    List<Runnable> acts =
        List.of(
            () -> assertThat(limiter.spend(transaction)).isDenied(),
            () -> assertThat(limiter.check(List.of(transaction))).isDenied(),
            () -> limiter.refund(transaction),
            () -> limiter.reset(transaction),
            () -> assertThat(limiter.reserve(transaction).decision()).isDenied(),
            () -> assertThat(limiter.limit(name, FIVE).spend(ID)).isDenied(),
            () -> limiter.lease(name, FIVE, ID, 2).close());
    for (Runnable act : acts) {
      assertThatThrownBy(act::run)
          .isInstanceOf(InvalidRequestException.class)
          .hasMessageContaining(why)
          .extracting(thrown -> ((InvalidRequestException) thrown).field())
          .isEqualTo(Field.LIMIT);
    }
  }
}
