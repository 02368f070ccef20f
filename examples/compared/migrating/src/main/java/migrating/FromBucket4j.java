// SPDX-License-Identifier: Apache-2.0
package migrating;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Allows each customer 20 exports at once; after these exports, 10 exports per minute. */
final class FromBucket4j {

  private FromBucket4j() {}

  static final class Before {
    private final Map<String, Bucket> buckets = new ConcurrentHashMap<>();

    String export(String customer) {
      Bucket bucket =
          buckets.computeIfAbsent(
              customer,
              key ->
                  Bucket.builder()
                      .addLimit(limit -> limit.capacity(20).refillGreedy(10, Duration.ofMinutes(1)))
                      .build());
      ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(1);
      if (probe.isConsumed()) {
        return "exported";
      }
      return "retry in " + Duration.ofNanos(probe.getNanosToWaitForRefill()).toSeconds() + " s";
    }

  }

  static final class After {
    // begin: bucket4j-after
    private final Limit exports = Limit.of(Quota.burst(20).refill(10, Duration.ofMinutes(1)));

    String export(String customer) {
      Decision decision = exports.spend(customer);
      if (decision.allowed()) {
        return "exported";
      }
      return "retry in " + decision.retryAfterSeconds() + " s";
    }

    // end: bucket4j-after
  }
}
