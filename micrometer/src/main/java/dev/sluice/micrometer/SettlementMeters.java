// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import dev.sluice.Reservation.Settlement;
import dev.sluice.limit.LimitName;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;

/** The meters of the settlements of one limit. Thread-safe. */
final class SettlementMeters {

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
                "Debt of a bucket after a settlement, in tokens; settlements without a debt are left out")
            .tag("limit", name.name())
            .register(registry);
  }

  private static Counter tokens(MeterRegistry registry, LimitName name, String kind) {
    return Counter.builder("ratelimits.settlement.tokens")
        .description("Tokens of settlements, by kind")
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
