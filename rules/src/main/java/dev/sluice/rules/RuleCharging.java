// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.rules.RuleMatch.Verdict;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The charges of a rule, whatever it is for. Immutable and thread-safe.
 *
 * @param line where the rule starts
 * @param verdict whether its limits decide
 * @param limits in order
 * @param <C> what ids and costs are taken from
 */
record RuleCharging<C>(int line, Verdict verdict, List<Charged<C>> limits) {

  /** The cost of a request. */
  interface Cost<C> {

    /** Tokens; null for as many as there were hits. */
    @Nullable Long of(C context);
  }

  /** One limit. */
  record Charged<C>(String limit, Template<C> id, Cost<C> cost, boolean shadow, Excess excess) {}

  RuleMatch match(C context) {
    List<RuleCharge> charges = new ArrayList<>(limits.size());
    for (Charged<C> charged : limits) {
      List<String> parts = charged.id.parts(context);
      if (parts != null) {
        charges.add(
            new RuleCharge(
                charged.limit, parts, charged.cost.of(context), charged.shadow, charged.excess));
      }
    }
    return new RuleMatch(line, verdict, charges, List.of());
  }
}
