// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Stores that fail, answer late or not at all, on each of the engine's ways to them. */
final class EngineTest {

  private static final LimitName CALLS =
      LimitName.builder(1, "Calls").id(IdFormat.string()).longestWait(Duration.ofDays(1)).build();
  private static final Quota THREE = Quota.per(3, Duration.ofHours(3));
  private static final Limits LIMITS =
      Limits.builder(Catalogue.of(CALLS)).limit("Calls", THREE).build();
  private static final long NOW = 1_000_000_000_000L;

  private final BucketStore memory = BucketStore.inMemory(() -> NOW);

  /** Answers blocking calls at once, and others as a test says. */
  private abstract class Network implements BucketStore {
    @Override
    public List<Reading> charge(List<Charge> charges) {
      return memory.charge(charges);
    }

    @Override
    public abstract CompletionStage<List<Reading>> chargeAsync(List<Charge> charges);
  }

  private static <T> T joined(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  /** Such a stage throws when it is asked whether it is done: what it had charged was lost. */
  @Test
  void async_storeThatReturnsStagesOfOtherKinds_isAnsweredAsAnyOther() {
    AsyncLimiter limiter =
        Limiter.of(
                LIMITS,
                new Network() {
                  @Override
                  public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
                    return memory
                        .chargeAsync(charges)
                        .thenApply(r -> r)
                        .toCompletableFuture()
                        .minimalCompletionStage();
                  }
                })
            .async();

    assertThat(joined(limiter.spend("Calls", "a")).remaining()).isEqualTo(2);
    Reservation held = joined(limiter.reserve("Calls", "a"));
    assertThat(held.decision().remaining()).isEqualTo(1);
    joined(held.cancelAsync());
    assertThat(joined(limiter.refund("Calls", "a")).remaining()).isEqualTo(3);
    assertThat(joined(limiter.acquire("Calls", "a", Duration.ZERO)).allowed()).isTrue();
    assertThat(joined(limiter.check("Calls", "a")).remaining()).isEqualTo(1);
  }

  /** It answered 2^63-1 tokens and the year 1970. */
  @Test
  void refundOfOneCheckOnlyTransaction_saysWhatTheBucketHolds() {
    Limiter limiter = Limiter.of(LIMITS, memory);
    Decision spent = limiter.spend("Calls", "a");
    Transaction checkOnly = limiter.transaction("Calls", "a").checkOnly();

    for (Decision refund :
        List.of(limiter.refund(checkOnly), joined(limiter.async().refund(checkOnly)))) {
      assertThat(refund.denied()).isTrue();
      assertThat(refund.remaining()).isEqualTo(2);
      assertThat(refund.tat()).isEqualTo(spent.tat());
      assertThat(refund.limited()).isTrue();
    }
    assertThat(limiter.check("Calls", "a").remaining()).isEqualTo(1);
  }

  /** As part of a batch it decides nothing; alone, it is what was asked about. */
  @Test
  void checkOfOneSpendOnlyTransaction_looksAtTheBucket() {
    Limiter limiter = Limiter.of(LIMITS, memory);
    var unused = limiter.spend("Calls", "a", 3);
    Transaction spendOnly = limiter.transaction("Calls", "a").spendOnly();

    for (Decision check :
        List.of(limiter.check(spendOnly), joined(limiter.async().check(spendOnly)))) {
      assertThat(check.denied()).isTrue();
      assertThat(check.retryIn()).isEqualTo(Duration.ofHours(1));
    }
    assertThat(limiter.check(List.of(spendOnly)).allowed()).isTrue();
  }

  /** A table that is full refuses at once, and the stage carries the refusal. */
  @Test
  void async_storeThatAnswersAtOnce_failsTheStage() {
    AsyncLimiter full = Limiter.of(LIMITS, BucketStore.inMemory(() -> NOW, 1)).async();
    assertThat(joined(full.spend("Calls", "a")).allowed()).isTrue();
    CompletionStage<Decision> refused = full.spend("Calls", "b");
    assertThat(refused.toCompletableFuture())
        .isCompletedExceptionally()
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withCauseInstanceOf(StoreException.class);
  }

  /** No rule stands in for a fault of the program: the caller must hear of it. */
  @Test
  void async_failureThatIsNotTheStores_isNotAnsweredByARule() {
    IllegalStateException fault = new IllegalStateException("a fault");
    BucketStore faulty =
        new Network() {
          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            return CompletableFuture.failedFuture(fault);
          }
        };
    AsyncLimiter limiter =
        Limiter.builder(new CurrentLimits(LIMITS), faulty)
            .onFailure(FailureRule.allow())
            .build()
            .async();
    assertThatThrownBy(() -> joined(limiter.spend("Calls", "a"))).hasRootCause(fault);
    assertThatThrownBy(() -> joined(limiter.refund("Calls", "a", 1))).hasRootCause(fault);
    assertThatThrownBy(() -> joined(limiter.reserve("Calls", "a", 1))).hasRootCause(fault);
    assertThatThrownBy(() -> joined(limiter.acquire("Calls", "a", 1, Duration.ofMinutes(1))))
        .hasRootCause(fault);
  }

  private static CurrentLimits penalized() {
    Instant end = Instant.ofEpochSecond(0, NOW).plus(Duration.ofMinutes(10));
    return new CurrentLimits(
        LIMITS.withPenalties(List.of(new Penalty(CALLS, "a", end, 0, "scraper"))));
  }

  private static Limiter away(FailureRule rule) {
    BucketStore away =
        charges -> {
          throw new StoreException("away");
        };
    return Limiter.builder(penalized(), away).time(() -> NOW).onFailure(rule).build();
  }

  /** The look at a penalized bucket fails: the rule answers that, too, and forgives no penalty. */
  @Test
  void penalizedId_storeIsAway_isAnsweredByTheRule() throws InterruptedException {
    Limiter limiter = away(FailureRule.deny());
    Duration wait = Duration.ofMinutes(1);
    for (Reservation reserved :
        List.of(limiter.reserve("Calls", "a"), joined(limiter.async().reserve("Calls", "a", 1)))) {
      assertThat(reserved.denied()).isTrue();
      assertThat(reserved.decision().degraded()).isTrue();
      assertThat(reserved.receipt().parts()).isEmpty();
      reserved.close();
    }
    for (Decision decision :
        List.of(
            limiter.acquire("Calls", "a", wait),
            joined(limiter.async().acquire("Calls", "a", 1, wait)))) {
      assertThat(decision.denied()).isTrue();
      assertThat(decision.degraded()).isTrue();
    }
    Limiter strict = away(FailureRule.fail());
    assertThatThrownBy(() -> joined(strict.async().reserve("Calls", "a", 1)))
        .hasRootCauseInstanceOf(StoreException.class);
    assertThatThrownBy(() -> joined(strict.async().acquire("Calls", "a", 1, wait)))
        .hasRootCauseInstanceOf(StoreException.class);
  }

  @Test
  void penalizedId_reservation_tookNothingThatCouldBeGivenBack() {
    Limiter limiter = Limiter.builder(penalized(), memory).time(() -> NOW).build();
    try (Reservation denied = limiter.reserve("Calls", "a")) {
      assertThat(denied.denied()).isTrue();
      denied.cancel();
      assertThat(denied.receipt().parts()).isEmpty();
    }
    assertThat(limiter.check("Calls", "a", 0).remaining()).isZero();
    assertThat(limiter.openReservations().size()).isZero();
  }

  @Test
  void acquire_aSuppliedQuotaWhoseNumberIsTaken_isRefused() {
    Limiter limiter = Limiter.of(LIMITS, memory);
    LimitName other = LimitName.builder(1, "Plans").longestWait(Duration.ofDays(1)).build();
    Transaction clash = Transaction.of(other, THREE, "a");
    Duration wait = Duration.ofMinutes(1);
    assertThatThrownBy(() -> limiter.acquire(clash, wait).orThrow())
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("number 1, which is the number of Calls in the catalogue");
    assertThatThrownBy(() -> joined(limiter.async().acquire(clash, wait)))
        .hasRootCauseInstanceOf(InvalidRequestException.class);
  }

  /** The first id is answered at once, and the others never. */
  @Test
  void eachOfMany_interrupted_asksForNothingMore() throws Exception {
    List<CompletableFuture<List<Reading>>> underWay = new ArrayList<>();
    CountDownLatch asked = new CountDownLatch(2);
    BucketStore silent =
        new Network() {
          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            CompletableFuture<List<Reading>> never = new CompletableFuture<>();
            underWay.add(never);
            asked.countDown();
            return never;
          }
        };
    Limit limit = Limiter.of(LIMITS, silent).limit("Calls");
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    Thread caller =
        new Thread(
            () -> {
              try {
                boolean[] unused = limit.trySpendEach(List.of("a", "b", "c"));
                thrown.complete(new AssertionError("answered"));
              } catch (RuntimeException e) {
                interrupted.complete(Thread.currentThread().isInterrupted());
                thrown.complete(e);
              }
            });
    caller.start();
    asked.await();
    caller.interrupt();
    assertThat(thrown.get())
        .isInstanceOf(StoreException.class)
        .hasMessage(
            "interrupted while the store decided on several ids; some ids may have been charged");
    assertThat(interrupted.get()).as("who called may want to know").isTrue();
    caller.join();
    assertThat(underWay).hasSize(2).allSatisfy(call -> assertThat(call).isCancelled());
  }

  /** As {@link FailureRule} promises for every failure of the store. */
  @Test
  void eachOfMany_interrupted_isDecidedByTheFailureRule() throws Exception {
    CountDownLatch asked = new CountDownLatch(2);
    BucketStore silent =
        new Network() {
          @Override
          public CompletionStage<List<Reading>> chargeAsync(List<Charge> charges) {
            asked.countDown();
            return new CompletableFuture<>();
          }
        };
    Limit limit =
        Limiter.builder(new CurrentLimits(LIMITS), silent)
            .onFailure(FailureRule.allow())
            .build()
            .limit("Calls");
    CompletableFuture<boolean[]> answers = new CompletableFuture<>();
    Thread caller = new Thread(() -> answers.complete(limit.trySpendEach(List.of("a", "b", "c"))));
    caller.start();
    asked.await();
    caller.interrupt();
    assertThat(answers.get()).containsExactly(true, true, true);
    caller.join();
  }
}
