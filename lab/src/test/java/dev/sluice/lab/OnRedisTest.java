// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

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

/** The essay's two older algorithms on a real Redis, beside the lab's on a virtual clock. */
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
      Awaitility.await().until(() -> Long.valueOf(0).equals(redis.command("EXISTS", "time")));
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

  /** The race between two clients that both look before either counts down. */
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
  void leakyBucket_takesOneRoundTripForEveryBucket_inEveryRun() {
    RedisLeakyBucket onRedis = new RedisLeakyBucket(redis, "many", TEN_A_MINUTE);
    for (int i = 0; i < 20; i++) {
      assertThat(onRedis.spend("client-" + i, 2)).isTrue();
    }
    assertThat(List.of(onRedis.drip(), onRedis.drip(), onRedis.drip())).containsExactly(20, 20, 0);
    assertThat(redis.command("EXISTS", "many")).isEqualTo(0L);
  }
}
