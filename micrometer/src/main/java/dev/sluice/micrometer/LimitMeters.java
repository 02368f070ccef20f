// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.limit.LimitName;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/*
 * A file can have thousands of limits, and a limit has up to 42 series. So each meter is bound when
 * it is first needed, and all limits beyond MOST_TIMED share one histogram. The counters for
 * allowed and denied decisions are bound together: a rate includes the first denial only if the
 * series had the value 0 before.
 *
 * Two threads can bind the same meter at once. The registry returns the same meter to both threads.
 */

/** The meters of one limit's spends. Thread-safe. */
final class LimitMeters {

  private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final MeterRegistry registry;
  private final LimitName name;
  private final String timedAs;
  private volatile @Nullable DistributionSummary allowedLatency;
  private volatile @Nullable DistributionSummary deniedLatency;
  private volatile @Nullable Decisions decisions;
  private volatile @Nullable Decisions shadowDecisions;
  private volatile @Nullable Counter degraded;
  private volatile @Nullable Counter newBuckets;

  /** The two counters of one kind of decision, for example of decisions in shadow. */
  private record Decisions(Counter allowed, Counter denied) {}

  /**
   * Makes the meters. Each meter is bound to the registry when it is first needed.
   *
   * @param timedAs the label of the histograms: the limit's name, or a label that several limits
   *     share
   */
  LimitMeters(MeterRegistry registry, LimitName name, String timedAs) {
    this.registry = registry;
    this.name = name;
    this.timedAs = timedAs;
  }

  private DistributionSummary latency(boolean isAllowed) {
    DistributionSummary known = isAllowed ? allowedLatency : deniedLatency;
    if (known != null) {
      return known;
    }
    DistributionSummary bound =
        Latency.builder("ratelimits.spend.latency")
            .description("How long spends took, in seconds")
            .tag("limit", timedAs)
            .tag("decision", isAllowed ? "allowed" : "denied")
            .register(registry);
    if (isAllowed) {
      allowedLatency = bound;
    } else {
      deniedLatency = bound;
    }
    return bound;
  }

  private Decisions decisions(boolean isShadow) {
    Decisions known = isShadow ? shadowDecisions : decisions;
    if (known != null) {
      return known;
    }
    String prefix = isShadow ? "shadow_" : "";
    Decisions bound = new Decisions(counter(prefix + "allowed"), counter(prefix + "denied"));
    if (isShadow) {
      shadowDecisions = bound;
    } else {
      decisions = bound;
    }
    return bound;
  }

  private Counter counter(String decision) {
    return Counter.builder("ratelimits.decisions")
        .description("Decisions on spends; decisions in shadow do not deny requests")
        .tag("limit", name.name())
        .tag("decision", decision)
        .register(registry);
  }

  void decided(boolean isAllowed, boolean isShadow, long elapsedNanos) {
    latency(isAllowed).record(elapsedNanos / NANOS_PER_SECOND);
    Decisions counters = decisions(isShadow);
    (isAllowed ? counters.allowed() : counters.denied()).increment();
  }

  /** Counts several spends that were decided together. None of these spends is in shadow. */
  void spent(int allowed, int denied, long elapsedNanos) {
    double seconds = elapsedNanos / NANOS_PER_SECOND;
    Decisions counters = decisions(/* isShadow= */ false);
    if (allowed > 0) {
      Latency.record(latency(/* isAllowed= */ true), seconds, allowed);
      counters.allowed().increment(allowed);
    }
    if (denied > 0) {
      Latency.record(latency(/* isAllowed= */ false), seconds, denied);
      counters.denied().increment(denied);
    }
  }

  void startedBuckets(int started) {
    if (started == 0) {
      return;
    }
    Counter known = newBuckets;
    if (known == null) {
      known =
          Counter.builder("ratelimits.new.buckets")
              .description("Spends from a full bucket, for which the store created an entry")
              .tag("limit", name.name())
              .register(registry);
      newBuckets = known;
    }
    known.increment(started);
  }

  void degraded() {
    Counter known = degraded;
    if (known == null) {
      known =
          Counter.builder("ratelimits.degraded")
              .description("Decisions on spends that a failure rule made instead of the store")
              .tag("limit", name.name())
              .register(registry);
      degraded = known;
    }
    known.increment();
  }
}
