// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;

/** Sluice itself: its limiter over its store in memory, on a clock that the simulation drives. */
final class ProductGcra implements Algorithm {

  private static final LimitName NAME =
      LimitName.builder(1, "Simulated").id(IdFormat.integer()).build();

  private final Limit limit;
  private final long intervalNanos;
  private long nowNanos;

  ProductGcra(Quota quota) {
    Limits limits = Limits.builder(Catalogue.of(NAME)).limit(NAME.name(), quota).build();
    this.limit = Limiter.of(limits, BucketStore.inMemory(() -> nowNanos)).limit(NAME.name());
    this.intervalNanos = quota.intervalNanos();
  }

  @Override
  public Verdict decide(int bucket, long cost, long newNowNanos) {
    nowNanos = newNowNanos;
    Decision decision = limit.spend(Integer.toString(bucket), cost);
    double level = (double) decision.resetInNanos() / intervalNanos;
    return decision.allowed()
        ? Verdict.admitted(level)
        : Verdict.denied(decision.retryInNanos(), level);
  }
}
