// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Estimates costs that are known only afterwards, and learns from the settlements of reservations.
 *
 * <pre>{@code
 * Estimate tokens = Estimate.mean(16, 8_192); // one for all requests
 * Transaction call = limiter.transaction("TokensPerKey", key).withCost(tokens.of(model, prompt));
 * try (Reservation reserved = limiter.reserve(call)) {
 *   …
 *   reserved.settle(Map.of("TokensPerKey", used)); // the estimate learns this cost
 * }
 * }</pre>
 *
 * <p>The estimate is the mean, not the highest cost: tokens that are reserved too much have often
 * refilled before they can be given back, so the limit would not be used up.
 *
 * <p>A group, such as a model, is estimated by itself after 20 settlements. Before, its estimate is
 * that of all groups together, and until these have 20 settlements, it is the highest estimate. The
 * most recent 1,000 settlements of a group count most. An estimate remembers the 1,000 groups that
 * were used last, in the memory of this process.
 *
 * <p>Thread-safe; never blocks for long.
 */
public final class Estimate {

  private static final int FEWEST = 20;
  private static final int MOST_GROUPS = 1_000;
  private static final double MEMORY = 1_000; // settlements

  private final long least;
  private final long most;

  @GuardedBy("this")
  private final Map<String, Ratio> groups = new LinkedHashMap<>(16, 0.75f, true);

  @GuardedBy("this")
  private final Ratio all = new Ratio();

  private Estimate(long least, long most) {
    this.least = least;
    this.most = most;
  }

  /**
   * Returns an estimate by the mean of costs in proportion to their hints.
   *
   * @param least the lowest estimate, at least 1
   * @param most the highest estimate, at least {@code least}; also the first one
   * @return an estimate that has learned nothing
   * @throws IllegalArgumentException for other bounds
   */
  public static Estimate mean(long least, long most) {
    if (least < 1 || most < least) {
      throw new IllegalArgumentException(
          "found estimates from %s to %s, expected a lower bound of 1 or more, and an upper bound that is not below it"
              .formatted(least, most));
    }
    return new Estimate(least, most);
  }

  /**
   * Estimates the cost of a call that nothing else is known about.
   *
   * @param group calls with similar costs
   * @return the estimated cost, for one call
   */
  public EstimatedCost of(String group) {
    return of(group, 1);
  }

  /**
   * Estimates the cost of a call in proportion to a hint.
   *
   * @param group calls with a similar ratio of cost to hint, such as the name of a model
   * @param hint a number that is known before the call and that the cost grows with, such as the
   *     length of a prompt; 0 counts as 1
   * @return the estimated cost, for one call
   * @throws IllegalArgumentException for a negative hint
   */
  public EstimatedCost of(String group, long hint) {
    Objects.requireNonNull(group, "group");
    if (hint < 0) {
      throw new IllegalArgumentException("hint: found " + hint + ", expected 0 or more");
    }
    return new EstimatedCost(this, group, Math.max(hint, 1), tokens(group, Math.max(hint, 1)));
  }

  private synchronized long tokens(String group, long hint) {
    Ratio own = groups.get(group);
    Ratio known = own != null && own.settlements >= FEWEST ? own : all;
    if (known.settlements < FEWEST) {
      return most;
    }
    return Math.min(Math.max(Math.round(known.costs / known.hints * hint), least), most);
  }

  private synchronized void learn(String group, long hint, long cost) {
    groups.computeIfAbsent(group, name -> new Ratio()).add(hint, cost);
    all.add(hint, cost);
    if (groups.size() > MOST_GROUPS) {
      groups.remove(groups.keySet().iterator().next()); // the one that was used least recently
    }
  }

  /** The sums of costs and hints; older ones count less and less. */
  private static final class Ratio {
    private double costs;
    private double hints;
    private double settlements;

    private void add(long hint, long cost) {
      double kept = settlements < MEMORY ? 1 : 1 - 1 / MEMORY;
      costs = costs * kept + cost;
      hints = hints * kept + hint;
      settlements = settlements * kept + 1;
    }
  }

  /**
   * The estimated cost of one call, for {@link Transaction#withCost(EstimatedCost)}. The
   * transactions of one call may share it. It learns from the first settlement. Thread-safe.
   */
  public static final class EstimatedCost {

    private final Estimate estimate;
    private final String group;
    private final long hint;
    private final long tokens;
    private final AtomicBoolean learned = new AtomicBoolean();

    private EstimatedCost(Estimate estimate, String group, long hint, long tokens) {
      this.estimate = estimate;
      this.group = group;
      this.hint = hint;
      this.tokens = tokens;
    }

    /**
     * Returns the estimate.
     *
     * @return tokens, within the bounds of the {@link Estimate}
     */
    public long tokens() {
      return tokens;
    }

    void learn(long cost) {
      if (learned.compareAndSet(false, true)) {
        estimate.learn(group, hint, cost);
      }
    }

    @Override
    public String toString() {
      return "about " + tokens + " tokens";
    }
  }
}
