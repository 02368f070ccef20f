// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Penalty;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * The limits of all simulated runs. The limits A and B exist in several sizes. The limit Z refills
 * one token an hour. The limits S and V have several quotas. Callers can wait for tokens of the
 * limits W and V.
 */
final class SimulatedLimits {

  static final LimitName A = name(1, "A");
  private static final LimitName B = name(2, "B");
  private static final LimitName Z = name(3, "Z");
  static final LimitName W = waitedFor(4, "W");
  private static final LimitName S = name(5, "S");
  static final LimitName V = waitedFor(6, "V");
  private static final Catalogue CATALOGUE = Catalogue.of(A, B, Z, W, S, V);
  private static final List<Limits> ALL =
      List.of(
          limits(10, 10, 3, 100, 9),
          limits(10, 20, 6, 50, 9),
          limits(5, 10, 4, 200, 12),
          limits(20, 5, 3, 30, 6));

  private static final List<String> NAMES = List.of("A", "B", "Z", "W", "S", "V");

  private SimulatedLimits() {}

  private static LimitName name(int number, String name) {
    return LimitName.builder(number, name).id(IdFormat.string()).build();
  }

  private static LimitName waitedFor(int number, String name) {
    return LimitName.builder(number, name)
        .id(IdFormat.string())
        .longestWait(Duration.ofMillis(600))
        .build();
  }

  private static Limits limits(
      int burstOfA, int millisOfA, int burstOfB, int millisOfB, int burstOfS) {
    return Limits.builder(CATALOGUE)
        .limit("A", Quota.burst(burstOfA).refill(1, Duration.ofMillis(millisOfA)))
        .limit("B", Quota.burst(burstOfB).refill(1, Duration.ofMillis(millisOfB)))
        .limit("Z", Quota.per(1, Duration.ofHours(1)))
        .limit("W", Quota.burst(3).refill(1, Duration.ofMillis(40)))
        .limit(
            "S",
            List.of(
                Quota.burst(burstOfS).refill(8, Duration.ofMillis(400)),
                Quota.burst(burstOfB).refill(3, Duration.ofMillis(30))))
        .limit(
            "V",
            List.of(
                Quota.burst(8).refill(6, Duration.ofMillis(400)),
                Quota.burst(3).refill(2, Duration.ofMillis(60))))
        .build();
  }

  static Limits of(int number) {
    return ALL.get(number % ALL.size());
  }

  /** Returns the name of a limit, given its number in a plan. */
  static String nameOf(int number) {
    return NAMES.get(number);
  }

  /**
   * Returns the limits with a penalty on an id. The new penalty replaces the id's current penalty.
   *
   * @param until the end of the penalty; a time in the past lifts the current penalty
   */
  static Limits penalized(Limits now, String limit, String id, Instant until) {
    LimitName name = CATALOGUE.get(limit);
    List<Penalty> penalties = new ArrayList<>();
    for (LimitName one : List.of(A, B, W, S, V)) {
      now.penaltiesOf(one).stream()
          .filter(penalty -> !(one.equals(name) && penalty.id().equals(id)))
          .forEach(penalties::add);
    }
    penalties.add(new Penalty(name, id, until, 0, ""));
    return now.withPenalties(penalties);
  }

  /** Returns an override of limit A. */
  static LimitOverride override(String id, int burst) {
    return new LimitOverride(A, id, Quota.burst(burst).refill(1, Duration.ofMillis(10)), "");
  }
}
