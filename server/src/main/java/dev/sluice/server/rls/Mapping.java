// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.limit.Limits;
import dev.sluice.rules.RuleMatch.Excess;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds the limits that a descriptor stands for. Thread-safe; never blocks. */
@FunctionalInterface
interface Mapping {

  /**
   * Maps a descriptor.
   *
   * @param domain what the proxy calls its set of limits, not empty
   * @param entries the descriptor
   * @param limits the limits that hold now
   * @return what the descriptor stands for
   * @throws dev.sluice.limit.InvalidRequestException if a limit is meant, and a value is not a
   *     valid id of its, or the limit has no default and must have one
   */
  Mapped map(String domain, List<Entry> entries, Limits limits);

  /** The meaning of a descriptor. */
  sealed interface Mapped {

    /** The names of limits that other descriptors of the request are not charged. */
    default List<String> replaces() {
      return List.of();
    }
  }

  /** No limit is meant: the descriptor passes, and is counted as unmatched. */
  record Unmatched() implements Mapped {
    static final Unmatched INSTANCE = new Unmatched();
  }

  /** Somebody wrote that it is unlimited. */
  record Unlimited(List<String> replaces) implements Mapped {}

  /** A rule denies it, or its values make no id. */
  record Denied(String why, List<String> replaces) implements Mapped {}

  /**
   * One limit or several, which count together.
   *
   * @param lines in the order of the rule; none where a rule leaves out all of its limits
   */
  record Limited(List<Line> lines, List<String> replaces) implements Mapped {}

  /**
   * A bucket and what is charged to it.
   *
   * @param transaction the bucket, in shadow if it refuses nobody; its cost is 1
   * @param fixedCost tokens; null for the hits of the request
   * @param excess what becomes of a cost that does not fit
   */
  record Line(Transaction transaction, @Nullable Long fixedCost, Excess excess) {

    /**
     * Returns what is charged.
     *
     * @param hits how often the request counts
     * @return tokens; 0 for 0 hits, which only look
     */
    long cost(long hits) {
      return fixedCost == null || hits == 0 ? hits : fixedCost;
    }

    /**
     * Returns what is given back: at most what the descriptor names, and at most what a request is
     * charged here.
     *
     * @param hits how many the descriptor names
     * @return tokens
     */
    long refund(long hits) {
      return Math.min(hits, cost(hits));
    }

    /** The same charge to another bucket. */
    Line with(Transaction other) {
      return new Line(other, fixedCost, excess);
    }

    static Line of(Transaction transaction) {
      return new Line(transaction, null, Excess.REJECT);
    }
  }
}
