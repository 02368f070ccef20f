// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.testkit.servers.LocalRedis;
import java.util.List;

/**
 * The leaky bucket as the essay sketches it on Redis, for the comparison only: one hash for a limit
 * with a field for each bucket, and a process that goes through the fields and counts each down by
 * one. Whoever runs {@link #drip} is that process.
 */
final class RedisLeakyBucket {

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

  /** One drip out of every bucket that has water; returns how many those were. */
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
