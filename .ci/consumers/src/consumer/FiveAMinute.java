// SPDX-License-Identifier: Apache-2.0
package consumer;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import java.time.Duration;

/** Five of six requests pass, decided in the Redis whose address is the argument. */
public final class FiveAMinute {

  private FiveAMinute() {}

  public static void main(String[] args) {
    Limits limits =
        Limits.builder(
                Catalogue.of(LimitName.builder("Consumed").id(IdFormat.string()).build()))
            .limit("Consumed", Quota.per(5, Duration.ofMinutes(1)))
            .build();
    try (RedisStore store =
        RedisStore.builder(args[0]).timeout(Duration.ofSeconds(10)).open()) {
      Limiter limiter = Limiter.of(limits, store);
      int allowed = 0;
      for (int i = 0; i < 6; i++) {
        allowed += limiter.spend("Consumed", "192.0.2.7").allowed() ? 1 : 0;
      }
      System.out.println(allowed + " of 6 allowed");
      System.exit(allowed == 5 ? 0 : 1);
    }
  }
}
