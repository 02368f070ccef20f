// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.redis.Fleet.Topology;
import dev.sluice.redis.Step.Kind;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is left of a plan when its fault needs only a part of it. */
class ShrinkerTest {

  private static final Map<String, Integer> SETTINGS =
      Map.of("processes", 4, "latencyMicros", 100, "leases", 1, "clocksDiffer", 1);

  private static final Plan PLAN =
      new Plan(
          1,
          Topology.SINGLE,
          SETTINGS,
          List.of(
              Step.of(1, Kind.SPEND, 0, 0, 0, 1),
              Step.of(2, Kind.RESET, 3, 0, 0),
              Step.of(3, Kind.SPEND, 2, 0, 0, 1),
              Step.of(4, Kind.REFUND, 1, 0, 0, 1),
              Step.of(5, Kind.FAIL_OVER, 3)));

  private static List<String> left(Plan plan) {
    return plan.steps().stream().map(Step::toString).toList();
  }

  @Test
  void shrink_leavesOneProcess_andNoSettingOn() {
    Plan plan = Shrinker.shrink(PLAN, candidate -> candidate.has(Kind.RESET));
    assertThat(left(plan)).containsExactly("2 p0 reset 0 0");
    assertThat(plan.settings())
        .isEqualTo(Map.of("processes", 1, "latencyMicros", 100, "leases", 0, "clocksDiffer", 0));
  }

  /** A fault that two processes are needed for, and leases. */
  @Test
  void shrink_keepsWhatTheFaultNeeds() {
    Plan plan = Shrinker.shrink(PLAN, ShrinkerTest::isOfTwoProcessesWithLeases);
    assertThat(left(plan)).containsExactly("2 p0 reset 0 0", "4 p1 refund 0 0 1");
    assertThat(plan.settings())
        .isEqualTo(Map.of("processes", 2, "latencyMicros", 100, "leases", 1, "clocksDiffer", 0));
  }

  private static boolean isOfTwoProcessesWithLeases(Plan plan) {
    return plan.setting("leases") == 1
        && plan.has(Kind.RESET)
        && plan.has(Kind.REFUND)
        && plan.steps().stream().map(Step::process).distinct().count() > 1;
  }
}
