// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.Decision;
import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.ManualTime;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** A limiter that is watched, and what it does for a test. */
final class Watched {

  private static final int MAX_BUCKETS = 20_000;
  private static final LimitName CALLS =
      LimitName.builder(9001, "CallsPerPartner").longestWait(Duration.ofHours(2)).build();

  final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  final CurrentLimits limits =
      new CurrentLimits(
          Limits.builder(Catalogue.samples().plus(Catalogue.of(CALLS)))
              .limit("LoginsPerIPAddress", Quota.per(2, Duration.ofMinutes(1)))
              .limit("ApiCallsPerKey", Quota.per(1, Duration.ofMinutes(1)))
              .limit("CallsPerPartner", Quota.per(1, Duration.ofHours(1)))
              .override("LoginsPerIPAddress", "192.0.2.9", Quota.per(9, Duration.ofMinutes(1)))
              .build());
  final BreakableStore store = new BreakableStore();
  final LimiterMetrics metrics = new LimiterMetrics(registry, limits, store);
  final Limiter limiter =
      Limiter.builder(limits, store)
          .observer(metrics)
          .onFailure("ApiCallsPerKey", FailureRule.allow())
          .build();

  private CompletableFuture<Decision> waiting = new CompletableFuture<>();

  /**
   * Three logins of which one is denied, two trials of which one is, a caller that waits in place
   * of the one before, one that may not, a failing store, and a failure rule that decides one spend
   * for it.
   */
  void everything() {
    waiting.cancel(false);
    var unusedOnce =
        limiter.async().acquire("CallsPerPartner", "partner", 1, Duration.ofMinutes(1));
    waiting =
        limiter
            .async()
            .acquire("CallsPerPartner", "partner", 1, Duration.ofHours(2))
            .toCompletableFuture();
    for (int i = 0; i < 3; i++) {
      var unused = limiter.spend("LoginsPerIPAddress", "192.0.2.7");
    }
    for (int i = 0; i < 2; i++) {
      var unused =
          limiter.spend(List.of(limiter.transaction("ApiCallsPerKey", "key-of-ann").inShadow()));
    }
    store.broken = true;
    var unusedByItsRule = limiter.spend("ApiCallsPerKey", "key-of-ann");
    try {
      var unused = limiter.check("LoginsPerIPAddress", "192.0.2.7");
    } catch (StoreException e) {
      store.broken = false;
    }
  }

  /** A settlement of what has refilled, one beyond the debt of its limit, and one that is lost. */
  void settle() {
    Transaction tokens =
        Transaction.of(
            LimitName.builder(1, "Tokens").build(), Quota.per(100, Duration.ofSeconds(1)), "x");
    metrics.settled(new Settlement.Part(tokens, 40, 20, 0, 0, 60), 60, 30);
    metrics.settled(new Settlement.Part(tokens, 250, 0, 150, 5, 0), 60, 255);
    metrics.settlementLost();
  }

  /** Imposes a penalty of a day. */
  void penalize() {
    Limits now = limits.get();
    LimitName calls = now.catalogue().get("ApiCallsPerKey");
    Instant end = Instant.now().plus(Duration.ofDays(1));
    limits.replace(now.withPenalties(List.of(new Penalty(calls, "key-of-bob", end, 0, ""))));
  }

  /** The store in memory, which can be told to fail as a store is allowed to. */
  static final class BreakableStore implements BucketStore {
    private final BucketStore memory = BucketStore.inMemory(new ManualTime(), MAX_BUCKETS);
    private volatile boolean broken;

    @Override
    public List<Reading> charge(List<Charge> charges) {
      if (broken) {
        throw new StoreException("the store is broken, as the test wants");
      }
      return memory.charge(charges);
    }

    @Override
    public OptionalLong liveBuckets() {
      return memory.liveBuckets();
    }

    @Override
    public OptionalLong maxLiveBuckets() {
      return memory.maxLiveBuckets();
    }
  }
}
