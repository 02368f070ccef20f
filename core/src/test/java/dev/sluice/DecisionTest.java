// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision.DeniedException;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecisionTest {

  private static final Catalogue NAMES =
      Catalogue.of(
          LimitName.builder(1, "NewRegistrationsPerIPAddress")
              .id(IdFormat.ipAddress())
              .message(
                  "too many new registrations ({burst}) from this IP address in the last {goPeriod}")
              .helpLink(
                  "https://letsencrypt.org/docs/rate-limits/#new-registrations-per-ip-address")
              .build(),
          LimitName.builder(3, "NewOrdersPerAccount")
              .id(IdFormat.regId())
              .disabledWithoutDefault()
              .build());
  private static final String LIMIT = "NewRegistrationsPerIPAddress";
  private static final String IP = "192.0.2.7";
  private static final long NOW = 1_700_000_000_123_456_789L;

  private static Limiter limiter(Quota quota, long nowNanos) {
    return Limiter.of(
        Limits.builder(NAMES).limit(LIMIT, quota).build(), BucketStore.inMemory(() -> nowNanos));
  }

  private static Decision denied(Quota quota, long nowNanos) {
    Limiter limiter = limiter(quota, nowNanos);
    assertThat(limiter.spend(LIMIT, IP, quota.burst()).allowed()).isTrue();
    return limiter.spend(LIMIT, IP);
  }

  @Test
  void message_denialAtTheEpoch_readsAsBoulderWritesIt() {
    assertThat(denied(Quota.burst(10).refill(720, Duration.ofHours(1)), 0).message())
        .isEqualTo(
            "too many new registrations (10) from this IP address in the last 1h0m0s,"
                + " retry after 1970-01-01 00:00:05 UTC: see"
                + " https://letsencrypt.org/docs/rate-limits/#new-registrations-per-ip-address");
  }

  @Test
  void message_ofAPenalty_saysSo_andWhereHelpIs() {
    Limits limits =
        Limits.builder(NAMES)
            .limit(LIMIT, Quota.burst(10).refill(720, Duration.ofHours(1)))
            .build();
    Instant end = Instant.ofEpochSecond(5);
    Limiter limiter =
        Limiter.of(
            limits.withPenalties(List.of(new Penalty(NAMES.get(LIMIT), IP, end, 0, ""))),
            BucketStore.inMemory(() -> 0));
    assertThat(limiter.spend(LIMIT, IP).message())
        .isEqualTo(
            "a penalty on this id of the limit NewRegistrationsPerIPAddress is in force,"
                + " retry after 1970-01-01 00:00:05 UTC: see"
                + " https://letsencrypt.org/docs/rate-limits/#new-registrations-per-ip-address");
  }

  @Test
  void toString_tellsTheTransactionToo() {
    assertThat(denied(Quota.burst(10).refill(720, Duration.ofHours(1)), 0))
        .hasToString(
            "denied, remaining 0, retry in PT5S, reset in PT50S,"
                + " CHECK_AND_SPEND 1:192.0.2.7, cost 1, burst 10, 720 per PT1H");
  }

  @Test
  void message_allowanceOrRefund_isEmpty() {
    Limiter limiter = limiter(Quota.per(2, Duration.ofSeconds(1)), NOW);
    assertThat(limiter.spend(LIMIT, IP).message()).isEmpty();
    assertThat(limiter.refund(LIMIT, "192.0.2.8").message()).isEmpty();
    assertThat(limiter.spend(List.of()).message()).isEmpty();
  }

  @Test
  void refund_whereNothingIsLimited_givesNothingBack() {
    Limiter limiter = limiter(Quota.per(2, Duration.ofSeconds(1)), NOW);
    Decision single = limiter.refund("NewOrdersPerAccount", "17");
    assertThat(single.allowed()).isFalse();
    assertThat(single.limited()).isFalse();
  }

  @Test
  void refund_ofABatchInWhichNothingIsLimited_isAllowed_asInBoulder() {
    Limiter limiter = limiter(Quota.per(2, Duration.ofSeconds(1)), NOW);
    Transaction disabled = limiter.transaction("NewOrdersPerAccount", "17");
    Transaction limited = limiter.transaction(LIMIT, IP);
    for (List<Transaction> batch :
        List.of(
            List.<Transaction>of(), List.of(disabled), List.of(disabled, limited.allowOnly()))) {
      Decision refund = limiter.refund(batch);
      assertThat(refund.allowed()).isTrue();
      assertThat(refund.limited()).isFalse();
      assertThat(refund.remaining()).isEqualTo(Long.MAX_VALUE);
      assertThat(refund.message()).isEmpty();
    }
    // Beside a bucket that is limited, it has no say.
    assertThat(limiter.refund(List.of(disabled, limited)).denied()).isTrue();
    assertThat(limiter.spend(LIMIT, IP).allowed()).isTrue();
    assertThat(limiter.refund(List.of(disabled, limited)).allowed()).isTrue();
  }

  @Test
  void limited_saysWhetherALimitWasAsked() {
    Limiter limiter = limiter(Quota.per(2, Duration.ofSeconds(1)), NOW);
    assertThat(limiter.spend(LIMIT, IP).limited()).isTrue();
    assertThat(limiter.spend(List.of(limiter.transaction(LIMIT, IP))).limited()).isTrue();
    Decision open = limiter.spend("NewOrdersPerAccount", "17");
    assertThat(open.limited()).isFalse();
    assertThat(open.transaction()).isNotNull();
    assertThat(open.transaction().coverage()).isEqualTo(Coverage.DISABLED);
    assertThat(limiter.spend(List.of()).limited()).isFalse();
    assertThat(limiter.spend(List.of(limiter.transaction(LIMIT, IP).allowOnly())).limited())
        .isFalse();
  }

  @Test
  void message_idWithMarksThatReverseTheWriting_isEscaped() {
    LimitName name = LimitName.builder(1, "PerUser").message("too many of {id}").build();
    Limits limits =
        Limits.builder(Catalogue.of(name))
            .limit("PerUser", Quota.per(1, Duration.ofSeconds(1)))
            .build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(() -> NOW));
    String id = "eve\u202e\u2028\u200b\u3164\udb40\udc41é😀";
    assertThat(limiter.spend("PerUser", id).toString()).doesNotContain("\u202e", "\u2028");
    assertThat(limiter.spend("PerUser", id).message())
        .startsWith("too many of eve\\u202e\\u2028\\u200b\\u3164\\U000e0041é😀, retry after");
  }

  @Test
  void message_askedTwice_isTheSame() {
    Decision denied = denied(Quota.per(1, Duration.ofDays(365)), NOW);
    assertThat(denied.message()).isEqualTo(denied.message()).isNotEmpty();
  }

  @Test
  void retryAt_anyDenial_isNeverTooEarlyAndAtMostThreePercentLate() {
    Random random = new Random(19);
    for (int i = 0; i < 2_000; i++) {
      long period = 1 + (random.nextLong(Long.MAX_VALUE) >>> 1 >>> random.nextInt(62));
      Decision denied = denied(Quota.per(1, Duration.ofNanos(period)), random.nextLong(2 * NOW));
      Instant earliest = denied.decidedAt().plus(denied.retryIn());
      Duration share = denied.retryIn().dividedBy(33);
      // The header has whole seconds only, and short waits are spread over one more.
      Duration retryAfter = Duration.ofSeconds(denied.retryAfterSeconds());
      assertThat(retryAfter)
          .isBetween(denied.retryIn(), denied.retryIn().plus(share).plusSeconds(2));
      Instant retryAt = denied.retryAt();
      assertThat(retryAt).isEqualTo(retryAt.truncatedTo(ChronoUnit.SECONDS));
      assertThat(retryAt).isAfterOrEqualTo(earliest);
      // Rounded before or after the sum; a short wait is spread by a second in the header alone.
      assertThat(Duration.between(denied.decidedAt().plus(retryAfter), retryAt))
          .isBetween(
              denied.retryIn().toSeconds() < 34 ? Duration.ofSeconds(-2) : Duration.ofSeconds(-1),
              Duration.ofSeconds(1));
      Duration exact = Duration.ofNanos(denied.retryAfterNanos());
      assertThat(exact).isBetween(denied.retryIn(), denied.retryIn().plus(share));
      assertThat(exact.minus(retryAfter).abs()).isLessThan(Duration.ofSeconds(2));
    }
  }

  /** Clients that were denied at one moment, or one client again and again, come back spread. */
  @Test
  void retryAt_ofALongWait_isSpreadEvenlyOverItsShare() {
    Quota quota = Quota.per(1, Duration.ofSeconds(1_000)); // 3 % are 30 s
    Limiter limiter = limiter(quota, 0);
    int[] ofIds = new int[31];
    int[] ofMoments = new int[31];
    for (int i = 0; i < 31 * 64; i++) {
      String id = "10.0." + i / 256 + "." + i % 256;
      assertThat(limiter.spend(LIMIT, id).allowed()).isTrue();
      ofIds[(int) limiter.spend(LIMIT, id).retryAt().getEpochSecond() - 1_000]++;
      long now = i * 1_000_000_000L;
      ofMoments[(int) denied(quota, now).retryAt().getEpochSecond() - 1_000 - i]++;
    }
    // 64 each are expected, and 8 are the standard deviation.
    assertThat(ofIds).satisfies(DecisionTest::areSpread);
    assertThat(ofMoments).satisfies(DecisionTest::areSpread);
  }

  private static void areSpread(int[] counts) {
    for (int count : counts) {
      assertThat(count).isBetween(64 - 50, 64 + 50);
    }
  }

  /** Of one id, too, many are denied at the same moment. */
  @Test
  void retryAfterSeconds_ofTheSameDenial_isSpreadToo() {
    Quota quota = Quota.per(1, Duration.ofSeconds(1_000));
    Limiter limiter = limiter(quota, 0);
    assertThat(limiter.spend(LIMIT, IP).allowed()).isTrue();
    int[] counts = new int[31];
    for (int i = 0; i < 31 * 64; i++) {
      counts[(int) limiter.spend(LIMIT, IP).retryAfterSeconds() - 1_000]++;
    }
    areSpread(counts);
  }

  @Test
  void retryAfterSeconds_withoutJitter_isTheWaitRoundedUp() {
    LimitName exact = LimitName.builder(1, "Exact").jitter(0).build();
    assertThat(deniedBy(exact, Duration.ofSeconds(2)).retryAfterSeconds()).isEqualTo(2);
    assertThat(deniedBy(exact, Duration.ofSeconds(2).plusNanos(1)).retryAfterSeconds())
        .isEqualTo(3);
  }

  private static Decision deniedBy(LimitName name, Duration period) {
    Limits limits =
        Limits.builder(Catalogue.of(name)).limit(name.name(), Quota.per(1, period)).build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(() -> 0));
    assertThat(limiter.spend(name.name(), "a").allowed()).isTrue();
    return limiter.spend(name.name(), "a");
  }

  @Test
  void retryAt_withoutJitter_isRoundedUpToAWholeSecond() {
    LimitName name = LimitName.builder(1, "Exact").jitter(0).build();
    assertThat(deniedBy(name, Duration.ofSeconds(2)).retryAt()).isEqualTo(Instant.ofEpochSecond(2));
    Decision oneMore = deniedBy(name, Duration.ofSeconds(2).plusNanos(1));
    assertThat(oneMore.retryAt()).isEqualTo(Instant.ofEpochSecond(3));
    Decision least = deniedBy(name, Duration.ofNanos(1));
    assertThat(least.retryAt()).isEqualTo(Instant.ofEpochSecond(1));
    assertThat(least.retryAfterNanos()).isEqualTo(1);
  }

  @Test
  void retryAfterNanos_ofAShortWait_isSpreadAndStaysShort() {
    Limiter limiter = limiter(Quota.per(1, Duration.ofMillis(20)), 0);
    assertThat(limiter.spend(LIMIT, IP).allowed()).isTrue();
    Set<Long> waits = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      long wait = limiter.spend(LIMIT, IP).retryAfterNanos();
      assertThat(wait).isBetween(20_000_000L, 20_600_000L);
      waits.add(wait);
    }
    assertThat(waits).hasSizeGreaterThan(50);
  }

  @Test
  void tat_afterASpend_isWhenTheBucketIsFull() {
    Decision decision = limiter(Quota.per(2, Duration.ofSeconds(1)), NOW).spend(LIMIT, IP);
    assertThat(decision.decidedAt()).isEqualTo(Instant.ofEpochSecond(1_700_000_000, 123_456_789));
    assertThat(decision.tat()).isEqualTo(decision.decidedAt().plusMillis(500));
    assertThat(decision.resetIn()).isEqualTo(Duration.ofMillis(500));
  }

  @Test
  void tat_pastTheYear2262_isNotCut() {
    Decision decision =
        limiter(Quota.per(1, Duration.ofNanos(Long.MAX_VALUE)), Long.MAX_VALUE).spend(LIMIT, IP);
    assertThat(decision.tat()).isEqualTo(decision.decidedAt().plus(decision.resetIn()));
    assertThat(decision.tat()).isAfter(Instant.parse("2554-01-01T00:00:00Z"));
  }

  /** The store decided on the stricter part, and a rule on the other one. */
  @Test
  void degraded_onePartOfABatch_isToldOfTheWhole() {
    LimitName other = LimitName.builder(9, "Others").build();
    Limits limits =
        Limits.builder(NAMES.plus(Catalogue.of(other)))
            .limit(LIMIT, Quota.per(1, Duration.ofSeconds(1)))
            .limit("Others", Quota.per(5, Duration.ofSeconds(1)))
            .build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(() -> NOW));
    Decision strict = limiter.spend(LIMIT, IP);
    Decision byRule =
        Limiter.builder(
                new CurrentLimits(limits),
                charges -> {
                  throw new StoreException("away");
                })
            .onFailure(FailureRule.allow())
            .build()
            .spend("Others", "x");
    assertThat(byRule.degraded()).isTrue();
    for (List<Decision> parts : List.of(List.of(strict, byRule), List.of(byRule, strict))) {
      Decision whole = Decision.ofBatch(parts, parts);
      assertThat(whole.degraded()).isTrue();
      assertThat(whole.transaction()).isEqualTo(strict.transaction());
    }
    assertThat(Decision.ofBatch(List.of(strict), List.of(strict, strict)).degraded()).isFalse();
  }

  @Test
  void parts_oneTransaction_areTheDecisionItself() {
    Decision decision = limiter(Quota.per(2, Duration.ofSeconds(1)), NOW).spend(LIMIT, IP);
    assertThat(decision.parts()).containsExactly(decision);
  }

  @Test
  void orThrow_denial_throwsWithItsMessage_andSaysWhereToLook() {
    Decision denied = denied(Quota.per(1, Duration.ofSeconds(1)), NOW);
    assertThatThrownBy(denied::orThrow)
        .isInstanceOf(DeniedException.class)
        .hasMessage(
            denied.message()
                + " (limit %s; the exception's decision() has the id, the quota and the wait)"
                    .formatted(LIMIT))
        .extracting(thrown -> ((DeniedException) thrown).decision())
        .isSameAs(denied);
    Decision allowed = limiter(Quota.per(1, Duration.ofSeconds(1)), NOW).spend(LIMIT, IP);
    assertThat(allowed.orThrow()).isSameAs(allowed);
  }

  /** On the ways straight to a bucket and through the engine, which an observer makes necessary. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void taken_isZeroForWhatTookNothing(boolean isObserved) {
    Catalogue names =
        Catalogue.of(
            LimitName.builder("Small").build(),
            LimitName.builder("Large").build(),
            LimitName.builder("Open").build());
    Limits limits =
        Limits.builder(names)
            .limit("Small", Quota.per(1, Duration.ofHours(1)))
            .limit("Large", Quota.per(10, Duration.ofHours(1)))
            .unlimited("Open")
            .build();
    Limiter.Builder builder =
        Limiter.builder(new CurrentLimits(limits), BucketStore.inMemory(() -> NOW));
    Limiter limiter = (isObserved ? builder.observer(new LimiterObserver() {}) : builder).build();
    Transaction small = limiter.transaction("Small", "a");
    Transaction large = limiter.transaction("Large", "a").withCost(3);
    Transaction open = limiter.transaction("Open", "a").withCost(4);

    assertThat(limiter.spend(large).taken()).isEqualTo(3);
    assertThat(limiter.limit("Large").spend("a", 2).taken()).isEqualTo(2);
    assertThat(limiter.check(large).taken()).isZero();
    assertThat(limiter.check("Large", "a").taken()).isZero();
    assertThat(limiter.check(List.of(small, large)).taken()).isZero();
    assertThat(limiter.limit("Large").check("a", 2).taken()).isZero();
    assertThat(limiter.refund(large).allowed()).isTrue();
    assertThat(limiter.refund(large).taken()).isZero();
    assertThat(limiter.refund(List.of(small, large)).taken()).isZero();
    assertThat(limiter.check(open).taken()).isZero();
    assertThat(limiter.refund(open).taken()).isZero();

    Decision whole = limiter.spend(List.of(small, large, open));
    assertThat(whole.parts()).extracting(Decision::taken).containsExactly(1L, 3L, 4L);
    Decision denied = limiter.spend(List.of(small, large, large.inShadow().spendOnly(), open));
    assertThat(denied.denied()).isTrue();
    assertThat(denied.parts()).extracting(Decision::taken).containsOnly(0L);
    assertThat(limiter.spend(List.of(large.checkOnly(), open)).parts())
        .extracting(Decision::taken)
        .containsExactly(0L, 4L);
  }

  @Test
  void taken_whereAFailureRuleDecides_isZeroForWhatTookNothing() {
    BucketStore away =
        charges -> {
          throw new StoreException("away");
        };
    Limits limits = Limits.builder(NAMES).limit(LIMIT, Quota.per(10, Duration.ofHours(1))).build();
    for (FailureRule rule : List.of(FailureRule.allow(), FailureRule.local(1))) {
      Limiter limiter =
          Limiter.builder(new CurrentLimits(limits), away)
              .onFailure(FailureRule.deny())
              .onFailure(LIMIT, rule)
              .build();
      Transaction one = limiter.transaction(LIMIT, IP);
      assertThat(limiter.spend(one).taken()).isEqualTo(1);
      assertThat(limiter.check(one).allowed()).isTrue();
      assertThat(limiter.check(one).taken()).isZero();
      LimitName other = LimitName.builder("Other").build();
      Transaction denied = Transaction.of(other, Quota.per(1, Duration.ofHours(1)), "a");
      assertThat(limiter.spend(List.of(one, denied)).parts())
          .extracting(Decision::taken)
          .containsExactly(0L, 0L);
    }
  }
}
