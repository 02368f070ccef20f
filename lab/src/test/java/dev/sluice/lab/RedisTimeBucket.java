// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import dev.sluice.testkit.servers.LocalRedis;

/**
 * The time bucket as the essay sketches it on Redis, for the comparison only: a key with an expiry
 * that is set to the burst and counted down. Looking and counting are two commands, so that two
 * clients at once can both take the last token; and the clock is the server's, not a virtual one.
 */
final class RedisTimeBucket {

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

  /** The first half: makes the bucket if there is none, and looks. */
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

  /** The second half. */
  void take(String key) {
    redis.command("DECR", key);
  }

  long left(String key) {
    Object value = redis.command("GET", key);
    return value == null ? quota.burst() : Long.parseLong(value.toString());
  }
}
