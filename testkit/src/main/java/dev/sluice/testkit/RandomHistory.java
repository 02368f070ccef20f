// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Chooses random quotas, times and transactions for tests with a {@link Bench}, and often chooses
 * edge cases.
 */
record RandomHistory(Random random) {

  private static final List<String> LIMITS = List.of(Bench.A, Bench.B, Bench.C, Bench.OFF);

  Quota quota() {
    long interval = oneOf(1, 2, 7, 1_000, 333_333_333, 100_000_000, 3_600_000_000_000L);
    long burst = oneOf(1, 2, 3, 10, 17, 1_000);
    // With a count above 1, the period is often not a whole multiple of the emission interval.
    long count = oneOf(1, 3, 7, 1_000);
    return Quota.burst(burst)
        .refill(count, Duration.ofNanos(interval * count + random.nextLong(count)));
  }

  /**
   * Returns by how many nanoseconds the test must advance the clock. The returned number is often
   * 0, or moves the clock to within 1 ns of a refill.
   */
  long stepNanos(Quota quota) {
    long interval = quota.intervalNanos();
    return switch (random.nextInt(8)) {
      case 0, 1 -> 0;
      case 2 -> 1;
      case 3 -> interval;
      case 4 -> Math.max(interval * random.nextLong(quota.burst() + 1) + random.nextInt(3) - 1, 0);
      case 5 -> random.nextLong(interval + 1);
      case 6 -> random.nextLong(2 * quota.offsetNanos() + 1);
      default -> interval / 2;
    };
  }

  /** Returns a step like {@link #stepNanos}, but negative in one of five cases. */
  long anyStepNanos(Quota quota) {
    long step = stepNanos(quota);
    return chance(5) ? -step : step;
  }

  long cost(Quota quota) {
    return oneOf(0, 1, 1, 1, quota.burst(), quota.burst() - 1, random.nextLong(quota.burst() + 1));
  }

  List<Transaction> batch(Bench bench, Quota quota) {
    List<String> limits = new ArrayList<>(LIMITS);
    Collections.shuffle(limits, random);
    List<Transaction> batch = new ArrayList<>();
    for (String limit : limits.subList(0, 1 + random.nextInt(limits.size()))) {
      Transaction transaction = bench.on(limit, cost(quota));
      batch.add(
          switch (random.nextInt(6)) {
            case 0 -> transaction.checkOnly();
            case 1 -> transaction.spendOnly();
            default -> transaction;
          });
    }
    return batch;
  }

  boolean chance(int oneIn) {
    return random.nextInt(oneIn) == 0;
  }

  int oneOutOf(int choices) {
    return random.nextInt(choices);
  }

  private long oneOf(long... choices) {
    return choices[random.nextInt(choices.length)];
  }
}
