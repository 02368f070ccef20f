// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.SpendPipeline;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Spends that are decided on together: what the limiter decides one by one. */
final class SpendPipelineTest {

  private static final LimitName CALLS = LimitName.builder(1, "Calls").build();
  private static final LimitName BYTES = LimitName.builder(2, "Bytes").id(IdFormat.bytes()).build();
  private static final Quota TEN = Quota.per(10, Duration.ofSeconds(10));
  private static final Quota FIVE = Quota.per(5, Duration.ofSeconds(10));

  /** With a tolerance of 3 s, a bucket that the others emptied is in debt. */
  private static final Quota THREE = Quota.burst(3).refill(1, Duration.ofSeconds(1));

  private static final long MINUTE = 60_000_000_000L;

  private final AtomicLong nowNanos = new AtomicLong(1_000_000_000_000L);
  private final List<String> heard = new ArrayList<>();
  private final List<String> stored = new ArrayList<>();

  /** Tells what it is told. */
  private final class Watch implements LimiterObserver {
    @Override
    public void decided(Act act, Decision decision, long elapsedNanos) {
      String pace = elapsedNanos >= 0 && elapsedNanos < MINUTE ? "" : "in no time, or for ever: ";
      heard.add(pace + act + " " + decision.transaction() + " " + answer(decision));
    }

    @Override
    public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
      stored.add(act + " " + charges + (failure == null ? "" : " failed"));
    }
  }

  private Limiter limiter(Limits limits, BucketStore store) {
    return Limiter.builder(new CurrentLimits(limits), store).observer(new Watch()).build();
  }

  private Limiter limiter() {
    return limiter(none(), BucketStore.inMemory(nowNanos::get));
  }

  private static Limits none() {
    return Limits.builder(Catalogue.of()).build();
  }

  private static SpendPipeline spends(Limit limit) {
    return Objects.requireNonNull(limit.spends());
  }

  private static boolean add(SpendPipeline spends, String id, @Nullable Quota quota, long cost) {
    byte[] bytes = ("<" + id + ">").getBytes(StandardCharsets.UTF_8);
    return spends.add(bytes, 1, bytes.length - 2, quota, cost);
  }

  private static List<String> decide(SpendPipeline spends) {
    List<String> answers = new ArrayList<>();
    spends.decide(
        new SpendPipeline.Outcome() {
          @Override
          public void decided(
              int index,
              Quota quota,
              boolean allowed,
              long remaining,
              long retryInNanos,
              long resetInNanos) {
            assertThat(index).isEqualTo(answers.size());
            answers.add("%s %s %s %s".formatted(allowed, remaining, retryInNanos, resetInNanos));
          }

          @Override
          public void degraded(
              int index,
              String rule,
              Quota quota,
              boolean allowed,
              long remaining,
              long retryInNanos,
              long resetInNanos) {
            decided(index, quota, allowed, remaining, retryInNanos, resetInNanos);
            answers.set(index, answers.get(index) + " degraded");
          }

          @Override
          public void failed(int index, RuntimeException failure) {
            assertThat(index).isEqualTo(answers.size());
            answers.add(String.valueOf(failure.getMessage()));
          }
        });
    return answers;
  }

  private static String answer(Decision decision) {
    return "%s %s %s %s"
        .formatted(
            decision.allowed(),
            decision.remaining(),
            decision.retryInNanos(),
            decision.resetInNanos());
  }

  /** Also two quotas on one bucket, which leaves debts that are forgiven. */
  @Test
  void randomSpends_areDecidedAndObservedAsOneByOne() {
    Random random = new Random(15);
    Limiter together = limiter();
    Limiter alone =
        Limiter.builder(new CurrentLimits(none()), BucketStore.inMemory(nowNanos::get)).build();
    SpendPipeline spends = spends(together.limit(BYTES, TEN));
    for (int round = 0; round < 500; round++) {
      List<String> expected = new ArrayList<>();
      List<String> observed = new ArrayList<>();
      heard.clear();
      int size = 1 + random.nextInt(SpendPipeline.CAPACITY);
      for (int i = 0; i < size; i++) {
        String id = "id" + random.nextInt(4);
        Quota quota = random.nextInt(3) == 0 ? FIVE : random.nextInt(4) == 0 ? THREE : TEN;
        long cost = random.nextInt(4);
        assertThat(add(spends, id, quota, cost)).isTrue();
        Decision decision = alone.spend(Transaction.of(BYTES, quota, id).withCost(cost));
        expected.add(answer(decision));
        observed.add("SPEND " + decision.transaction() + " " + answer(decision));
      }
      assertThat(spends.size()).isEqualTo(size);
      assertThat(decide(spends)).isEqualTo(expected);
      assertThat(spends.size()).isZero();
      assertThat(heard).containsExactlyInAnyOrderElementsOf(observed);
      nowNanos.addAndGet(random.nextInt(3) * 700_000_000L);
    }
  }

  @Test
  void spends_areOneCallOfTheStore() {
    SpendPipeline spends = spends(limiter().limit(CALLS, TEN));
    assertThat(add(spends, "x", TEN, 1)).isTrue();
    assertThat(add(spends, "y", TEN, 1)).isTrue();

    assertThat(decide(spends)).hasSize(2);

    assertThat(stored).containsExactly("SPEND 2");
  }

  @Test
  void observerThatNeedsNoDecision_isToldWithoutOne() {
    List<String> told = new ArrayList<>();
    LimiterObserver light =
        new LimiterObserver() {
          @Override
          public void decided(Act act, Decision decision, long elapsedNanos) {
            told.add("decision");
          }

          @Override
          public void spent(LimitName limit, Spent spends, long elapsedNanos) {
            told.add(spends.count() + (elapsedNanos < MINUTE ? " spends" : " spends, too slow"));
            for (int i = 0; i < spends.count(); i++) {
              told.add(limit + " " + spends.allowed(i));
            }
          }
        };
    Limiter limiter =
        Limiter.builder(new CurrentLimits(none()), BucketStore.inMemory(nowNanos::get))
            .observer(light)
            .build();
    SpendPipeline spends = spends(limiter.limit(CALLS, TEN));
    assertThat(add(spends, "x", TEN, 10)).isTrue();
    assertThat(add(spends, "x", TEN, 1)).isTrue();

    assertThat(decide(spends)).hasSize(2);

    assertThat(told).containsExactly("2 spends", "Calls true", "Calls false");

    nowNanos.addAndGet(-10 * MINUTE); // the clock steps back: what was spent is a debt now
    told.clear();
    assertThat(add(spends, "x", TEN, 1)).isTrue();
    assertThat(decide(spends)).containsExactly("false 0 1000000000 10000000000");
    assertThat(told)
        .as("of a debt by its decision, and of nothing else")
        .containsExactly("decision");
  }

  @Test
  void add_whatOnlyTheLimitCanDecide_isRefused() {
    SpendPipeline spends = spends(limiter().limit(BYTES, TEN));

    assertThat(add(spends, "100%", TEN, 1)).isFalse(); // to be escaped
    assertThat(add(spends, "käse", TEN, 1)).isFalse();
    assertThat(add(spends, "", TEN, 1)).isFalse();
    assertThat(add(spends, "x", TEN, 11)).isFalse();
    assertThat(add(spends, "x", TEN, -1)).isFalse();
    assertThat(spends.size()).isZero();
  }

  @Test
  void add_underALimitWithAnOverride_isRefused_untilItIsGone() {
    Limits plain = Limits.builder(Catalogue.of(CALLS)).limit("Calls", TEN).build();
    Limits special =
        Limits.builder(Catalogue.of(CALLS))
            .limit("Calls", TEN)
            .override("Calls", "x", FIVE)
            .build();
    CurrentLimits limits = new CurrentLimits(special);
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(nowNanos::get));
    SpendPipeline spends = spends(limiter.limit("Calls"));

    assertThat(add(spends, "y", null, 1)).isFalse();
    limits.replace(plain);
    assertThat(add(spends, "y", null, 1)).isTrue();
    assertThat(decide(spends)).containsExactly("true 9 0 1000000000");
  }

  @Test
  void add_nameThatTheCatalogueGivesToAnother_isRefused() {
    CurrentLimits limits = new CurrentLimits(none());
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(nowNanos::get));
    SpendPipeline spends = spends(limiter.limit(CALLS, TEN));
    LimitName clash = LimitName.builder(1, "Others").build();
    limits.replace(Limits.builder(Catalogue.of(clash)).limit("Others", TEN).build());

    assertThatThrownBy(() -> add(spends, "x", TEN, 1))
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("choose another number");
  }

  @Test
  void fullStore_failsTheSpendsThatItRefuses_andNoOther() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 1);
    SpendPipeline spends = spends(limiter(none(), full).limit(CALLS, TEN));
    for (String id : List.of("x", "y", "x")) {
      assertThat(add(spends, id, TEN, 1)).isTrue();
    }

    List<String> answers = decide(spends);

    assertThat(answers).hasSize(3);
    assertThat(answers.get(0)).isEqualTo("true 9 0 1000000000");
    assertThat(answers.get(1)).contains("1 live buckets");
    assertThat(answers.get(2)).isEqualTo("true 8 0 2000000000");
    assertThat(heard).hasSize(2);
    assertThat(heard.get(0)).endsWith(answers.get(0));
    assertThat(heard.get(1)).endsWith(answers.get(2));
    assertThat(stored).containsExactlyInAnyOrder("SPEND 1 failed", "SPEND 2");
  }

  @Test
  void fullStore_thatRefusesAll_chargedNothingAsFarAsAnybodyHears() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 1);
    Limiter limiter = limiter(none(), full);
    assertThat(limiter.spend(Transaction.of(CALLS, TEN, "x")).allowed()).isTrue();
    stored.clear();
    SpendPipeline spends = spends(limiter.limit(CALLS, TEN));
    for (int round = 0; round < 2; round++) {
      assertThat(add(spends, "y", TEN, 1)).isTrue();
      assertThat(decide(spends)).hasSize(1).allMatch(answer -> answer.contains("1 live buckets"));
    }
    assertThat(stored).containsExactly("SPEND 1 failed", "SPEND 1 failed");
    assertThat(add(spends, "x", TEN, 1)).isTrue();
    assertThat(decide(spends))
        .as("nothing is left of the failures")
        .containsExactly("true 8 0 2000000000");
  }

  @Test
  void fullStore_withARule_isAnsweredByIt() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 1);
    Limiter limiter =
        Limiter.builder(new CurrentLimits(none()), full)
            .observer(new Watch())
            .onFailure(FailureRule.deny())
            .build();
    SpendPipeline spends = spends(limiter.limit(CALLS, TEN));
    assertThat(add(spends, "x", TEN, 1)).isTrue();
    assertThat(add(spends, "y", TEN, 1)).isTrue();

    assertThat(decide(spends))
        .containsExactly("true 9 0 1000000000", "false 0 1000000000 1000000000 degraded");
    assertThat(heard).hasSize(2);
  }

  @Test
  void outcomeThatDoesNotAskWhoDecided_isToldTheAnswersOfARuleToo() {
    BucketStore full = BucketStore.inMemory(nowNanos::get, 1);
    Limiter limiter =
        Limiter.builder(new CurrentLimits(none()), full).onFailure(FailureRule.deny()).build();
    SpendPipeline spends = spends(limiter.limit(CALLS, TEN));
    assertThat(add(spends, "x", TEN, 1)).isTrue();
    assertThat(add(spends, "y", TEN, 2)).isTrue();
    List<String> answers = new ArrayList<>();

    spends.decide(
        new SpendPipeline.Outcome() {
          @Override
          public void decided(
              int index,
              Quota quota,
              boolean allowed,
              long remaining,
              long retryInNanos,
              long resetInNanos) {
            answers.add(
                "%s %s %s %s %s".formatted(index, allowed, remaining, retryInNanos, resetInNanos));
          }

          @Override
          public void failed(int index, RuntimeException failure) {
            answers.add(String.valueOf(failure.getMessage()));
          }
        });

    assertThat(answers).hasSize(2);
    assertThat(answers.get(0)).isEqualTo("0 true 9 0 1000000000");
    assertThat(answers.get(1)).startsWith("1 false 0 ");
  }

  /** A bucket is made by a clock that is read again, later than that of the series. */
  @Test
  void spendsOfABucketThatIsNew_countItsTokens_byAClockThatGoesOn() {
    BucketStore moving = BucketStore.inMemory(() -> nowNanos.addAndGet(1_000));
    SpendPipeline spends = spends(Limiter.of(none(), moving).limit(CALLS, TEN));
    for (int i = 0; i < 3; i++) {
      assertThat(add(spends, "new", TEN, 1)).isTrue();
    }
    List<Long> remaining = new ArrayList<>();
    spends.decide(
        new SpendPipeline.Outcome() {
          @Override
          public void decided(
              int index,
              Quota quota,
              boolean allowed,
              long left,
              long retryInNanos,
              long resetInNanos) {
            remaining.add(left);
          }

          @Override
          public void failed(int index, RuntimeException failure) {
            throw failure;
          }
        });
    assertThat(remaining).containsExactly(9L, 8L, 7L);
  }

  @Test
  void storeThatIsNotInMemory_hasNone() {
    BucketStore batches =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            throw new StoreException("not asked");
          }
        };
    assertThat(Limiter.of(none(), batches).limit(CALLS, TEN).spends()).isNull();
  }
}
