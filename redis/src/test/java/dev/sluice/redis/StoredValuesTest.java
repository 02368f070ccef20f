// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What stands in Redis: read and written as Boulder does, and nothing else accepted. */
final class StoredValuesTest {

  private static final String LIMIT = "Orders";
  private static final Limits LIMITS =
      Limits.builder(
              Catalogue.of(
                  LimitName.builder(3, LIMIT).id(IdFormat.string()).build(),
                  LimitName.builder(4, "Slow").id(IdFormat.string()).build()))
          .limit(LIMIT, Quota.per(20, Duration.ofMinutes(10)))
          .limit("Slow", Quota.per(1, Duration.ofNanos(Long.MAX_VALUE)))
          .build();
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final LocalRedis redis = TestServers.singleServer();

  private BucketStore open() {
    return RedisStore.builder(redis.uri())
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1))
        .open();
  }

  private static long nanos(Instant instant) {
    return TimeUnit.SECONDS.toNanos(instant.getEpochSecond()) + instant.getNano();
  }

  private long ttlMillis(String key) {
    return Long.parseLong(String.valueOf(redis.command("PTTL", key)));
  }

  @Test
  void spend_freshBucket_writesTheTatAndALittleLongerLife() {
    try (BucketStore store = open()) {
      Decision decision = Limiter.of(LIMITS, store).spend(LIMIT, "written", 2);
      assertThat(redis.command("GET", "3:written"))
          .isEqualTo("" + nanos(decision.tat()))
          .asString()
          .hasSize(19);
      assertThat(ttlMillis("3:written")).isBetween(1L, 60_010L);
      // Never forgotten before the TAT: when the key is gone, the server's time is past it.
      long endMillis = TestServers.End.of(redis, "3:written").toMillis();
      assertThat(endMillis * 1_000_000).isGreaterThanOrEqualTo(nanos(decision.tat()));
    }
  }

  @Test
  void check_anyBucket_neitherMakesNorTouchesIt() {
    try (BucketStore store = open()) {
      Limiter limiter = Limiter.of(LIMITS, store);
      assertThat(limiter.check(LIMIT, "peeked").allowed()).isTrue();
      assertThat(redis.command("EXISTS", "3:peeked")).isEqualTo(0L);
      redis.command("SET", "3:peeked", "17");
      assertThat(limiter.check(LIMIT, "peeked", 20).remaining()).isZero();
      assertThat(redis.command("GET", "3:peeked")).isEqualTo("17");
      assertThat(ttlMillis("3:peeked")).isEqualTo(-1);
    }
  }

  @Test
  void spend_bucketOfBoulder_goesOnWhereItWas() {
    try (BucketStore store = open()) {
      Limiter limiter = Limiter.of(LIMITS, store);
      long now = nanos(limiter.check(LIMIT, "shared").decidedAt());
      // Its way of making a bucket, and of spending from one; the latter keeps no time to live.
      redis.command("SET", "3:shared", "" + (now + 5 * INTERVAL_NANOS), "EX", "750");
      redis.command("INCRBY", "3:shared", "" + 3 * INTERVAL_NANOS);
      redis.command("EXPIRE", "3:shared", "840");
      Decision decision = limiter.spend(LIMIT, "shared", 2);
      assertThat(nanos(decision.tat())).isEqualTo(now + 10 * INTERVAL_NANOS);
      assertThat(decision.remaining()).isEqualTo(10);
      redis.command("INCRBY", "3:shared", "" + INTERVAL_NANOS);
      assertThat(limiter.check(LIMIT, "shared", 0).tat()).isEqualTo(decision.tat().plusSeconds(30));
    }
  }

  @Test
  void spend_incrementOnABucketThatWasGone_countsAsAFullBucket() {
    try (BucketStore store = open()) {
      redis.command("INCRBY", "3:stale", "" + INTERVAL_NANOS); // a TAT in 1970
      redis.command("EXPIRE", "3:stale", "840");
      assertThat(Limiter.of(LIMITS, store).spend(LIMIT, "stale", 20).allowed()).isTrue();
    }
  }

  @Test
  void spend_toleranceOfCenturies_writesTwentyDigitsAndALifeAsLong() {
    try (BucketStore store = open()) {
      Limiter limiter = Limiter.of(LIMITS, store);
      assertThat(limiter.spend("Slow", "x").allowed()).isTrue();
      assertThat(redis.command("GET", "4:x")).asString().hasSize(20);
      assertThat(ttlMillis("4:x")).isGreaterThan(TimeUnit.DAYS.toMillis(365 * 290));
      assertThat(limiter.spend("Slow", "x").allowed()).isFalse();
    }
  }

  /** As Boulder does: only a reset forgets, and the server drops the key a moment later. */
  @Test
  void refund_toAFullBucket_keepsTheKeyForAMoment() {
    try (BucketStore store = open()) {
      Limiter limiter = Limiter.of(LIMITS, store);
      assertThat(limiter.spend(LIMIT, "refunded", 2).allowed()).isTrue();
      Decision refund = limiter.refund(LIMIT, "refunded", 20);
      assertThat(refund.resetInNanos()).isZero();
      assertThat(ttlMillis("3:refunded")).isLessThan(100);
    }
  }

  @Test
  void spend_somethingElseUnderTheKey_failsForThatCallOnly() {
    try (BucketStore store = open()) {
      Limiter limiter = Limiter.of(LIMITS, store);
      redis.command("LPUSH", "3:list", "x");
      redis.command("SET", "3:empty", "");
      redis.command("SET", "3:text", "12x");
      redis.command("SET", "3:negative", "-5");
      redis.command("SET", "3:float", "1.7e18");
      redis.command("SET", "3:huge", "18446744073709551616");
      redis.command("SET", "3:longer", "000000000000000000001");
      for (String id :
          new String[] {"list", "empty", "text", "negative", "float", "huge", "longer"}) {
        assertThatThrownBy(() -> limiter.spend(LIMIT, id))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("3:" + id)
            .hasMessageContaining("nothing was charged");
        assertThat(limiter.spend(LIMIT, "beside").allowed()).isTrue();
      }
      assertThat(redis.command("LRANGE", "3:list", "0", "-1")).asString().isEqualTo("[x]");
      assertThatThrownBy(
              () ->
                  limiter.spend(
                      java.util.List.of(
                          limiter.transaction(LIMIT, "whole"), limiter.transaction(LIMIT, "text"))))
          .isInstanceOf(StoreException.class);
      assertThat(redis.command("EXISTS", "3:whole")).isEqualTo(0L);
    }
  }

  @Test
  void spend_somethingElseUnderTheKey_namesTheKeyToDelete() {
    redis.command("LPUSH", "shop:3:list", "x");
    try (BucketStore store =
        RedisStore.builder(redis.uri()).timeout(Duration.ofMinutes(1)).prefix("shop:").open()) {
      assertThatThrownBy(() -> Limiter.of(LIMITS, store).spend(LIMIT, "list"))
          .hasMessageContaining("the bucket of [shop:3:list] on ");
    }
  }

  @Test
  void spend_aNewRevisionOfTheLimit_readsTheSameBucket() {
    Catalogue catalogue = LIMITS.catalogue();
    Limits small =
        Limits.builder(catalogue).limit(LIMIT, Quota.per(2, Duration.ofMinutes(1))).build();
    try (BucketStore store = open()) {
      // Two processes, one with the old limit and one with the new: no configuration is fought
      // over.
      Limiter old = Limiter.of(LIMITS, store);
      Limiter fresh = Limiter.of(small, store);
      assertThat(old.spend(LIMIT, "revised", 20).allowed()).isTrue();
      Decision denied = fresh.spend(LIMIT, "revised");
      assertThat(denied.allowed()).isFalse();
      assertThat(denied.retryIn()).isLessThanOrEqualTo(Duration.ofSeconds(30));
      // The old one sees the bucket that the new one cut to its own size.
      assertThat(old.check(LIMIT, "revised", 0).remaining()).isBetween(17L, 18L);
    }
  }
}
