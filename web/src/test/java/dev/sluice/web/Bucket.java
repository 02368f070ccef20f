// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** A limiter on a driven clock, and the decisions that the tests of this package need from it. */
final class Bucket {

  static final long START_NANOS = 1_700_000_000_000_000_000L;

  final AtomicLong nowNanos = new AtomicLong(START_NANOS);
  final Limiter limiter;

  /** Without jitter, so that a test can name the seconds. */
  Bucket(Quota perIp, Quota daily) {
    this(perIp, daily, 0);
  }

  Bucket(Quota perIp, Quota daily, double jitter) {
    Catalogue names =
        Catalogue.of(
            LimitName.builder(1001, "per-ip").jitter(jitter).build(),
            LimitName.builder(1002, "daily").jitter(jitter).build(),
            LimitName.builder(1003, "disabled").disabledWithoutDefault().build());
    Limits limits = Limits.builder(names).limit("per-ip", perIp).limit("daily", daily).build();
    this.limiter = Limiter.of(limits, BucketStore.inMemory(nowNanos::get));
  }

  static Bucket twentyAMinute() {
    return new Bucket(Quota.per(20, Duration.ofMinutes(1)), Quota.per(1000, Duration.ofDays(1)));
  }

  Decision spend(long cost) {
    return limiter.spend("per-ip", "a", cost);
  }

  Decision spendBoth(long cost) {
    return limiter.spend(
        List.of(
            limiter.transaction("per-ip", "a").withCost(cost),
            limiter.transaction("daily", "a").withCost(cost)));
  }
}
