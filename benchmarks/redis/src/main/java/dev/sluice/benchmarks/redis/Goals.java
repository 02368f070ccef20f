// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import dev.sluice.benchmarks.report.Goal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The goals of these benchmarks. Stateless. */
final class Goals {

  private Goals() {}

  /**
   * All goals.
   *
   * @param figures by subject, then by load: callers, or {@link RedisBenchmark#OUTSTANDING}
   * @param bytes of Redis memory of one bucket of ours
   */
  static List<Goal> of(Map<String, Map<Integer, Figure>> figures, double bytes) {
    List<Goal> goals = new ArrayList<>();
    Figure one = figure(figures, Subjects.SLUICE, 1);
    Figure get = figure(figures, Subjects.GET, 1);
    goals.add(
        new Goal("1 caller: p50, times that of GET", one.p50Nanos() / get.p50Nanos(), 1.2, false));
    Figure ours = figure(figures, Subjects.SLUICE, 64);
    for (String peer : List.of(Subjects.SEED, Subjects.BUCKET4J)) {
      Figure theirs = figure(figures, peer, 64);
      goals.add(
          new Goal(
              "64 callers: decisions, times " + peer,
              ours.perSecond() / theirs.perSecond(),
              peer.equals(Subjects.SEED) ? 5 : 3,
              true));
      goals.add(
          new Goal(
              "64 callers: p50, times " + peer,
              ours.p50Nanos() / theirs.p50Nanos(),
              1.0 / 3,
              false));
      goals.add(
          new Goal(
              "64 callers: p99, times " + peer,
              ours.p99Nanos() / theirs.p99Nanos(),
              1.0 / 3,
              false));
    }
    int many = RedisBenchmark.OUTSTANDING;
    goals.add(
        new Goal(
            many + " outstanding: decisions, times " + Subjects.BUCKET4J,
            figure(figures, Subjects.SLUICE, many).perSecond()
                / figure(figures, Subjects.BUCKET4J, many).perSecond(),
            3.5,
            true));
    goals.add(new Goal("bytes of Redis memory of a bucket", bytes, 80, false));
    return goals;
  }

  private static Figure figure(
      Map<String, Map<Integer, Figure>> figures, String subject, int load) {
    Figure figure = figures.getOrDefault(subject, Map.of()).get(load);
    if (figure == null) {
      throw new IllegalStateException("no figure of " + subject + " at " + load);
    }
    return figure;
  }
}
