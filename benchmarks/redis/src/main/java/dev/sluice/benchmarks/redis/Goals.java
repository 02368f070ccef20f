// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import dev.sluice.benchmarks.redis.Rounds.Ratio;
import dev.sluice.benchmarks.report.Goal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** The goals of the Redis benchmarks, with the figures of a run. */
final class Goals {

  private static final double SERVER_MICROS = 4.5;
  private static final double BYTES = 80;
  private static final double LEAST_SETTLED = 0.45;

  private final Map<String, Map<Load, Rounds>> figures;

  private Goals(Map<String, Map<Load, Rounds>> figures) {
    this.figures = figures;
  }

  /**
   * Returns all goals. The text of a ratio ends with the lowest and the highest ratio of a round.
   *
   * @param figures the measured rounds, by subject and load
   * @param bytes the memory of one of Sluice's buckets in Redis, in bytes
   */
  static List<Goal> of(Map<String, Map<Load, Rounds>> figures, double bytes) {
    return new Goals(figures).all(bytes);
  }

  /** Returns only the goals for settlements. */
  static List<Goal> ofSettling(Map<String, Map<Load, Rounds>> figures) {
    return List.of(new Goals(figures).settling());
  }

  private List<Goal> all(double bytes) {
    List<Goal> goals = new ArrayList<>();
    goals.add(
        goal(
            "1 caller, calling Sluice and GET alternately: p50 vs. GET",
            figure(Subjects.BESIDE_GET, Load.ONE)
                .ratio(Round::p50Nanos, figure(Subjects.GET_BESIDE, Load.ONE)),
            1.2,
            false));
    for (String peer : List.of(Subjects.BOULDER, Subjects.BUCKET4J)) {
      double wanted = peer.equals(Subjects.BOULDER) ? 4 : 3;
      goals.add(against(peer, Load.SIXTY_FOUR, "calls/s", Round::perSecond, wanted, true));
      goals.add(against(peer, Load.SIXTY_FOUR, "p50", Round::p50Nanos, 1.0 / 3, false));
      goals.add(against(peer, Load.SIXTY_FOUR, "p99", Round::p99Nanos, 1.0 / 3, false));
    }
    goals.add(against(Subjects.BUCKET4J, Load.MANY, "calls/s", Round::perSecond, 4, true));
    goals.add(settling());
    goals.add(
        new Goal(
            "the script alone, 20 charges a call: server µs a charge",
            figure(Subjects.SCRIPT_ALONE, Load.EIGHT_CALLS).median(Round::serverMicros),
            SERVER_MICROS,
            false));
    goals.add(new Goal("bytes of Redis memory of a bucket", bytes, BYTES, false));
    return goals;
  }

  /** Returns the goal for a reservation with its settlement, as a ratio to a single spend. */
  private Goal settling() {
    return goal(
        size(Load.SIXTY_FOUR) + ": settled reservations per second, vs. single spends",
        figure(Subjects.SETTLED, Load.SIXTY_FOUR)
            .ratio(Round::perSecond, figure(Subjects.SLUICE, Load.SIXTY_FOUR)),
        LEAST_SETTLED,
        true);
  }

  private Goal against(
      String peer,
      Load load,
      String what,
      ToDoubleFunction<Round> number,
      double wanted,
      boolean atLeast) {
    return goal(
        size(load) + ": " + what + " vs. " + peer,
        figure(Subjects.SLUICE, load).ratio(number, figure(peer, load)),
        wanted,
        atLeast);
  }

  private static String size(Load load) {
    return load.callers() > 0 ? load.callers() + " callers" : load.outstanding() + " outstanding";
  }

  private static Goal goal(String text, Ratio ratio, double wanted, boolean atLeast) {
    boolean around = ratio.lowest() <= wanted && wanted <= ratio.highest();
    String range = ratio.range() + (around ? ", some rounds above and some below the goal" : "");
    return new Goal(text + " (" + range + ")", ratio.ofMedians(), wanted, atLeast);
  }

  private Rounds figure(String subject, Load load) {
    Rounds rounds = figures.getOrDefault(subject, Map.of()).get(load);
    if (rounds == null) {
      throw new IllegalStateException("no figure of " + subject + " at " + load.title());
    }
    return rounds;
  }
}
