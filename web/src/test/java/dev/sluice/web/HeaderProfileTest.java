// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.FailureRule;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.store.StoreException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class HeaderProfileTest {

  @Test
  void ietf_allowance_namesPolicyAndWhatIsLeft() {
    assertThat(HeaderProfile.IETF.headers(Bucket.twentyAMinute().spend(1)))
        .containsExactly(
            entry("RateLimit-Policy", "\"per-ip\";q=20;w=60"),
            entry("RateLimit", "\"per-ip\";r=19"));
  }

  @Test
  void ietf_denial_hasTheEffectiveWindowWhereItWasViolatedOnly() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(20).allowed()).isTrue();

    assertThat(HeaderProfile.IETF.headers(bucket.spendBoth(1)))
        .containsExactly(
            entry("Retry-After", "3"),
            entry("RateLimit-Policy", "\"per-ip\";q=20;w=60, \"daily\";q=1000;w=86400"),
            entry("RateLimit", "\"per-ip\";r=0;t=3, \"daily\";r=1000"));
  }

  @Test
  void ietf_denial_showsWhatIsReallyLeftOfTheLimitsThatAllowed() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(18).allowed()).isTrue();
    Decision denied = bucket.spendBoth(5);

    assertThat(HeaderProfile.IETF.headers(denied))
        .containsEntry("RateLimit", "\"per-ip\";r=2;t=9, \"daily\";r=1000");
    assertThat(bucket.limiter.check("daily", "a", 0).remaining()).isEqualTo(1000);
  }

  @Test
  void ietf_refundThatGaveNothingBackInPart_addsNothing() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(7).allowed()).isTrue();
    Decision refund =
        bucket.limiter.refund(
            List.of(
                bucket.limiter.transaction("per-ip", "a").withCost(2),
                bucket.limiter.transaction("daily", "a").withCost(2)));

    assertThat(HeaderProfile.IETF.headers(refund).get("RateLimit")).startsWith("\"per-ip\";r=15,");
  }

  @Test
  void ietf_oneLimitForTwoIds_isOnePolicyWithTheStricterState() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(7).allowed()).isTrue();
    Decision both =
        bucket.limiter.spend(
            List.of(
                bucket.limiter.transaction("per-ip", "b"),
                bucket.limiter.transaction("per-ip", "a")));

    assertThat(HeaderProfile.IETF.headers(both))
        .containsEntry("RateLimit-Policy", "\"per-ip\";q=20;w=60")
        .containsEntry("RateLimit", "\"per-ip\";r=12");
  }

  @Test
  void limitWithSeveralQuotas_hasAPolicyForEach_andOneTripleOfTheStrictest() {
    Limit calls =
        Limit.of(
            List.of(
                Quota.per(1_000, Duration.ofHours(1)),
                Quota.per(10, Duration.ofSeconds(1)),
                Quota.per(9, Duration.ofNanos(900_000))),
            () -> 1_000_000_000_000L);
    assertThat(HeaderProfile.IETF.headers(calls.spend("a", 9)))
        .containsExactly(
            entry(
                "RateLimit-Policy",
                "\"Limit\";q=1000;w=3600, \"Limit/1s\";q=10;w=1, \"Limit/900us\";q=9;w=1"),
            entry("RateLimit", "\"Limit\";r=991, \"Limit/1s\";r=1, \"Limit/900us\";r=0"));
    assertThat(HeaderProfile.LEGACY.headers(calls.check("b", 9)))
        .containsEntry("X-RateLimit-Limit", "10") // which takes longest to allow the cost again
        .containsEntry("X-RateLimit-Remaining", "1");
    Decision denied = calls.spend("a", 5);
    assertThat(HeaderProfile.IETF.headers(denied).get("RateLimit"))
        .matches("\"Limit\";r=991, \"Limit/1s\";r=1;t=[12], \"Limit/900us\";r=0;t=[12]"); // jitter
    assertThat(HeaderProfile.GITHUB.headers(denied))
        .containsEntry("X-RateLimit-Limit", "10")
        .containsEntry("X-RateLimit-Resource", "Limit");
    assertThat(ProblemDetails.quotaExceeded(denied))
        .contains("\"violated-policies\":[\"Limit/1s\",\"Limit/900us\"]");
  }

  @Test
  void ietf_limitWhoseTokensAreUnknown_isNoPolicy() {
    Limiter limiter =
        Limiter.builder(
                Bucket.twentyAMinute().limiter.limits(),
                charges -> {
                  throw new StoreException("away");
                })
            .onFailure("per-ip", FailureRule.local(20))
            .onFailure("daily", FailureRule.allow())
            .build();
    List<Transaction> both =
        List.of(limiter.transaction("per-ip", "a"), limiter.transaction("daily", "a"));
    assertThat(limiter.spend(both).allowed()).isTrue();
    Decision denied = limiter.spend(both);

    assertThat(denied.decidedBy()).isEqualTo(DecidedBy.LOCAL);
    assertThat(HeaderProfile.IETF.headers(denied))
        .containsEntry("RateLimit-Policy", "\"per-ip\";q=1;w=60")
        .hasEntrySatisfying(
            "RateLimit", field -> assertThat(field).matches("\"per-ip\";r=0;t=\\d+"));
  }

  @Test
  void ietf_spendOnly_isNoPolicy() {
    Bucket bucket = Bucket.twentyAMinute();
    Decision both =
        bucket.limiter.spend(
            List.of(
                bucket.limiter.transaction("per-ip", "a").spendOnly(),
                bucket.limiter.transaction("daily", "a")));

    assertThat(HeaderProfile.IETF.headers(both)).containsEntry("RateLimit", "\"daily\";r=999");
  }

  @Test
  void legacy_resetIsSecondsUntilFullRoundedUp() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(3).allowed()).isTrue();
    bucket.nowNanos.addAndGet(1);

    assertThat(HeaderProfile.LEGACY.headers(bucket.spend(0)))
        .containsExactly(
            entry("X-RateLimit-Limit", "20"),
            entry("X-RateLimit-Remaining", "17"),
            entry("X-RateLimit-Reset", "9"));
  }

  @Test
  void draft03_isTheTripleWithoutX() {
    assertThat(HeaderProfile.DRAFT03.headers(Bucket.twentyAMinute().spend(2)))
        .containsExactly(
            entry("RateLimit-Limit", "20"),
            entry("RateLimit-Remaining", "18"),
            entry("RateLimit-Reset", "6"));
  }

  @Test
  void github_resetAtAFullSecond_isThatSecond() {
    assertThat(HeaderProfile.GITHUB.headers(Bucket.twentyAMinute().spend(5)))
        .containsEntry("X-RateLimit-Reset", "1700000015"); // 5 tokens, 3 seconds each
  }

  @Test
  void github_resetIsAnInstantInEpochSeconds() {
    Bucket bucket = Bucket.twentyAMinute();
    bucket.nowNanos.addAndGet(1);

    assertThat(HeaderProfile.GITHUB.headers(bucket.spend(5)))
        .containsExactly(
            entry("X-RateLimit-Limit", "20"),
            entry("X-RateLimit-Remaining", "15"),
            entry("X-RateLimit-Used", "5"),
            entry("X-RateLimit-Reset", "1700000016"),
            entry("X-RateLimit-Resource", "per-ip"));
  }

  @Test
  void none_denial_hasRetryAfterAlone() {
    Bucket bucket = Bucket.twentyAMinute();
    assertThat(bucket.spend(20).allowed()).isTrue();

    assertThat(HeaderProfile.NONE.headers(bucket.spend(1)))
        .containsExactly(entry("Retry-After", "3"));
  }

  @ParameterizedTest
  @EnumSource
  void retryAfter_standsOnDenialsOnly(HeaderProfile profile) {
    Bucket bucket = Bucket.twentyAMinute();

    // A cost other than 1 can wait for itself and still be allowed now: no Retry-After then.
    Decision allowed = bucket.spend(15);
    assertThat(allowed.retryInNanos()).isPositive();
    assertThat(profile.headers(allowed)).doesNotContainKey("Retry-After");
    assertThat(profile.headers(bucket.spend(15))).containsEntry("Retry-After", "30");
  }

  @ParameterizedTest
  @EnumSource
  void disabledLimit_hasNoHeaders(HeaderProfile profile) {
    Bucket bucket = Bucket.twentyAMinute();

    assertThat(profile.headers(bucket.limiter.spend("disabled", "a"))).isEmpty();
    assertThat(
            profile.headers(
                bucket.limiter.spend(List.of(bucket.limiter.transaction("disabled", "a")))))
        .isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void refundThatGaveNothingBack_isNoDenial(HeaderProfile profile) {
    assertThat(profile.headers(Bucket.twentyAMinute().limiter.refund("per-ip", "a")))
        .doesNotContainKey("Retry-After");
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "999999999, 1", "1000000000, 1", "1000000001, 2", "2000000000, 2"})
  void retryAfter_roundsUpFromNanoseconds(long waitNanos, String seconds) {
    Bucket bucket =
        new Bucket(Quota.per(1, Duration.ofNanos(waitNanos)), Quota.per(1, Duration.ofDays(1)));
    assertThat(bucket.spend(1).allowed()).isTrue();

    assertThat(HeaderProfile.NONE.headers(bucket.spend(1))).containsEntry("Retry-After", seconds);
  }

  @ParameterizedTest
  @EnumSource
  void extremeQuotas_haveWholePositiveNumbers(HeaderProfile profile) {
    Bucket bucket =
        new Bucket(
            Quota.burst(Long.MAX_VALUE).refill(1_000_000_000, Duration.ofSeconds(1)),
            Quota.per(1, Duration.ofNanos(Long.MAX_VALUE)));

    assertThat(profile.headers(bucket.spendBoth(1)).toString())
        .doesNotContain("-9")
        .doesNotContain("=-");
    assertThat(profile.headers(bucket.spendBoth(1)).toString())
        .doesNotContain("-9")
        .doesNotContain("=-");
  }
}
