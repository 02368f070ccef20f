// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.micrometer.LimitMeters.SettlementMeters;
import dev.sluice.micrometer.LimitMeters.WaitMeters;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Counts and times a limiter's calls. In Prometheus, these metrics have Boulder's names:
 *
 * <ul>
 *   <li>{@code ratelimits_spend_latency{limit,decision}}, a histogram in seconds. The first 1,000
 *       used limits have separate histograms; all further limits share the label {@code (others)}
 *   <li>{@code ratelimits_latency{call,result}}, a histogram of store calls in seconds
 *   <li>{@code ratelimits_overrides_timestamp_seconds}, {@code ratelimits_overrides_errors}, {@code
 *       ratelimits_overrides_active{limit}}, three metrics of the overrides
 * </ul>
 *
 * <p>The further metrics in Prometheus are {@code ratelimits_decisions_total{limit,decision}},
 * where shadow rules have their own decisions, {@code ratelimits_not_limited_total{limit,reason}},
 * {@code ratelimits_new_buckets_total{limit}}, {@code ratelimits_missing_defaults}, {@code
 * ratelimits_overrides_age_seconds} and {@code ratelimits_live_buckets}. The metrics of the limit
 * files are {@code ratelimits_limit_files_timestamp_seconds}, {@code …_age_seconds}, {@code
 * …_errors} and {@code ratelimits_limit_files_broken_total}. {@code
 * ratelimits_reservations_settled_early_total} counts open reservations that the limiter closed,
 * without a refund, because too many reservations were open. {@code
 * ratelimits_quota_failures_total{limit}} counts requests whose quota the application could not
 * supply. Limits for which callers can wait have {@code ratelimits_waiting{limit}}, {@code
 * ratelimits_wait_duration{limit,ending}}, a histogram in seconds, and {@code
 * ratelimits_waits_refused_total{limit}}. Limits whose reservations are settled have {@code
 * ratelimits_settlements_total{limit}}, {@code ratelimits_settlement_tokens_total{limit,kind}} and
 * the summary {@code ratelimits_settlement_debt{limit}}.
 *
 * <p>The value of a label is a limit's name or a word of a closed set, never an id or a quota. The
 * series of a limit are created at the first use of the limit. The series of a limit's overrides
 * and penalties are created at the first override or penalty. The number of series is therefore
 * proportional to the number of limits in use.
 *
 * <p>Thread-safe; no method blocks.
 */
public final class LimiterMetrics implements LimiterObserver {

  /**
   * The largest number of limits that have separate histograms. The histograms of a limit take 2 KB
   * of heap and 36 lines of each scrape.
   */
  static final int MOST_TIMED = 1_000;

  /**
   * The label that all limits after the first {@link #MOST_TIMED} share. No limit is called {@code
   * (others)}, since the name of a limit contains no parentheses.
   */
  static final String OTHERS = "(others)";

  private final MeterRegistry registry;
  private final CurrentLimits limits;
  private final Map<LimitName, LimitMeters> byLimit = new ConcurrentHashMap<>();
  private final Set<String> timed = ConcurrentHashMap.newKeySet();
  private final Set<String> gauged = ConcurrentHashMap.newKeySet();

  /**
   * The meters of waits by the name of the limit alone: if a reload changes the limit's number, the
   * registry keeps the existing gauge.
   */
  private final Map<String, WaitMeters> waitsByLimit = new ConcurrentHashMap<>();

  private final Map<LimitName, SettlementMeters> settlementsByLimit = new ConcurrentHashMap<>();
  private final Map<Act, DistributionSummary> successes;
  private final Map<Act, DistributionSummary> errors;
  private final LoadMeters files;
  private final LoadMeters overrides;
  private final Counter filesBroken;
  private final Counter settledEarly;
  private final Counter settlementsLost;
  private volatile Limits bound; // the limits whose overrides and penalties have gauges

  /**
   * Binds the meters.
   *
   * @param registry the registry to which the meters are added
   * @param limits the limits of the observed limiter; their names become labels
   * @param store the store of the observed limiter
   */
  public LimiterMetrics(MeterRegistry registry, CurrentLimits limits, BucketStore store) {
    this.registry = registry;
    this.limits = limits;
    this.bound = limits.get();
    this.successes = calls(registry, "success");
    this.errors = calls(registry, "error");
    this.files = new LoadMeters(registry, "ratelimits.limit.files", "limit files");
    this.overrides = new LoadMeters(registry, "ratelimits.overrides", "overrides");
    this.filesBroken =
        Counter.builder("ratelimits.limit.files.broken")
            .description(
                "Checks of the limit files that failed for a reason other than a mistake in the files")
            .register(registry);
    this.settledEarly =
        Counter.builder("ratelimits.reservations.settled.early")
            .description(
                "Reservations whose tokens stay spent, since too many reservations were open")
            .register(registry);
    this.settlementsLost =
        Counter.builder("ratelimits.reservations.settlements.lost")
            .description("Settlements that the store did not apply in time")
            .register(registry);
    bindOverrides();
    bindGauges(store);
  }

  private void bindGauges(BucketStore store) {
    Gauge.builder("ratelimits.missing.defaults", limits, now -> now.unmet(now.get()).size())
        .description("Required limits that are not configured; should be 0")
        .register(registry);
    if (store.liveBuckets().isPresent()) {
      Gauge.builder("ratelimits.live.buckets", store, s -> s.liveBuckets().orElse(0))
          .description("Buckets in the store that are not full")
          .register(registry);
    }
    if (store.maxLiveBuckets().isPresent()) {
      Gauge.builder("ratelimits.live.buckets.max", store, s -> s.maxLiveBuckets().orElse(0))
          .description(
              "The most live buckets in the store; beyond this number, new ids are rejected")
          .register(registry);
    }
  }

  private void bindOverrides() {
    Limits now = limits.get();
    bound = now;
    for (LimitName name : now.configured()) {
      if (!now.overridesOf(name).isEmpty() || !now.penaltiesOf(name).isEmpty()) {
        bindGauges(name);
      }
    }
  }

  private WaitMeters waitMeters(LimitName name) {
    return waitsByLimit.computeIfAbsent(
        name.name(), limit -> new WaitMeters(registry, name, timedAs(name)));
  }

  private LimitMeters meters(LimitName name) {
    LimitMeters known = byLimit.get(name);
    return known == null ? byLimit.computeIfAbsent(name, this::newMeters) : known;
  }

  private LimitMeters newMeters(LimitName name) {
    return new LimitMeters(registry, name, timedAs(name));
  }

  /** Returns the label of a limit's histograms. */
  private String timedAs(LimitName name) {
    return timed.contains(name.name()) || (timed.size() < MOST_TIMED && timed.add(name.name()))
        ? name.name()
        : OTHERS;
  }

  /**
   * Counts the penalties in force by the clock of this process, which is precise enough for a
   * metric.
   */
  private static long penalties(Limits limits, LimitName name) {
    long nowNanos = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
    return limits.penaltiesOf(name).stream().filter(one -> one.holdsAt(nowNanos)).count();
  }

  /** Binds the gauges of a limit once. */
  private void bindGauges(LimitName name) {
    if (!gauged.add(name.name())) {
      return; // the registry would warn about a gauge that is bound twice
    }
    Gauge.builder("ratelimits.overrides.active", limits, now -> now.get().overridesOf(name).size())
        .description("Overrides in force")
        .tag("limit", name.name())
        .register(registry);
    Gauge.builder("ratelimits.penalties.active", limits, now -> penalties(now.get(), name))
        .description("Penalties in force")
        .tag("limit", name.name())
        .register(registry);
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    if (!limits.isStill(bound)) { // the limits were replaced, possibly with new overrides
      bindOverrides();
    }
    Transaction transaction = decision.transaction();
    if (transaction != null && !decision.limited() && (act == Act.SPEND || act == Act.CHECK)) {
      notLimited(transaction.name(), transaction.coverage());
    }
    if (act == Act.SPEND && transaction != null) {
      LimitMeters meters = meters(transaction.name());
      meters.decided(decision.allowed(), transaction.isShadow(), elapsedNanos);
      if (decision.degraded()) {
        meters.degraded();
      } else if (startedBucket(decision, transaction)) {
        meters.startedBuckets(1);
      }
    }
  }

  @Override
  public void spent(LimitName limit, Spent spends, long elapsedNanos) {
    int allowed = 0;
    int started = 0;
    for (int i = 0; i < spends.count(); i++) {
      allowed += spends.allowed(i) ? 1 : 0;
      started += spends.startedBucket(i) ? 1 : 0;
    }
    LimitMeters meters = meters(limit);
    meters.spent(allowed, spends.count() - allowed, elapsedNanos);
    meters.startedBuckets(started);
  }

  /**
   * Returns whether the bucket was full before the spend. The store has no entry for a full bucket,
   * so a spend from a full bucket creates an entry.
   */
  private static boolean startedBucket(Decision decision, Transaction transaction) {
    // A limit with several quotas has several buckets. The bucket with the longest period refills
    // last.
    Decision longest = decision.quotas().isEmpty() ? decision : decision.quotas().get(0);
    Transaction described = longest.transaction();
    Quota quota = described == null ? null : described.quota();
    return quota != null
        && decision.taken() > 0
        && longest.remaining() == quota.burst() - transaction.cost();
  }

  /**
   * Counts a decision to which no limit applies. Decisions to which no limit applies are rare, so
   * this method looks up the counter each time.
   */
  private void notLimited(LimitName name, Coverage coverage) {
    Counter.builder("ratelimits.not.limited")
        .description("Checks and spends that were allowed because no limit applies to the id")
        .tag("limit", name.name())
        .tag("reason", coverage.name().toLowerCase(Locale.ROOT))
        .register(registry)
        .increment();
  }

  @Override
  public void stored(Act act, int charges, @Nullable Throwable failure, long elapsedNanos) {
    // The maps successes and errors contain a histogram for every operation.
    Objects.requireNonNull((failure == null ? successes : errors).get(act))
        .record(elapsedNanos / (double) TimeUnit.SECONDS.toNanos(1));
  }

  @Override
  public void settledEarly(int most) {
    settledEarly.increment();
  }

  @Override
  public void settlementLost() {
    settlementsLost.increment();
  }

  @Override
  public void settled(Settlement.Part part, long estimate, long cost) {
    settlementsByLimit
        .computeIfAbsent(part.transaction().name(), name -> new SettlementMeters(registry, name))
        .settled(part, estimate, cost);
  }

  @Override
  public void quotaFailed(LimitName limit, Throwable failure) {
    Counter.builder("ratelimits.quota.failures")
        .description("Requests that were rejected because the application could not supply a quota")
        .tag("limit", limit.name())
        .register(registry)
        .increment();
  }

  @Override
  public void waits(LimitName limit) {
    waitMeters(limit).began();
  }

  @Override
  public void waited(LimitName limit, Ending ending, long waitedNanos) {
    waitMeters(limit).ended(ending, waitedNanos);
  }

  /**
   * Binds one histogram for each operation. Prometheus includes the first error in a rate only if
   * the histogram existed before the error.
   */
  private static Map<Act, DistributionSummary> calls(MeterRegistry registry, String result) {
    Map<Act, DistributionSummary> calls = new EnumMap<>(Act.class);
    for (Act act : Act.values()) {
      calls.put(
          act,
          Latency.builder("ratelimits.latency")
              .description("Duration of calls to the store, in seconds")
              .tag("call", act.name().toLowerCase(Locale.ROOT))
              .tag("result", result)
              .register(registry));
    }
    return calls;
  }

  /**
   * Records that the limit files were loaded and are in force. Call this method after every load of
   * the limit files, including the first.
   *
   * @param at when the limit files were loaded
   */
  public void filesLoaded(Instant at) {
    files.loaded(at);
    bindOverrides();
  }

  /**
   * Records that the limit files could not be loaded. The limits that were loaded last stay in
   * force.
   *
   * @param mistakes the number of mistakes in the files
   */
  public void filesFailed(int mistakes) {
    files.failed(mistakes);
  }

  /**
   * Records that a poll of the limit files failed for a reason other than the files. The limits
   * that were loaded last stay in force.
   */
  public void filesBroke() {
    filesBroken.increment();
  }

  /**
   * Records that the overrides were loaded from their source, a table or the file of overrides, and
   * are in force. Call this method after every load of the overrides, including the first.
   *
   * @param at when the overrides were loaded
   */
  public void overridesLoaded(Instant at) {
    overrides.loaded(at);
    bindOverrides();
  }

  /**
   * Records that some or all overrides could not be loaded. If no override was loaded, the
   * overrides that were loaded last stay in force.
   *
   * @param mistakes the number of mistakes; 0 if the source had no overrides
   */
  public void overridesFailed(int mistakes) {
    overrides.failed(mistakes);
  }

  /** The meters of one source of limits: the last load and its mistakes. Thread-safe. */
  private static final class LoadMeters {

    private static final double MILLIS_PER_SECOND = 1e3;

    private volatile double loadedAtSeconds = Double.NaN;
    private volatile double mistakes;

    LoadMeters(MeterRegistry registry, String prefix, String what) {
      Clock clock = registry.config().clock();
      Gauge.builder(prefix + ".timestamp.seconds", this, m -> m.loadedAtSeconds)
          .description("When the " + what + " were last loaded, in seconds since the epoch")
          .register(registry);
      Gauge.builder(
              prefix + ".age.seconds",
              this,
              m -> clock.wallTime() / MILLIS_PER_SECOND - m.loadedAtSeconds)
          .description("How long ago the " + what + " were last loaded")
          .register(registry);
      Gauge.builder(prefix + ".errors", this, m -> m.mistakes)
          .description("Mistakes found by the last attempt to load the " + what + "; should be 0")
          .register(registry);
    }

    void loaded(Instant at) {
      loadedAtSeconds = at.toEpochMilli() / MILLIS_PER_SECOND;
      mistakes = 0;
    }

    void failed(int newMistakes) {
      mistakes = newMistakes;
    }
  }
}
