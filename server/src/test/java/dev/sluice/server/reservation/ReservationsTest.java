// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.base.RefusedException;
import dev.sluice.server.reservation.Reservations.Held;
import dev.sluice.server.reservation.Reservations.TokenException;
import dev.sluice.server.reservation.Reservations.TokenException.Reason;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.ManualTime;
import dev.sluice.wire.WireException;
import dev.sluice.yaml.internal.LapsingReservations;
import dev.sluice.yaml.internal.LongestReservations;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two servers of a fleet, with one store and one key. */
final class ReservationsTest {

  private static final String LOGINS = "Logins";
  private static final Duration LIFE = Duration.ofMinutes(10);
  private static final TokenKey KEY = TokenKey.of("k".repeat(32).getBytes(StandardCharsets.UTF_8));
  private static final Catalogue CATALOGUE =
      Catalogue.of(LimitName.builder(1, LOGINS).id(IdFormat.string()).build());

  private final AtomicInteger alarms = new AtomicInteger();
  private final ManualTime manual = new ManualTime();
  private final TimeSource time =
      new TimeSource() {
        @Override
        public long nanos() {
          return manual.nanos();
        }

        @Override
        public Future<?> alarm(long atNanos, Runnable task) {
          alarms.incrementAndGet();
          return manual.alarm(atNanos, task);
        }
      };
  private final BucketStore memory = BucketStore.inMemory(time);
  private final AtomicInteger answers = new AtomicInteger(Integer.MAX_VALUE);
  private final AtomicInteger untilOneFails = new AtomicInteger(Integer.MAX_VALUE);
  private boolean isSure = true; // that a store that is away has charged nothing
  private final BucketStore store =
      new BucketStore() {
        @Override
        public List<Reading> charge(List<Charge> charges) {
          if (answers.getAndDecrement() <= 0 || untilOneFails.getAndDecrement() == 0) {
            throw new Away(isSure);
          }
          return memory.charge(charges);
        }
      };
  private final AtomicInteger lostOnes = new AtomicInteger();
  private final AtomicInteger early = new AtomicInteger();
  private final LimiterObserver lost =
      new LimiterObserver() {
        @Override
        public void settlementLost() {
          lostOnes.incrementAndGet();
        }

        @Override
        public void settledEarly(int most) {
          early.incrementAndGet();
        }
      };
  private final CurrentLimits limits =
      new CurrentLimits(limits(Quota.per(10, Duration.ofHours(1))));
  private final Limiter limiter = limiter();
  private final Reservations here =
      new Reservations(limiter, store, KEY, lost, time, Reservations.MOST_MARKS);
  private final Reservations there =
      new Reservations(limiter(), store, KEY, lost, time, Reservations.MOST_MARKS);

  /** The access of a caller that may use all limits. */
  private static void mayUse(String limit) {}

  private static Limits limits(Quota quota) {
    return Limits.builder(CATALOGUE).limit(LOGINS, quota).build();
  }

  private Limiter limiter() {
    return Limiter.builder(limits, store).time(time).observer(lost).build();
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

  @AfterEach
  void close() {
    memory.close();
  }

  private Held reserve(long cost) {
    List<Transaction> one = List.of(limiter.transaction(LOGINS, "a").withCost(cost));
    return here.reserve(one, LIFE).toCompletableFuture().join();
  }

  private String token(long cost) {
    Held held = reserve(cost);
    assertThat(held.token()).isNotNull();
    return held.token();
  }

  private static void cancel(Reservations at, String token) {
    at.cancel(token, ReservationsTest::mayUse).toCompletableFuture().join();
  }

  private static void assertRefused(Reservations at, String token, Reason reason) {
    assertThatThrownBy(() -> cancel(at, token))
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(
            TokenException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }

  private long remaining() {
    return limiter.check(LOGINS, "a", 0).remaining();
  }

  @Test
  void cancel_whereItWasMade_givesBack() {
    String token = token(4);
    assertThat(remaining()).isEqualTo(6);

    cancel(here, token);

    assertThat(remaining()).isEqualTo(10);
  }

  @Test
  void cancel_atAnotherServer_givesBack() {
    String token = token(4);

    cancel(there, token);

    assertThat(remaining()).isEqualTo(10);
  }

  @Test
  void cancel_twice_isRefused_whereverItIsAsked() {
    String token = token(4);
    cancel(there, token);
    token(4);

    assertRefused(here, token, Reason.USED);
    assertRefused(there, token, Reason.USED);
    assertThat(remaining()).isEqualTo(6);
  }

  private static Settlement settle(Reservations at, String token, long cost) {
    return at.settle(token, ReservationsTest::mayUse, Costs.of(LOGINS, cost))
        .toCompletableFuture()
        .join();
  }

  @Test
  void settle_whereverItIsAsked_replacesTheCost_once() {
    for (Reservations server : List.of(here, there)) {
      limiter.reset(LOGINS, "a");
      String lower = token(4);
      assertThat(settle(server, lower, 1).parts().get(0).givenBack()).isEqualTo(3);
      assertThat(remaining()).isEqualTo(9);
      String higher = token(4);
      Settlement.Part part = settle(server, higher, 11).parts().get(0);
      assertThat(List.of(part.charged(), part.cut())).containsExactly(9L, 2L);

      for (String used : List.of(lower, higher)) {
        assertRefused(here, used, Reason.USED);
        assertRefused(there, used, Reason.USED);
        assertThatThrownBy(() -> settle(there, used, 1)).hasCauseInstanceOf(TokenException.class);
      }
    }
  }

  @Test
  void settle_afterACancellation_isRefused() {
    String token = token(4);
    cancel(here, token);
    assertThatThrownBy(() -> settle(there, token, 1)).hasCauseInstanceOf(TokenException.class);
    assertThat(remaining()).isEqualTo(10);
  }

  @Test
  void settle_atAnotherServer_afterAllHasRefilled_chargesAHigherCost() {
    limits.replace(limits(Quota.per(10, Duration.ofMinutes(1))));
    String token = token(4);
    manual.advance(Duration.ofMinutes(2));
    assertThat(settle(there, token, 7).parts().get(0).remaining()).isEqualTo(7);
  }

  @Test
  void settle_underALowerBurst_stillCountsAllReservedTokens() {
    String token = token(8);
    limits.replace(limits(Quota.burst(3).refill(10, Duration.ofHours(1))));
    manual.advance(Duration.ofMinutes(9));
    Settlement.Part part = settle(there, token, 8).parts().get(0);
    assertThat(part.charged()).isEqualTo(8);
    assertThat(part.cut()).isZero();
  }

  @Test
  void settle_ofALimitThatIsGone_chargesNothing() {
    String token = token(4);
    limits.replace(
        Limits.builder(Catalogue.of(LimitName.builder(2, "Other").build()))
            .unlimited("Other")
            .build());
    assertThat(settle(there, token, 8)).isEqualTo(new Settlement(true, false, List.of()));
  }

  @Test
  void settle_withoutALimit_orAtACostOfNothing_needsNoMark() {
    limits.replace(Limits.builder(CATALOGUE).unlimited(LOGINS).build());
    String token = token(4);
    assertThat(settle(there, token, 8)).isEqualTo(new Settlement(true, false, List.of()));
    assertThatThrownBy(
            () ->
                there
                    .settle(token, ReservationsTest::mayUse, Costs.of("Login", 1))
                    .toCompletableFuture()
                    .join())
        .hasMessageContaining("the reservation has no limit Login; did you mean \"Logins\"?");
  }

  @Test
  void settle_whileTheStoreIsAway_waits_beforeAndAfterTheMark() {
    for (Reservations server : List.of(here, there)) {
      for (int answered = 0; answered < 2; answered++) {
        limiter.reset(LOGINS, "a");
        String token = token(4);
        answers.set(answered);
        assertThat(settle(server, token, 1)).isEqualTo(new Settlement(false, true, List.of()));
        manual.advance(Duration.ofSeconds(5));
        answers.set(Integer.MAX_VALUE);
        manual.advance(Duration.ofMillis(500));
        assertThat(remaining()).isEqualTo(9);
        assertRefused(here, token, Reason.USED);
        assertRefused(there, token, Reason.USED);
      }
    }
    assertThat(lostOnes).hasValue(0);
  }

  @Test
  void settle_whileTheStoreStaysAway_isLost_onceEach() {
    String first = token(4);
    String second = token(4);
    answers.set(0);
    assertThat(settle(here, first, 1).waiting()).isTrue();
    answers.set(1);
    assertThat(settle(here, second, 1).waiting()).isTrue();
    answers.set(0);
    manual.advance(Duration.ofMillis(10_500));
    assertThat(lostOnes).hasValue(2);
    answers.set(Integer.MAX_VALUE);
    manual.advance(Duration.ofSeconds(1));
    assertThat(remaining()).isEqualTo(2);
    assertThat(settle(there, first, 1).settled()).as("its token was not used").isTrue();
    assertRefused(there, second, Reason.USED);
  }

  @Test
  void settlementsThatWait_settleAReservationOnce() {
    String token = token(4);
    answers.set(0);
    assertThat(settle(here, token, 1).waiting()).isTrue();
    assertThat(settle(there, token, 2).waiting()).isTrue();
    answers.set(Integer.MAX_VALUE);
    manual.advance(Duration.ofMillis(500));
    assertThat(remaining()).isEqualTo(9);
    assertThat(lostOnes).as("the second one was used by the first").hasValue(0);
  }

  @Test
  void settlementThatWaits_allowsNoOtherUseOfTheToken() {
    String token = token(4);
    answers.set(0);
    assertThat(settle(here, token, 1).waiting()).isTrue();
    assertThatThrownBy(() -> settle(here, token, 2)).hasCauseInstanceOf(TokenException.class);
    assertRefused(here, token, Reason.USED);
    manual.advance(Duration.ofMillis(10_500));
    answers.set(Integer.MAX_VALUE);
    assertThat(lostOnes).hasValue(1);
    assertThat(settle(here, token, 2).settled()).as("the other one is lost").isTrue();
  }

  @Test
  void settlementThatWaits_doesNotLapse() {
    lapses();
    String token = token(4);
    manual.advance(LIFE.minusSeconds(2));
    answers.set(0);
    assertThat(settle(here, token, 3).waiting()).isTrue();
    manual.advance(Duration.ofMillis(1_900));
    manual.advance(Duration.ofSeconds(1));
    answers.set(Integer.MAX_VALUE);
    manual.advance(Duration.ofSeconds(1));
    assertThat(lostOnes).hasValue(0);
    assertThat(remaining()).isEqualTo(8); // 10 - 3 and one that has refilled
    assertThat(here.rememberedSize()).isZero();
  }

  @Test
  void settlement_whoseMarkIsLost_isCounted() {
    String token = token(4);
    answers.set(0);
    isSure = false;
    assertThatThrownBy(() -> settle(here, token, 1)).hasCauseInstanceOf(StoreException.class);
    assertThat(lostOnes).hasValue(1);
  }

  @Test
  void settlementsThatWait_whenTheServerStops_areLost() {
    String token = token(4);
    answers.set(0);
    assertThat(settle(here, token, 1).waiting()).isTrue();
    here.close();
    assertThat(lostOnes).hasValue(1);
  }

  @Test
  void limitThatTheCallerMayNotUse_isNeitherSettledNorCancelled() {
    String token = token(4);
    Consumer<String> access =
        limit -> {
          throw RefusedException.forbidden(limit, null);
        };
    assertThatThrownBy(() -> there.settle(token, access, Costs.of(LOGINS, 9)))
        .isInstanceOf(RefusedException.class)
        .hasMessage(LOGINS);
    assertThatThrownBy(() -> there.cancel(token, access)).isInstanceOf(RefusedException.class);
    assertThat(remaining()).isEqualTo(6);
    assertThat(settle(here, token, 5).settled()).isTrue();
  }

  @Test
  void reservationsThatLapse_haveOneAlarm() {
    lapses();
    for (int i = 0; i < 100; i++) {
      assertThat(settle(here, token(1), 1).settled()).isTrue();
      limiter.reset(LOGINS, "a");
    }
    assertThat(alarms).hasValue(1);
    Held sooner = here.reserve(one("a"), Duration.ofMinutes(1)).toCompletableFuture().join();
    assertThat(sooner.decision().allowed()).isTrue();
    assertThat(alarms).hasValue(2);
    manual.advance(Duration.ofMinutes(1));
    assertThat(remaining()).isEqualTo(10);
    manual.advance(LIFE);
    assertThat(alarms).hasValue(2);
  }

  @Test
  void reservationThatLapses_butIsRememberedNoMore_isCounted() {
    lapses();
    for (int i = 0; early.get() == 0; i++) {
      var unused = here.reserve(one("b" + i), LIFE).toCompletableFuture().join();
    }
    assertThat(here.rememberedSize()).isGreaterThan(Reservations.MOST_REMEMBERED - 200);
  }

  @Test
  void cancel_whoseRefundTheStoreRefuses_canBeRepeated() {
    String token = token(4);
    untilOneFails.set(1); // the mark is made
    assertThatThrownBy(() -> cancel(here, token)).hasCauseInstanceOf(Away.class);
    assertThat(remaining()).isEqualTo(6);

    cancel(there, token);
    assertThat(remaining()).isEqualTo(10);
    assertRefused(here, token, Reason.USED);
  }

  @Test
  void cancel_whoseRefundMayHaveArrived_isUsed() {
    String token = token(4);
    isSure = false;
    untilOneFails.set(1);
    assertThatThrownBy(() -> cancel(here, token)).hasCauseInstanceOf(Away.class);
    assertRefused(here, token, Reason.USED);
  }

  @Test
  void reservationThatLapses_whileTheStoreIsAway_isGivenBackWhenItIsBack() {
    lapses();
    token(8);
    answers.set(0);
    manual.advance(LIFE);
    answers.set(Integer.MAX_VALUE);
    manual.advance(Duration.ofSeconds(1));
    assertThat(remaining()).isEqualTo(10);
    assertThat(early).hasValue(0);
  }

  @Test
  void reservationThatLapses_whileTheStoreIsAwayForLong_isCounted() {
    lapses();
    token(8);
    answers.set(0);
    manual.advance(LIFE);
    for (int i = 0; i < 50; i++) {
      manual.advance(Duration.ofMillis(250));
    }
    answers.set(Integer.MAX_VALUE);
    assertThat(remaining()).isEqualTo(3); // one came back by itself
    assertThat(early).hasValue(1);
  }

  /** Free ones of another limit's client would otherwise keep the tokens spent. */
  @Test
  void reservationThatLapses_outlastsThoseThatDoNot() {
    lapses();
    token(4);
    limits.replace(limits.get().with(LapsingReservations.class, new LapsingReservations(Set.of())));
    List<Transaction> nothing = List.of(limiter.transaction(LOGINS, "b").withCost(0));
    for (int i = 0; i <= Reservations.MOST_REMEMBERED / 50; i++) {
      var unused = here.reserve(nothing, LIFE).toCompletableFuture().join();
    }
    assertThat(here.rememberedSize()).isLessThanOrEqualTo(Reservations.MOST_REMEMBERED);

    lapses();
    manual.advance(LIFE);
    assertThat(remaining()).isEqualTo(10);
    assertThat(early).hasValue(0);
  }

  @Test
  void settlementThatIsRefused_leavesTheReservationOfAFailureRuleOpen() {
    Limiter local =
        Limiter.builder(limits, store).time(time).onFailure(FailureRule.local(1)).build();
    Reservations server = new Reservations(local, store, KEY, lost, time, Reservations.MOST_MARKS);
    answers.set(0);
    String token = server.reserve(one("a"), LIFE).toCompletableFuture().join().token();
    assertThatThrownBy(() -> server.settle(token, ReservationsTest::mayUse, Costs.of("Login", 1)))
        .hasMessageContaining("the reservation has no limit Login");
    assertThat(settle(server, token, 4).parts().get(0).charged()).isEqualTo(4);
    assertThat(settle(server, token, 4).settled()).isFalse();
  }

  @Test
  void limitWithSeveralQuotas_isSettledAndCancelled_byACallerThatMayUseTheLimit() {
    limits.replace(
        Limits.builder(CATALOGUE)
            .limit(
                LOGINS,
                List.of(Quota.per(10, Duration.ofHours(1)), Quota.per(10, Duration.ofSeconds(1))))
            .build());
    String settled = token(4);
    String cancelled = token(4);
    Set<String> checked = new HashSet<>();
    assertThat(
            there
                .settle(settled, checked::add, Costs.of(LOGINS, 5))
                .toCompletableFuture()
                .join()
                .settled())
        .isTrue();
    there.cancel(cancelled, checked::add).toCompletableFuture().join();
    assertThat(checked).as("the names for which the access is checked").containsExactly(LOGINS);
    assertThat(remaining()).isEqualTo(5);
  }

  @Test
  void token_withAPartThatWasNotCharged_isUnknownToOlderServers() {
    assertThat(token(1)).startsWith("AQ");
    limits.replace(Limits.builder(CATALOGUE).unlimited(LOGINS).build());
    assertThat(token(1)).startsWith("Ag");
  }

  private void lapses() {
    limits.replace(
        limits.get().with(LapsingReservations.class, new LapsingReservations(Set.of(LOGINS))));
  }

  @Test
  void reservation_thatLapses_givesItsTokensBackWhenItExpires() {
    lapses();
    String lapsed = token(4);
    manual.advance(LIFE.minusMillis(1));
    String later = token(2);
    assertThat(remaining()).isEqualTo(5); // one came back by itself
    manual.advance(Duration.ofMillis(1));
    assertThat(remaining()).isEqualTo(8);
    assertRefused(here, lapsed, Reason.EXPIRED);
    assertThatThrownBy(() -> cancel(here, lapsed))
        .as("a client must not refund what came back")
        .hasMessageContaining("expired")
        .hasMessageNotContaining("spent");
    manual.advance(LIFE);
    assertThat(remaining()).isEqualTo(10);
    assertRefused(here, later, Reason.EXPIRED);
    assertThat(here.rememberedSize()).isZero();
  }

  @Test
  void reservation_thatWasSettled_doesNotLapse() {
    lapses();
    String here4 = token(4);
    String there3 = token(3);
    assertThat(settle(here, here4, 3).settled()).isTrue();
    assertThat(settle(there, there3, 2).settled()).isTrue();
    assertThat(remaining()).isEqualTo(5);
    manual.advance(LIFE);
    assertThat(remaining()).isEqualTo(6);
  }

  @Test
  void reservation_withoutLapse_staysSpent() {
    token(4);
    lapses();
    manual.advance(LIFE);
    assertThat(remaining()).isEqualTo(7);
  }

  @Test
  void cancel_afterManyOtherReservations_isStillKnown() {
    String token = token(4);
    List<Transaction> nothing = List.of(limiter.transaction(LOGINS, "b").withCost(0));
    for (int i = 0; i <= Reservations.MOST_REMEMBERED / 50; i++) {
      here.reserve(nothing, LIFE).toCompletableFuture().join();
    }

    cancel(here, token);
    assertRefused(here, token, Reason.USED);

    assertThat(remaining()).isEqualTo(10);
  }

  /** A reservation of many parts takes as much memory as many of one, also if it takes nothing. */
  @ParameterizedTest
  @ValueSource(longs = {0, 1})
  void whatIsRemembered_isBoundedBySize_afterSmallOnesToo(long cost) {
    for (int i = 0; i < 1_000; i++) {
      token(0);
    }
    String last = "";
    for (int i = 0; i < 400; i++) {
      List<Transaction> many = new ArrayList<>();
      for (int id = 0; id < 77; id++) {
        String one = Integer.toString(10_000 + 100 * i + id);
        many.add(limiter.transaction(LOGINS, one).withCost(cost));
      }
      Held held = here.reserve(many, LIFE).toCompletableFuture().join();
      assertThat(held.token()).isNotNull();
      last = held.token();
      assertThat(here.rememberedSize()).isLessThanOrEqualTo(Reservations.MOST_REMEMBERED);
    }
    int full = here.rememberedSize();
    assertThat(full).isGreaterThan(Reservations.MOST_REMEMBERED - Token.LONGEST);
    cancel(here, last);
    assertThat(here.rememberedSize()).isLessThan(full - 3000);
  }

  @Test
  void cancel_ofNothing_mayBeRepeated() {
    limits.replace(Limits.builder(CATALOGUE).unlimited(LOGINS).build());
    String token = token(4);

    cancel(here, token);
    cancel(here, token);
    cancel(there, token);
  }

  @Test
  void cancel_afterItsTime_isRefused() {
    String token = token(4);
    manual.advance(LIFE);

    assertRefused(here, token, Reason.EXPIRED);
    assertThat(remaining()).isEqualTo(7); // one came back by itself
  }

  @Test
  void cancel_lastMoment_twice_isRefused() {
    String token = token(4);
    manual.advance(LIFE.minusMillis(1));
    cancel(there, token);

    assertRefused(there, token, Reason.USED);
  }

  @Test
  void cancel_later_givesBackWhatIsNotRefilled() {
    String token = token(4);
    manual.advance(Duration.ofMinutes(9)); // one and a half tokens

    cancel(there, token);

    assertThat(limiter.check(LOGINS, "a", 0).resetInNanos()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "x",
        "AQ",
        "....",
        "Ä",
        "/../",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      })
  void cancel_ofWhatIsNoToken_isUnknown(String text) {
    assertRefused(here, text, Reason.UNKNOWN);
  }

  @Test
  void cancel_withOneBitChanged_isUnknown() {
    byte[] bytes = Base64.getUrlDecoder().decode(token(1));
    for (int bit = 0; bit < bytes.length * 8; bit++) {
      byte[] forged = bytes.clone();
      forged[bit / 8] ^= (byte) (1 << (bit % 8));
      assertRefused(
          here, Base64.getUrlEncoder().withoutPadding().encodeToString(forged), Reason.UNKNOWN);
    }
  }

  @Test
  void cancel_inAnotherSpelling_isUnknown() {
    assertRefused(here, token(1) + "=", Reason.UNKNOWN);
  }

  @Test
  void cancel_withAnotherKey_isUnknown() {
    String token = token(4);

    assertRefused(
        new Reservations(limiter, store, TokenKey.random(), lost, time, Reservations.MOST_MARKS),
        token,
        Reason.UNKNOWN);
    assertThat(remaining()).isEqualTo(6);
  }

  @Test
  void denial_hasNoToken() {
    token(8);

    Held denied = reserve(3);

    assertThat(denied.decision().denied()).isTrue();
    assertThat(denied.token()).isNull();
  }

  @Test
  void cancel_afterTheLimitShrank_givesNoMoreThanTheBucketHolds() {
    String token = token(8);
    limits.replace(limits(Quota.per(2, Duration.ofHours(1))));

    cancel(there, token);

    assertThat(remaining()).isBetween(0L, 2L);
  }

  @Test
  void cancel_afterTheLimitIsGone_givesBackNothing_andIsUsed() {
    String token = token(8);
    limits.replace(Limits.builder(CATALOGUE).build());

    cancel(there, token);

    assertRefused(there, token, Reason.USED);
  }

  @Test
  void reserve_ofMoreThanATokenHolds_isRefused_beforeAnythingIsSpent() {
    List<Transaction> many = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      many.add(limiter.transaction(LOGINS, "someone " + i));
    }

    assertThatThrownBy(() -> here.reserve(many, LIFE))
        .isInstanceOf(WireException.class)
        .hasMessageContaining("found 100 transactions, whose token would have ");
    assertThat(limiter.check(LOGINS, "someone 0", 0).remaining()).isEqualTo(10);
  }

  @Test
  void token_ofTheMostThatFits_isNoLongerThanPromised() {
    List<Transaction> many = new ArrayList<>();
    for (int i = 0; i < 79; i++) {
      many.add(limiter.transaction(LOGINS, Integer.toString(1000 + i)));
    }
    Held held = here.reserve(many, LIFE).toCompletableFuture().join();

    assertThat(held.token()).hasSizeBetween(Token.LONGEST - 100, Token.LONGEST);
    cancel(there, held.token());
    assertThat(limiter.check(LOGINS, "1078", 0).remaining()).isEqualTo(10);
  }

  @ParameterizedTest
  @ValueSource(strings = {"0s", "999ms", "25h", "soon", "-1m"})
  void life_outOfItsRange_isRefused(String text) {
    assertThatThrownBy(() -> Reservations.life(text, "expires"))
        .isInstanceOfSatisfying(
            WireException.class, e -> assertThat(e.field()).isEqualTo("expires"));
  }

  @Test
  void key_ofTooFewBytes_isRefused() {
    assertThatThrownBy(() -> TokenKey.of(new byte[31]))
        .hasMessage(
            "found a secret of 31 bytes, expected 32 or more: make one with openssl rand -base64 32");
  }

  @Test
  void key_isNotShown() {
    assertThat(KEY.toString()).doesNotContain("kkk");
  }

  @Test
  void marks_refuseNoReservation_andMakeRoomWhenTheyAreGone() {
    Reservations few = new Reservations(limiter, store, KEY, lost, time, 6);
    for (int i = 0; i < 3; i++) {
      cancel(few, few.reserve(one("a"), LIFE).toCompletableFuture().join().token());
    }
    String token = few.reserve(one("a"), LIFE).toCompletableFuture().join().token();
    assertThatThrownBy(() -> settle(few, token, 2))
        .isInstanceOf(RefusedException.class)
        .hasMessageStartingWith(
            "too many reservations of the limit Logins were cancelled or settled");
    assertThat(remaining()).isEqualTo(9);

    manual.advance(LIFE.plus(Reservations.CLOCK_SKEW).plusMinutes(1));

    cancel(few, few.reserve(one("a"), LIFE).toCompletableFuture().join().token());
  }

  @Test
  void marks_ofOneLimit_leaveRoomForTheTokensOfOthers() {
    LimitName ids = LimitName.builder(2, "Ids").build();
    LimitName rare = LimitName.builder(3, "Rare").build();
    Limits all =
        Limits.builder(Catalogue.of(CATALOGUE.get(LOGINS), ids, rare))
            .limit(LOGINS, Quota.per(10, Duration.ofHours(1)))
            .limit("Ids", Quota.per(10, Duration.ofHours(1)))
            .limit("Rare", Quota.per(10, Duration.ofHours(1)))
            .build();
    Reservations few = new Reservations(limiter, store, KEY, lost, time, 8);
    limits.replace(all);
    for (int i = 0; i < 4; i++) {
      cancel(few, few.reserve(one("a"), LIFE).toCompletableFuture().join().token());
    }
    String refused = few.reserve(one("a"), LIFE).toCompletableFuture().join().token();
    assertThatThrownBy(() -> cancel(few, refused)).isInstanceOf(RefusedException.class);

    List<Transaction> other = List.of(limiter.transaction("Ids", "b"));
    for (int i = 0; i < 2; i++) {
      cancel(few, few.reserve(other, LIFE).toCompletableFuture().join().token());
    }
    String third = few.reserve(other, LIFE).toCompletableFuture().join().token();
    assertThatThrownBy(() -> cancel(few, third))
        .isInstanceOf(RefusedException.class)
        .hasMessageContaining("of the limit Ids");
    List<Transaction> last = List.of(limiter.transaction("Rare", "c"));
    cancel(few, few.reserve(last, LIFE).toCompletableFuture().join().token());
    assertThat(limiter.check("Rare", "c", 0).remaining()).isEqualTo(10);
  }

  @Test
  void cancel_beyondTheMarks_isRefused_andOneThatIsRepeatedTakesNoRoom() {
    Reservations few = new Reservations(limiter, store, KEY, lost, time, 4);
    List<String> tokens =
        List.of(
            few.reserve(one("a"), LIFE).toCompletableFuture().join().token(),
            few.reserve(one("a"), LIFE).toCompletableFuture().join().token(),
            few.reserve(one("a"), LIFE).toCompletableFuture().join().token());
    cancel(few, tokens.get(0));
    for (int i = 0; i < 5; i++) {
      assertRefused(few, tokens.get(0), Reason.USED);
    }
    cancel(few, tokens.get(1));
    assertThatThrownBy(() -> few.cancel(tokens.get(2), ReservationsTest::mayUse))
        .isInstanceOf(RefusedException.class);
    assertThat(remaining()).as("the third one stays spent").isEqualTo(9);
  }

  @Test
  void life_beyondTheLongestOfItsLimit_isRefused_whereverTheLimitIs() {
    Duration hour = Duration.ofHours(1);
    assertThatThrownBy(() -> here.reserve(one("a"), hour))
        .isInstanceOf(WireException.class)
        .hasMessage(
            "found 1h, expected at most 10m, the longest reservation of the limit Logins;"
                + " to allow more, set longestReservation: 1h in its default");
    limits.replace(
        limits
            .get()
            .with(LongestReservations.class, new LongestReservations(Map.of(LOGINS, hour))));
    assertThat(here.reserve(one("a"), hour).toCompletableFuture().join().token()).isNotNull();
  }

  private List<Transaction> one(String id) {
    return List.of(limiter.transaction(LOGINS, id));
  }
}
