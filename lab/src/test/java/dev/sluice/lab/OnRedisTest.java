// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The lab's time bucket and leaky bucket decide like the same algorithms on a real Redis, written
 * as in the essay that docs/algorithms.md cites.
 */
final class OnRedisTest {

  private static final Quota TEN_A_MINUTE = Quota.per(10, Duration.ofMinutes(1));

  private static LocalRedis redis;

  @BeforeAll
  static void start() {
    redis = LocalRedis.start(RedisBinary.bundled());
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  @Test
  void timeBucket_admitsTheBurst_thenNothing_untilTheKeyExpires_andThenTheBurstAgain() {
    RedisTimeBucket onRedis = new RedisTimeBucket(redis, TEN_A_MINUTE);
    SimulatedLimiter inLab = Algorithm.TIME_BUCKET.start(TEN_A_MINUTE, Drip.HEALTHY);
    for (long reset = 0; reset < 3; reset++) {
      long now = reset * TEN_A_MINUTE.offsetNanos();
      for (int i = 0; i < 12; i++) {
        assertThat(onRedis.spend("time"))
            .isEqualTo(inLab.decide(0, 1, now).admitted())
            .isEqualTo(i < 10);
      }
      redis.command("PEXPIRE", "time", "1"); // the minute is over
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> Long.valueOf(0).equals(redis.command("EXISTS", "time")));
    }
  }

  @Test
  void timeBucket_keepsItsTimeToLive_andDeniesUntilThen() {
    RedisTimeBucket onRedis = new RedisTimeBucket(redis, TEN_A_MINUTE);
    for (int i = 0; i < 10; i++) {
      assertThat(onRedis.spend("slow")).isTrue();
    }
    assertThat(onRedis.spend("slow")).isFalse();
    assertThat((Long) redis.command("PTTL", "slow")).isBetween(1L, 60_000L);
  }

  /** Both clients read the bucket before either of them counts it down. */
  @Test
  void timeBucket_letsTwoClientsTakeTheLastToken() {
    RedisTimeBucket onRedis = new RedisTimeBucket(redis, TEN_A_MINUTE);
    for (int i = 0; i < 9; i++) {
      assertThat(onRedis.spend("race")).isTrue();
    }
    boolean one = onRedis.hasTokens("race");
    boolean other = onRedis.hasTokens("race");
    assertThat(one && other).isTrue();
    onRedis.take("race");
    onRedis.take("race");
    assertThat(onRedis.left("race")).isEqualTo(-1);
  }

  @Test
  void leakyBucket_decidesAsInTheLab_onRandomTraffic_alsoWhenItsProcessStalls() {
    Drip drip = Drip.HEALTHY.stalledFrom(Duration.ofMinutes(3), Duration.ofMinutes(4));
    RedisLeakyBucket onRedis = new RedisLeakyBucket(redis, "leaky", TEN_A_MINUTE);
    SimulatedLimiter inLab = Algorithm.LEAKY_BUCKET.start(TEN_A_MINUTE, drip);
    Random random = new Random(1);
    long interval = TEN_A_MINUTE.intervalNanos();
    long run = interval;
    long now = 0;
    int denied = 0;
    for (int i = 0; i < 600; i++) {
      now += (long) (random.nextDouble() * interval / 2);
      for (; run <= now; run += interval) {
        Drip.Stall stall = drip.stalls().get(0);
        if (run < stall.from().toNanos() || run >= stall.end().toNanos()) {
          onRedis.drip();
        }
      }
      int bucket = random.nextInt(3);
      int cost = 1 + random.nextInt(2);
      boolean admitted = onRedis.spend("client-" + bucket, cost);
      Verdict verdict = inLab.decide(bucket, cost, now);
      assertThat(verdict.admitted()).isEqualTo(admitted);
      assertThat(verdict.level()).isEqualTo((double) onRedis.level("client-" + bucket));
      denied += admitted ? 0 : 1;
    }
    assertThat(now).isGreaterThan(Duration.ofMinutes(10).toNanos());
    assertThat(denied).isGreaterThan(100);
  }

  @Test
  void leakyBucket_needsOneRoundTripPerBucket_inEveryRun() {
    RedisLeakyBucket onRedis = new RedisLeakyBucket(redis, "many", TEN_A_MINUTE);
    for (int i = 0; i < 20; i++) {
      assertThat(onRedis.spend("client-" + i, 2)).isTrue();
    }
    assertThat(List.of(onRedis.drip(), onRedis.drip(), onRedis.drip())).containsExactly(20, 20, 0);
    assertThat(redis.command("EXISTS", "many")).isEqualTo(0L);
  }

  /**
   * The time bucket of the essay: a key with an expiry that is set to the burst and counted down.
   * Reading and counting are two commands, so two clients can both take the last token.
   */
  private static final class RedisTimeBucket {

    private final LocalRedis redis;
    private final Quota quota;

    RedisTimeBucket(LocalRedis redis, Quota quota) {
      this.redis = redis;
      this.quota = quota;
    }

    boolean spend(String key) {
      if (!hasTokens(key)) {
        return false;
      }
      take(key);
      return true;
    }

    /** The first command: creates the bucket if necessary, and reads it. */
    boolean hasTokens(String key) {
      redis.command(
          "SET",
          key,
          Long.toString(quota.burst()),
          "NX",
          "PX",
          Long.toString(quota.offsetNanos() / 1_000_000));
      return left(key) > 0;
    }

    /** The second command. */
    void take(String key) {
      redis.command("DECR", key);
    }

    long left(String key) {
      Object value = redis.command("GET", key);
      return value == null ? quota.burst() : Long.parseLong(value.toString());
    }
  }

  /**
   * The leaky bucket of the essay: one hash per limit with one field per bucket, and a process that
   * counts each field down by one. {@link #drip} is one run of that process.
   */
  private static final class RedisLeakyBucket {

    private final LocalRedis redis;
    private final String hash;
    private final Quota quota;

    RedisLeakyBucket(LocalRedis redis, String hash, Quota quota) {
      this.redis = redis;
      this.hash = hash;
      this.quota = quota;
    }

    boolean spend(String bucket, long cost) {
      if (level(bucket) + cost > quota.burst()) {
        return false;
      }
      redis.command("HINCRBY", hash, bucket, Long.toString(cost));
      return true;
    }

    long level(String bucket) {
      Object water = redis.command("HGET", hash, bucket);
      return water == null ? 0 : Long.parseLong(water.toString());
    }

    /** Takes one drip from every bucket that has water; returns the number of these buckets. */
    @CanIgnoreReturnValue
    int drip() {
      List<?> buckets = (List<?>) redis.command("HKEYS", hash);
      for (Object bucket : buckets) {
        Object left = redis.command("HINCRBY", hash, bucket.toString(), "-1");
        if (Long.parseLong(String.valueOf(left)) <= 0) {
          redis.command("HDEL", hash, bucket.toString());
        }
      }
      return buckets.size();
    }
  }
}
