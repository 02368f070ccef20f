// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import dev.sluice.Limiter;
import dev.sluice.redis.RedisStore;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;

/**
 * A process that has just started, and whose server then falls silent for the first time; prints
 * how many milliseconds the longest call took, and the machine's longest stall.
 */
public final class FirstOutage {

  private FirstOutage() {}

  /**
   * Asks.
   *
   * @param args how many callers ask at once, and whether as many were answered before
   * @throws InterruptedException if somebody interrupts it
   */
  public static void main(String[] args) throws InterruptedException {
    int callers = Integer.parseInt(args[0]);
    boolean answeredBefore = Boolean.parseBoolean(args[1]);
    try (LocalRedis redis = LocalRedis.start(RedisBinary.newest());
        RedisStore store = RedisStore.builder(redis.uri()).queue(callers).open()) {
      Limiter limiter = Limiter.of(Load.LIMITS, store);
      if (answeredBefore) {
        long unused = Crowd.longestCallMillis(limiter, callers);
      }
      redis.freeze();
      try (Stalls stalls = new Stalls()) {
        System.out.println(Crowd.longestCallMillis(limiter, callers));
        System.out.println(stalls.longestMillis());
      } finally {
        redis.thaw();
      }
    }
  }
}
