// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LeaseTest {

  private static final long T = 1_000;
  private static final String NAME = "CallsPerTenant";

  private final AtomicLong nowNanos = new AtomicLong(1_000_000_000L);
  private final CurrentLimits limits = new CurrentLimits(limits(100));
  private final BucketStore store = BucketStore.inMemory(nowNanos::get);
  private final Limiter limiter = Limiter.of(limits, store);

  private static Limits limits(int burst) {
    return Limits.builder(Catalogue.of(LimitName.builder(1, NAME).id(IdFormat.string()).build()))
        .limit(NAME, Quota.burst(burst).refill(1, Duration.ofNanos(T)))
        .build();
  }

  private Lease lease(int tokens, int threads) {
    return limiter.lease(NAME, "hot", tokens, nowNanos::get, threads);
  }

  /** What may be given out, told of every token when it is: a bucket of its own. */
  private Limiter judge() {
    return Limiter.of(limits, BucketStore.inMemory(nowNanos::get));
  }

  @Test
  void tokens_comeFromOneSpend() {
    try (Lease lease = lease(10, 1)) {
      for (int i = 0; i < 10; i++) {
        assertThat(lease.trySpend()).isTrue();
        assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(90);
      }
      assertThat(lease.trySpend()).isTrue();
      assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(80);
    }
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(89);
  }

  /** A store of which others take some tokens before each charge. */
  private BucketStore contended(Deque<Integer> takenByOthers) {
    return charges -> {
      Integer taken = takenByOthers.poll();
      for (int i = 0; taken != null && i < taken; i++) {
        assertThat(limiter.spend(NAME, "hot").allowed()).isTrue();
      }
      return store.charge(charges);
    };
  }

  /** Others may take some in between, and a store may remember an older denial. */
  @Test
  void lease_thatFindsFewerTokensTwice_takesOne() {
    Deque<Integer> takenByOthers = new ArrayDeque<>(List.of(95, 3, 1));
    Lease lease =
        Limiter.of(limits, contended(takenByOthers)).lease(NAME, "hot", 10, nowNanos::get, 1);
    assertThat(lease.trySpend()).isTrue(); // 5 of 10 were there, then 2 of 5, then 1
    assertThat(takenByOthers).isEmpty();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isZero();
    assertThat(lease.trySpend()).isFalse();
  }

  @Test
  void lease_thatFindsNoneAtLast_hasNone() {
    Deque<Integer> takenByOthers = new ArrayDeque<>(List.of(95, 3, 2));
    Lease lease =
        Limiter.of(limits, contended(takenByOthers)).lease(NAME, "hot", 10, nowNanos::get, 1);
    assertThat(lease.trySpend()).as("5 of 10 were there, then 2 of 5, then none").isFalse();
    assertThat(takenByOthers).isEmpty();
  }

  /** A call has one time-out: waiting for others who ask the store must count. */
  @Test
  void callersWhoWaitForOneThatAsks_haveBegunTheirCalls() throws Exception {
    CountDownLatch begun = new CountDownLatch(3);
    CountDownLatch answered = new CountDownLatch(1);
    BucketStore slow =
        new BucketStore() {
          @Override
          public BucketStore forOneCall() {
            begun.countDown();
            return this;
          }

          @Override
          public List<Reading> charge(List<Charge> charges) {
            try {
              answered.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
            return store.charge(charges);
          }
        };
    Lease lease = Limiter.of(limits, slow).lease(NAME, "hot", 10, nowNanos::get, 1);
    ExecutorService callers = Executors.newFixedThreadPool(3);
    List<Future<Boolean>> calls = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      calls.add(callers.submit(lease::trySpend));
    }
    assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
    answered.countDown();
    for (Future<Boolean> call : calls) {
      assertThat(call.get(60, TimeUnit.SECONDS)).isTrue();
    }
    callers.shutdown();
  }

  @Test
  void whatever_isAskedWhenever_neverMoreThanTheLimitAndLittleLess() {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      nowNanos.addAndGet(1_000_000);
      Limiter judge = judge();
      int tokens = 1 + random.nextInt(30);
      int pace = 1 + random.nextInt(40);
      try (Lease lease = lease(tokens, 1)) {
        for (int i = 0; i < 600; i++) {
          if (random.nextInt(pace) == 0) {
            nowNanos.addAndGet(random.nextInt(pace * 1_000));
          }
          switch (random.nextInt(60)) {
            case 0 -> {
              limiter.reset(NAME, "hot");
              judge.reset(NAME, "hot");
            }
            case 1 -> {
              limiter.refund(NAME, "hot", 3);
              judge.refund(NAME, "hot", 3);
            }
            case 2 -> {
              if (limiter.spend(NAME, "hot", 2).allowed()) {
                assertThat(judge.spend(NAME, "hot", 2).allowed()).as("seed %d", seed).isTrue();
              }
            }
            case 3 -> lease.close();
            default -> {
              long left = judge.check(NAME, "hot", 0).remaining();
              if (lease.trySpend()) {
                assertThat(judge.spend(NAME, "hot").allowed()).as("seed %d", seed).isTrue();
              } else {
                assertThat(left).as("seed %d", seed).isLessThanOrEqualTo(tokens + 3L);
              }
            }
          }
        }
      }
    }
  }

  /** Platform threads, and virtual ones where there are some. */
  static Stream<Boolean> kindsOfThreads() {
    return Runtime.version().feature() < 21 ? Stream.of(false) : Stream.of(false, true);
  }

  private static ExecutorService executor(boolean virtual) throws ReflectiveOperationException {
    return virtual
        ? (ExecutorService)
            Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null)
        : Executors.newFixedThreadPool(16);
  }

  @ParameterizedTest(name = "virtual: {0}")
  @MethodSource("kindsOfThreads")
  void many_threads_giveOutTheBurstAndGiveTheRestBack(boolean virtual) throws Exception {
    limits.replace(limits(100_000));
    AtomicLong given = new AtomicLong();
    ExecutorService executor = executor(virtual);
    try (Lease lease = lease(37, 4)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        all.add(
            executor.submit(
                () -> {
                  while (lease.trySpend()) {
                    given.incrementAndGet();
                  }
                }));
      }
      for (Future<?> one : all) {
        one.get(1, TimeUnit.MINUTES);
      }
    } finally {
      executor.shutdownNow();
    }
    long remaining = limiter.check(NAME, "hot", 0).remaining();
    assertThat(given.get() + remaining).isEqualTo(100_000);
    assertThat(remaining).isLessThanOrEqualTo(4 * 37);
  }

  @Test
  void replaced_limits_holdAtOnce_andAnUnlimitedOneAllows() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    limits.replace(limits(12)); // the 10 that were taken are gone for the new limit too
    assertThat(lease.trySpend()).isTrue();
    assertThat(lease.trySpend()).isTrue();
    assertThat(lease.trySpend()).isFalse();
    limits.replace(Limits.builder(limits.get().catalogue()).unlimited("CallsPerTenant").build());
    assertThat(lease.trySpend()).isTrue();
    lease.close();
  }

  @Test
  void tokens_underLimitsThatKeepTheQuota_areAllHandedOut() {
    int given = 0;
    try (Lease lease = lease(10, 1)) {
      for (int i = 0; i < 1_000; i++) {
        limits.replace(limits(100, 1 + i)); // replaced each time, and never for this limit
        given += lease.trySpend() ? 1 : 0;
      }
    }
    assertThat(given).isEqualTo(100);
  }

  @Test
  void tokens_underEqualLimits_areAllHandedOut() {
    int given = 0;
    try (Lease lease = lease(10, 1)) {
      for (int i = 0; i < 1_000; i++) {
        limits.replace(limits(100));
        given += lease.trySpend() ? 1 : 0;
      }
    }
    assertThat(given).isEqualTo(100);
  }

  @Test
  void tokens_underAnotherQuota_areGivenBack() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(90);
    limits.replace(limits(200));
    assertThat(lease.trySpend()).isTrue();
    // The bucket grew by 100; 9 tokens went back, and 10 were taken anew.
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(200 - 1 - 10);
    limits.replace(limits(300));
    lease.close();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(300 - 2);
  }

  @Test
  void tokens_whoseLimitBecomesUnlimited_areGivenBack() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    Catalogue catalogue = limits.get().catalogue();
    limits.replace(Limits.builder(catalogue).unlimited(NAME).build());
    assertThat(lease.trySpend()).isTrue();
    limits.replace(limits(100));
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(99);

    assertThat(lease.trySpend()).isTrue();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(89);
    limits.replace(Limits.builder(catalogue).unlimited(NAME).build());
    lease.close();
    limits.replace(limits(100));
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(98);
  }

  /** A token that was worth a second is worth half of one under twice the rate. */
  @Test
  void tokens_underAFasterQuota_areGivenBackAsThatCountsThem() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    limits.replace(
        Limits.builder(limits.get().catalogue())
            .limit(NAME, Quota.burst(200).refill(2, Duration.ofNanos(T)))
            .build());
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(200 - 20);
    lease.close();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(200 - 20 + 9);
  }

  /** What a lease settles is settled for those who watch refunds, too. */
  @Test
  void tokens_thatWereHandedOut_areNotTracked() {
    Lease lease = lease(2, 1);
    for (int i = 0; i < 6; i++) {
      assertThat(lease.trySpend()).isTrue();
      assertThat(limiter.openReservations().size()).isEqualTo(1);
    }
    lease.close();
    assertThat(limiter.openReservations().size()).isZero();
  }

  @Test
  void tokens_ofAnIdThatIsPenalized_areGivenBack_andNotHandedOut() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    Limits free = limits.get();
    Instant end = Instant.ofEpochSecond(0, nowNanos.get()).plusSeconds(60);
    LimitName name = free.catalogue().get(NAME);
    limits.replace(free.withPenalties(List.of(new Penalty(name, "hot", end, 0, ""))));
    assertThat(lease.trySpend()).isFalse();
    limits.replace(free);
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(99);
    assertThat(limiter.openReservations().size()).isZero();
  }

  /** The limit is another one now, with buckets of its own. */
  @Test
  void tokens_ofALimitWithAnotherNumber_areNotHandedOut() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    LimitName renumbered = LimitName.builder(2, NAME).id(IdFormat.string()).build();
    Limits other =
        Limits.builder(Catalogue.of(renumbered))
            .limit(NAME, Quota.burst(100).refill(1, Duration.ofNanos(T)))
            .build();
    limits.replace(other);
    assertThat(lease.trySpend()).isTrue();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(90);
    limits.replace(limits(100));
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(99);
  }

  @Test
  void tokens_underEqualLimits_areNotAskedForAgain() {
    List<Integer> calls = new ArrayList<>();
    BucketStore counting =
        charges -> {
          calls.add(charges.size());
          return store.charge(charges);
        };
    Lease lease = Limiter.of(limits, counting).lease(NAME, "hot", 10, nowNanos::get, 1);
    for (int i = 0; i < 10; i++) {
      limits.replace(limits(100));
      assertThat(lease.trySpend()).isTrue();
    }
    assertThat(calls).hasSize(1);
  }

  /** The process counts from its boot, and the store from the epoch. */
  @Test
  void tokens_thatAreRefilled_areNotHandedOut_whateverTheClockHereShows() {
    for (long offsetNanos : new long[] {-900_000, 900_000_000}) {
      nowNanos.addAndGet(1_000_000);
      Lease lease = limiter.lease(NAME, "hot", 10, () -> nowNanos.get() + offsetNanos, 1);
      assertThat(lease.trySpend()).isTrue();
      assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(90);
      nowNanos.addAndGet(3 * T);
      assertThat(lease.trySpend()).as("of the seven that are left").isTrue();
      assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(93);
      nowNanos.addAndGet(200 * T);
      assertThat(lease.trySpend()).isTrue();
      assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(90);
      lease.close();
    }
  }

  @Test
  void close_ofAStoreThatFails_throwsItsFailure_andHoldsNothing() {
    StoreException away = new StoreException("away");
    boolean[] failing = new boolean[1];
    BucketStore network =
        charges -> {
          if (failing[0]) {
            throw away;
          }
          return store.charge(charges);
        };
    Lease lease =
        Limiter.builder(limits, network)
            .time(nowNanos::get)
            .build()
            .lease(NAME, "hot", 10, nowNanos::get, 1);
    assertThat(lease.trySpend()).isTrue();
    failing[0] = true;
    assertThatThrownBy(lease::close).isSameAs(away);
    lease.close();
  }

  /** A shutdown must not take one time-out for each share. */
  @Test
  void close_isOneCall_evenIfManySharesHoldTokens() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    BucketStore timed =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            return store.charge(charges);
          }

          @Override
          public BucketStore forOneCall() {
            calls.incrementAndGet();
            return store;
          }
        };
    Lease lease =
        Limiter.builder(limits, timed)
            .time(nowNanos::get)
            .build()
            .lease(NAME, "hot", 10, nowNanos::get, 4);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    for (int i = 0; i < 8; i++) {
      assertThat(threads.submit(lease::trySpend).get(60, TimeUnit.SECONDS)).isTrue();
    }
    threads.shutdown();
    int spends = calls.get();
    assertThat(spends).isGreaterThan(1);
    lease.close();
    assertThat(calls.get() - spends).isOne();
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(100 - 8);
  }

  @Test
  void decisions_areObserved_onceForEachTimeThatTheStoreIsAsked() {
    boolean[] failing = new boolean[1];
    List<String> observed = new ArrayList<>();
    Lease lease =
        Limiter.builder(
                limits,
                charges -> {
                  if (failing[0]) {
                    throw new StoreException("away");
                  }
                  return store.charge(charges);
                })
            .observer(
                new LimiterObserver() {
                  @Override
                  public void decided(Act act, Decision decision, long elapsedNanos) {
                    observed.add(decision.decidedBy() + " " + decision.allowed());
                  }
                })
            .onFailure(FailureRule.allow())
            .build()
            .lease(NAME, "hot", 60, nowNanos::get, 1);
    for (int i = 0; i < 100; i++) {
      assertThat(lease.trySpend()).isTrue();
    }
    assertThat(observed).containsExactly("STORE true", "STORE true"); // 60 tokens, then 40
    assertThat(lease.trySpend()).isFalse();
    failing[0] = true;
    assertThat(lease.trySpend()).isTrue();
    assertThat(observed).containsExactly("STORE true", "STORE true", "STORE false", "ALLOW true");
  }

  /** The buckets are another limit's now. */
  @Test
  void suppliedQuota_whoseNumberAnotherLimitHasNow_isRefused_andItsTokensAreGivenBack() {
    LimitName mine = LimitName.builder(7, "Mine").id(IdFormat.string()).build();
    Quota quota = Quota.burst(100).refill(1, Duration.ofDays(1));
    Lease lease = limiter.lease(mine, quota, "hot", 10);
    assertThat(lease.trySpend()).isTrue();
    LimitName other = LimitName.builder(7, "Other").id(IdFormat.string()).build();
    limits.replace(Limits.builder(Catalogue.of(other)).limit("Other", quota).build());
    assertThatThrownBy(lease::trySpend)
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining("Other");
    lease.close();
    assertThat(limiter.check("Other", "hot", 0).remaining()).isEqualTo(99);
  }

  /** One thread closes the lease, and another goes on. */
  @Test
  void close_holdsNobodyUp() throws Exception {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    lease.close();
    ExecutorService other = Executors.newSingleThreadExecutor();
    assertThat(other.submit(lease::trySpend).get(60, TimeUnit.SECONDS)).isTrue();
    other.shutdown();
  }

  /** What has been refilled by then is not given back once more. */
  @Test
  void tokens_ofALimitThatWasUnlimitedForAWhile_areWorthWhatIsLeft() {
    Lease lease = lease(10, 1);
    assertThat(lease.trySpend()).isTrue();
    limits.replace(Limits.builder(limits.get().catalogue()).build());
    nowNanos.addAndGet(4 * T);
    lease.close();
    limits.replace(limits(100));
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(100);
    assertThat(limiter.spend(NAME, "hot", 100).allowed()).isTrue();
    assertThat(limiter.spend(NAME, "hot", 1).allowed()).isFalse();
  }

  @Test
  void tokens_whoseLimitIsGone_areGivenBackToo() throws Exception {
    tokensAreGivenBack_after(LimitName.builder(2, "Other").build(), UnknownLimitException.class);
  }

  @Test
  void tokens_whoseIdTheLimitAcceptsNoMore_areGivenBackToo() throws Exception {
    LimitName ofAddresses = LimitName.builder(1, NAME).id(IdFormat.ipAddress()).build();
    tokensAreGivenBack_after(ofAddresses, InvalidIdException.class);
  }

  private void tokensAreGivenBack_after(LimitName replacing, Class<? extends Exception> failure)
      throws Exception {
    Lease lease = lease(10, 4);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    for (int i = 0; i < 64; i++) {
      assertThat(threads.submit(lease::trySpend).get(60, TimeUnit.SECONDS)).isTrue();
    }
    threads.shutdown();
    limits.replace(Limits.builder(Catalogue.of(replacing)).build());
    assertThatThrownBy(lease::trySpend).isInstanceOf(failure);
    lease.close();
    limits.replace(limits(100));
    assertThat(limiter.check(NAME, "hot", 0).remaining()).isEqualTo(100 - 64);
  }

  @Test
  void tokens_whateverIsReplacedWhenever_areNeverMoreThanTheLimitAllows() {
    for (long seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      nowNanos.addAndGet(10_000_000);
      int burst = 100;
      limits.replace(limits(burst));
      long start = nowNanos.get();
      long given = 0;
      try (Lease lease = lease(1 + random.nextInt(30), 1)) {
        for (int i = 0; i < 500; i++) {
          if (random.nextInt(10) == 0) {
            nowNanos.addAndGet(random.nextInt(5_000));
          }
          if (random.nextInt(20) == 0) {
            limits.replace(limits(burst, 1 + random.nextInt(3)));
          }
          if (random.nextInt(40) == 0) {
            burst += random.nextInt(20);
            limits.replace(limits(burst));
          }
          given += lease.trySpend() ? 1 : 0;
        }
      }
      long most = burst + (nowNanos.get() - start) / T;
      long left = limiter.check(NAME, "hot", 0).remaining();
      assertThat(given + left).as("seed %d", seed).isLessThanOrEqualTo(most);
    }
  }

  private static Limits limits(int burst, int burstOfAnother) {
    LimitName other = LimitName.builder(2, "Unrelated").build();
    return Limits.builder(limits(burst).catalogue().plus(Catalogue.of(other)))
        .limit(NAME, Quota.burst(burst).refill(1, Duration.ofNanos(T)))
        .limit("Unrelated", Quota.per(burstOfAnother, Duration.ofSeconds(1)))
        .build();
  }

  @Test
  void bad_requests_areRefused() {
    assertThatThrownBy(() -> limiter.lease(NAME, "hot", 0))
        .hasMessageContaining("tokens: found 0, expected at least 1");
    assertThatThrownBy(() -> limiter.lease("Nobody", "hot", 1)).hasMessageContaining("Nobody");
    assertThatThrownBy(() -> limiter.lease(NAME, "", 1)).hasMessageContaining("id is empty");
  }
}
