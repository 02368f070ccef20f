// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.LimiterObserver.Ending;
import dev.sluice.Reservation.Settlement;
import dev.sluice.limit.LimitName;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/*
 * A file can have thousands of limits, and a limit has up to 42 series. So each meter is created
 * when it is first needed, and all limits beyond LimiterMetrics.MOST_TIMED share one histogram. The
 * counters for allowed and denied decisions are created together. Prometheus includes the first
 * denial in a rate only if the counter had the value 0 before.
 *
 * If two threads create the same meter at the same time, the registry returns the same meter to
 * both threads.
 */

/** The meters of the spends of one limit. Thread-safe. */
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

  /** The two counters of one kind of decision, for example of decisions in shadow mode. */
  private record Decisions(Counter allowed, Counter denied) {}

  /**
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

  /** Counts several spends that were decided together, none of them in shadow mode. */
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

  /** The meters of the settlements of one limit. Thread-safe. */
  static final class SettlementMeters {

    private final Counter settlements;
    private final Counter estimated;
    private final Counter cost;
    private final Counter refilled;
    private final Counter cut;
    private final DistributionSummary debts;

    SettlementMeters(MeterRegistry registry, LimitName name) {
      this.settlements =
          Counter.builder("ratelimits.settlements")
              .description("Settlements of reservations")
              .tag("limit", name.name())
              .register(registry);
      this.estimated = tokens(registry, name, "estimated");
      this.cost = tokens(registry, name, "cost");
      this.refilled = tokens(registry, name, "refilled");
      this.cut = tokens(registry, name, "cut");
      this.debts =
          DistributionSummary.builder("ratelimits.settlement.debt")
              .description(
                  "Debt of a bucket after a settlement, in tokens; a debt of 0 is not recorded")
              .tag("limit", name.name())
              .register(registry);
    }

    private static Counter tokens(MeterRegistry registry, LimitName name, String kind) {
      return Counter.builder("ratelimits.settlement.tokens")
          .description(
              "Tokens of settlements: estimated, true cost, refilled before the refund, not charged")
          .tag("limit", name.name())
          .tag("kind", kind)
          .register(registry);
    }

    void settled(Settlement.Part part, long estimate, long trueCost) {
      settlements.increment();
      estimated.increment((double) estimate);
      cost.increment((double) trueCost);
      refilled.increment((double) Math.max(part.charged() - trueCost, 0));
      cut.increment((double) part.cut());
      if (part.owed() > 0) {
        debts.record((double) part.owed());
      }
    }
  }

  /** The meters of the callers that wait for one limit. Thread-safe. */
  static final class WaitMeters {

    private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    /**
     * The upper bounds of the histogram's buckets. Callers wait milliseconds for a fast limit, and
     * batch jobs wait minutes.
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
          .description("Callers that wait for their turn")
          .tag("limit", name.name())
          .register(registry);
      this.passed = duration(registry, timedAs, "passed");
      this.givenUp = duration(registry, timedAs, "given_up");
      this.refused =
          Counter.builder("ratelimits.waits.refused")
              .description(
                  "Callers that were rejected at once because their wait would have been too long")
              .tag("limit", name.name())
              .register(registry);
    }

    private static DistributionSummary duration(
        MeterRegistry registry, String timedAs, String ending) {
      return DistributionSummary.builder("ratelimits.wait.duration")
          .description("How long callers waited for their turn, in seconds")
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
}
