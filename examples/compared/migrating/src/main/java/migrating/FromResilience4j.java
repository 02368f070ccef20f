// SPDX-License-Identifier: Apache-2.0
package migrating;

import dev.sluice.Decision.DeniedException;
import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RequestNotPermitted;
import java.time.Duration;
import java.util.function.Supplier;

/** Allows 10 calls of a partner per second. A call waits for at most half a second. */
final class FromResilience4j {

  private FromResilience4j() {}

  static final class Before {
    private final RateLimiter calls =
        RateLimiter.of(
            "partner",
            RateLimiterConfig.custom()
                .limitForPeriod(10)
                .limitRefreshPeriod(Duration.ofSeconds(1))
                .timeoutDuration(Duration.ofMillis(500))
                .build());

    String call(Supplier<String> partner) {
      try {
        return RateLimiter.decorateSupplier(calls, partner).get();
      } catch (RequestNotPermitted e) {
        return "busy";
      }
    }

  }

  static final class After {
    // begin: resilience4j-after
    private final Limit calls = Limit.of(Quota.per(10, Duration.ofSeconds(1)));

    String call(Supplier<String> partner) throws InterruptedException {
      try {
        calls.acquire("partner", Duration.ofMillis(500)).orThrow();
        return partner.get();
      } catch (DeniedException e) {
        return "busy, next in " + e.decision().retryIn();
      }
    }

    // end: resilience4j-after
  }
}
