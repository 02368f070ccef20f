// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.LimiterObserver.Ending;
import dev.sluice.limit.LimitName;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The meters of the callers that wait for one limit. Thread-safe. */
final class WaitMeters {

  private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  /**
   * The upper bounds of the histogram's buckets, from the emission interval of a fast limit to the
   * wait of a batch job.
   */
  private static final double[] BUCKETS_SECONDS = {
    0.001, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300
  };

  private final AtomicLong waiting = new AtomicLong();
  private final DistributionSummary passed;
  private final DistributionSummary givenUp;
  private final Counter refused;

  WaitMeters(MeterRegistry registry, LimitName name, String timedAs) {
    Gauge.builder("ratelimits.waiting", waiting, AtomicLong::get)
        .description("Callers that wait for tokens")
        .tag("limit", name.name())
        .register(registry);
    this.passed = duration(registry, timedAs, "passed");
    this.givenUp = duration(registry, timedAs, "given_up");
    this.refused =
        Counter.builder("ratelimits.waits.refused")
            .description("Waits that were rejected at once because they would have been too long")
            .tag("limit", name.name())
            .register(registry);
  }

  private static DistributionSummary duration(
      MeterRegistry registry, String timedAs, String ending) {
    return DistributionSummary.builder("ratelimits.wait.duration")
        .description("Time that callers waited for tokens, in seconds")
        .serviceLevelObjectives(BUCKETS_SECONDS)
        .tag("limit", timedAs)
        .tag("ending", ending)
        .register(registry);
  }

  void began() {
    waiting.incrementAndGet();
  }

  void ended(Ending ending, long waitedNanos) {
    switch (ending) {
      case PASSED -> ended(passed, waitedNanos);
      case GIVEN_UP -> ended(givenUp, waitedNanos);
      case REFUSED -> refused.increment();
    }
  }

  private void ended(DistributionSummary duration, long waitedNanos) {
    waiting.decrementAndGet();
    duration.record(waitedNanos / NANOS_PER_SECOND);
  }
}
