// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.time.Duration;

/** A limit that gives out exactly {@link #BURST} tokens while a test runs, and counting them. */
final class Spending {

  static final String LIMIT = "Spent";
  static final int BURST = 100;
  static final Limits LIMITS =
      Limits.builder(
              Catalogue.of(
                  LimitName.builder(1, LIMIT).id(IdFormat.string()).build(),
                  LimitName.builder(2, "Other").id(IdFormat.string()).build()))
          .limit(LIMIT, Quota.burst(BURST).refill(1, Duration.ofHours(1)))
          .limit("Other", Quota.burst(BURST).refill(1, Duration.ofHours(1)))
          .build();

  /** Beyond a time-out: the machine may be busy. A call without a time-out takes even longer. */
  private static final Duration SLACK = Duration.ofSeconds(30);

  private Spending() {}

  /** How many of some attempts were allowed. */
  static int granted(Limiter limiter, String id, int attempts) {
    int granted = 0;
    for (int i = 0; i < attempts; i++) {
      granted += limiter.spend(LIMIT, id).allowed() ? 1 : 0;
    }
    return granted;
  }

  /** Runs something that must end by a time-out, give or take what a busy machine needs. */
  static void within(Duration timeout, Runnable call) {
    long start = System.nanoTime();
    call.run();
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(timeout.plus(SLACK));
  }
}
