// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.Transaction;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One limit that a matching rule charges. Immutable and thread-safe.
 *
 * @param limit the limit's name
 * @param parts the text of each part of the id
 * @param fixedCost tokens; null where the cost is the number of hits that came with the request
 * @param shadow whether a denial refuses nobody
 * @param excess what happens with a cost that does not fit
 */
public record RuleCharge(
    String limit, List<String> parts, @Nullable Long fixedCost, boolean shadow, Excess excess) {

  /**
   * Makes a charge.
   *
   * @param limit the limit's name
   * @param parts copied
   * @param fixedCost tokens; null where the cost is the number of hits
   * @param shadow whether a denial refuses nobody
   * @param excess what happens with a cost that does not fit
   */
  public RuleCharge {
    parts = List.copyOf(parts);
  }

  /**
   * Returns what a request costs here.
   *
   * @param hits how often it counts, not negative; 0 for one that only asks
   * @return tokens; 0 for 0 hits, whatever the rule says
   */
  public long cost(long hits) {
    return fixedCost == null || hits == 0 ? hits : fixedCost;
  }

  /**
   * Returns the transaction at a cost of 1, in shadow where the rule says so: for doors that treat
   * a cost above the burst by {@link #excess}.
   *
   * @param limits the limits from which the rule book came
   * @return the transaction
   * @throws dev.sluice.limit.InvalidIdException if a value makes no id of this limit
   */
  public Transaction transaction(Limits limits) {
    LimitName name = limits.catalogue().get(limit);
    String id = name.id().join(parts, Strictness.LENIENT);
    Transaction transaction = Transaction.of(limits, limit, id);
    return shadow ? transaction.inShadow() : transaction;
  }

  /**
   * Returns the transaction at its {@linkplain #cost cost}.
   *
   * @param limits the limits from which the rule book came
   * @param hits as above
   * @return the transaction
   * @throws InvalidRequestException if a value makes no id of this limit, or the cost is above its
   *     burst
   */
  public Transaction transaction(Limits limits, long hits) {
    return transaction(limits).withCost(cost(hits));
  }
}
