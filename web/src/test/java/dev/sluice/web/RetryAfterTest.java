// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client that obeys Retry-After is not refused again. */
class RetryAfterTest {

  private static final long SEED = 20261121;

  @Test
  void clientThatObeys_isAllowedOnItsNextTry_in1000Of1000Cases() {
    Random random = new Random(SEED);
    int cases = 0;
    while (cases < 1000) {
      Quota perIp = quota(random);
      Quota daily = quota(random);
      Bucket bucket = new Bucket(perIp, daily, random.nextInt(3) * 0.05);
      long cost = random.nextLong(1, Math.min(perIp.burst(), daily.burst()) + 1);
      bucket.nowNanos.addAndGet(random.nextLong(Duration.ofHours(1).toNanos()));
      Decision decision = bucket.spendBoth(cost);
      for (int i = 0; decision.allowed() && i < 200; i++) {
        bucket.nowNanos.addAndGet(random.nextLong(50_000_000));
        decision = bucket.spendBoth(cost);
      }
      if (decision.allowed()) {
        continue;
      }
      cases++;
      String seconds = HeaderProfile.IETF.headers(decision).get("Retry-After");
      bucket.nowNanos.addAndGet(Duration.ofSeconds(Long.parseLong(seconds)).toNanos());

      assertThat(bucket.spendBoth(cost).allowed())
          .as("seed %d, case %d: %s, Retry-After %s", SEED, cases, decision, seconds)
          .isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.03, 0.5, 1})
  void retryAfter_isJitteredAsTheLimitSays(double jitter) {
    Set<Long> seen = new HashSet<>();
    Random random = new Random(SEED);
    for (int i = 0; i < 1000; i++) {
      Bucket bucket =
          new Bucket(
              Quota.per(1, Duration.ofSeconds(1000)), Quota.per(1, Duration.ofDays(1)), jitter);
      bucket.nowNanos.addAndGet(random.nextLong(Duration.ofDays(1).toNanos()));
      assertThat(bucket.spend(1).allowed()).isTrue();

      seen.add(bucket.spend(1).retryAfterSeconds());
    }

    long most = 1000 + (long) (1000 * jitter);
    assertThat(seen).allSatisfy(seconds -> assertThat(seconds).isBetween(1000L, most));
    // Spread over the whole of it, or the clients would still come back together.
    assertThat(seen.size()).isGreaterThanOrEqualTo((int) Math.min(300, most - 1000));
  }

  /** Waits of which 3 % are less than a second, and waits of which it is more. */
  @ParameterizedTest
  @ValueSource(longs = {1, 10, 33, 120})
  void retryAfter_ofClientsDeniedAtTheSameMoment_isSpread(long waitSeconds) {
    Quota quota = Quota.per(1, Duration.ofSeconds(waitSeconds));
    Bucket bucket = new Bucket(quota, Quota.per(1, Duration.ofDays(1)), 0.03);
    assertThat(bucket.spend(1).allowed()).isTrue();
    Map<Long, Integer> clients = new TreeMap<>();
    for (int i = 0; i < 50; i++) {
      clients.merge(bucket.spend(1).retryAfterSeconds(), 1, Integer::sum);
    }
    long most = waitSeconds + Math.max(1, waitSeconds * 3 / 100);
    assertThat(clients.keySet())
        .hasSizeGreaterThan(1)
        .allSatisfy(seconds -> assertThat(seconds).isBetween(waitSeconds, most));
    // A fair coin shows one side 45 times of 50 once in a billion tries.
    assertThat(clients.values()).allSatisfy(together -> assertThat(together).isLessThan(45));
  }

  /** Jitter is drawn for each decision, and a batch and its part are two. */
  @Test
  void retryAfter_ofABatch_isTheWindowOfTheLimitThatDenied() {
    Bucket bucket =
        new Bucket(Quota.per(1, Duration.ofHours(1)), Quota.per(9, Duration.ofDays(1)), 0.5);
    assertThat(bucket.spend(1).allowed()).isTrue();
    for (int i = 0; i < 20; i++) {
      Map<String, String> headers = HeaderProfile.IETF.headers(bucket.spendBoth(1));
      assertThat(headers.get("RateLimit"))
          .isEqualTo("\"per-ip\";r=0;t=%s, \"daily\";r=9", headers.get("Retry-After"));
    }
  }

  @Test
  void message_ofClientsDeniedAtTheSameMoment_isSpreadById() {
    LimitName name = LimitName.builder(1, "PerUser").message("no").build();
    Limits limits =
        Limits.builder(Catalogue.of(name))
            .limit("PerUser", Quota.per(1, Duration.ofMinutes(10)))
            .build();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(() -> 0));
    Set<String> messages = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      assertThat(limiter.spend("PerUser", "user" + i).allowed()).isTrue();
      messages.add(limiter.spend("PerUser", "user" + i).message());
    }
    assertThat(messages).hasSizeGreaterThan(10);
  }

  @Test
  void retryAfter_withoutJitter_isTheWaitRoundedUp() {
    Bucket bucket =
        new Bucket(Quota.per(1, Duration.ofSeconds(10)), Quota.per(1, Duration.ofDays(1)), 0);
    assertThat(bucket.spend(1).allowed()).isTrue();
    assertThat(bucket.spend(1).retryAfterSeconds()).isEqualTo(10);
  }

  @Test
  void retryAfter_ofOneDecision_isTheSameWheneverItIsAsked() {
    Bucket bucket =
        new Bucket(Quota.per(1, Duration.ofHours(1)), Quota.per(1, Duration.ofDays(1)), 1);
    assertThat(bucket.spend(1).allowed()).isTrue();
    Decision denied = bucket.spend(1);

    assertThat(denied.retryAfterSeconds()).isEqualTo(denied.retryAfterSeconds());
    Instant at = denied.decidedAt().plusSeconds(denied.retryAfterSeconds());
    assertThat(denied.message())
        .endsWith("retry after " + at.toString().replace("T", " ").replace("Z", " UTC"));
  }

  @ParameterizedTest
  @ValueSource(doubles = {-0.01, 1.01, Double.NaN, Double.POSITIVE_INFINITY})
  void jitter_outOfItsRange_isRefused(double jitter) {
    assertThatThrownBy(() -> LimitName.builder(1, "a").jitter(jitter))
        .hasMessage(
            "jitter: found %s, expected a share from 0 to 1, such as 0.03".formatted(jitter));
  }

  private static Quota quota(Random random) {
    long intervalNanos = random.nextLong(1, Duration.ofMinutes(10).toNanos());
    return Quota.burst(random.nextLong(1, 20)).refill(1, Duration.ofNanos(intervalNanos));
  }
}
