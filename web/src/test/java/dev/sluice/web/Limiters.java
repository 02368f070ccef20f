// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;

/** The limits of this package's tests. */
final class Limiters {

  private Limiters() {}

  static Limits limits() {
    Catalogue names =
        Catalogue.of(
            LimitName.builder(1001, "PerAddress").id(IdFormat.ipAddress()).jitter(0).build(),
            LimitName.builder(1002, "PerRange").id(IdFormat.ipv6Range(48)).build(),
            LimitName.builder(1003, "PerKey").jitter(0).build(),
            LimitName.builder(1004, "PerAddressPerUser")
                .id(IdFormat.joined(IdFormat.ipAddress(), IdFormat.string()))
                .build(),
            LimitName.builder(1005, "FailedPerAddress").id(IdFormat.ipAddress()).jitter(0).build(),
            LimitName.builder(1006, "Disabled").build(),
            LimitName.builder(1007, "Forgotten").build());
    return Limits.builder(names)
        .limit("PerAddress", Quota.per(3, Duration.ofSeconds(30)))
        .limit("PerRange", Quota.per(5, Duration.ofMinutes(1)))
        .limit("PerKey", Quota.per(2, Duration.ofMinutes(1)))
        .limit("PerAddressPerUser", Quota.per(2, Duration.ofMinutes(1)))
        .unlimited("Disabled")
        .limit("FailedPerAddress", Quota.per(30, Duration.ofHours(1)))
        .build();
  }

  static Limiter limiter() {
    return on(BucketStore.inMemory(() -> Bucket.START_NANOS));
  }

  static Limiter on(BucketStore store) {
    return Limiter.of(new CurrentLimits(limits()), store);
  }

  static long remaining(Limiter limiter, String limit, String id) {
    return limiter.check(limit, id, 0).remaining();
  }

  /** What is left of the bucket that trials of a limit have. */
  static long remainingInShadow(Limiter limiter, String limit, String id) {
    Transaction read = limiter.transaction(limit, id).inShadow().withCost(0);
    return limiter.check(List.of(read)).remaining();
  }
}
