// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.limit.LimitName;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.TimeUnit;

/** The meters of one limit's spends. Thread-safe. */
final class LimitMeters {

  private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final DistributionSummary allowedLatency;
  private final DistributionSummary deniedLatency;
  private final Counter allowed;
  private final Counter denied;
  private final Counter shadowAllowed;
  private final Counter shadowDenied;
  private final Counter degraded;
  private final Counter newBuckets;

  LimitMeters(MeterRegistry registry, LimitName name) {
    this.allowedLatency = latency(registry, name, "allowed");
    this.deniedLatency = latency(registry, name, "denied");
    this.allowed = counter(registry, name, "allowed");
    this.denied = counter(registry, name, "denied");
    this.shadowAllowed = counter(registry, name, "shadow_allowed");
    this.shadowDenied = counter(registry, name, "shadow_denied");
    this.degraded =
        Counter.builder("ratelimits.degraded")
            .description("Decisions on spends that a failure rule took in the store's place")
            .tag("limit", name.name())
            .register(registry);
    this.newBuckets =
        Counter.builder("ratelimits.new.buckets")
            .description("Spends from a full bucket, for which the store had to make room")
            .tag("limit", name.name())
            .register(registry);
  }

  private static DistributionSummary latency(
      MeterRegistry registry, LimitName name, String decision) {
    return Latency.builder("ratelimits.spend.latency")
        .description("How long spends took, in seconds")
        .tag("limit", name.name())
        .tag("decision", decision)
        .register(registry);
  }

  private static Counter counter(MeterRegistry registry, LimitName name, String decision) {
    return Counter.builder("ratelimits.decisions")
        .description("Decisions on spends; those of shadow rules refuse nobody")
        .tag("limit", name.name())
        .tag("decision", decision)
        .register(registry);
  }

  void decided(boolean isAllowed, boolean isShadow, long elapsedNanos) {
    (isAllowed ? allowedLatency : deniedLatency).record(elapsedNanos / NANOS_PER_SECOND);
    Counter counter =
        isAllowed ? isShadow ? shadowAllowed : allowed : isShadow ? shadowDenied : denied;
    counter.increment();
  }

  /** Counts spends that were decided on together; none is in shadow. */
  void spent(int allowedOnes, int deniedOnes, long elapsedNanos) {
    double seconds = elapsedNanos / NANOS_PER_SECOND;
    if (allowedOnes > 0) {
      Latency.record(allowedLatency, seconds, allowedOnes);
      allowed.increment(allowedOnes);
    }
    if (deniedOnes > 0) {
      Latency.record(deniedLatency, seconds, deniedOnes);
      denied.increment(deniedOnes);
    }
  }

  void startedBuckets(int started) {
    if (started > 0) {
      newBuckets.increment(started);
    }
  }

  void degraded() {
    degraded.increment();
  }
}
