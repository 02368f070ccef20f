// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Simplifies a failing plan as long as the plan still fails. The shrinker removes steps in ever
 * smaller groups (delta debugging, Zeller 1999), removes processes, and sets settings to 0.
 */
final class Shrinker {

  private static final int MOST_RUNS = 3_000;

  private Shrinker() {}

  static Plan shrink(Plan failing, Predicate<Plan> stillFails) {
    Plan shorter = withFewerSteps(failing, stillFails);
    return withSettingsOff(withFewerProcesses(shorter, stillFails), stillFails);
  }

  /** Moves one process's steps to another process, if the new plan fails in the same way. */
  private static Plan withFewerProcesses(Plan failing, Predicate<Plan> stillFails) {
    Plan plan = failing;
    for (int process = plan.processes() - 1; process >= 0 && plan.processes() > 1; process--) {
      Plan candidate = plan.withoutProcess(process);
      if (stillFails.test(candidate)) {
        plan = candidate;
      }
    }
    return plan;
  }

  private static Plan withSettingsOff(Plan failing, Predicate<Plan> stillFails) {
    Plan plan = failing;
    for (String name : failing.switches()) {
      Plan candidate = plan.with(name, 0);
      if (plan.setting(name) != 0 && stillFails.test(candidate)) {
        plan = candidate;
      }
    }
    return plan;
  }

  private static Plan withFewerSteps(Plan failing, Predicate<Plan> stillFails) {
    Plan plan = failing;
    int runs = 0;
    for (int size = Math.max(plan.steps().size() / 2, 1); ; ) {
      boolean shorter = false;
      for (int from = 0; from < plan.steps().size() && runs < MOST_RUNS; runs++) {
        List<Step> fewer = new ArrayList<>(plan.steps());
        fewer.subList(from, Math.min(from + size, fewer.size())).clear();
        Plan candidate = plan.withSteps(fewer);
        if (stillFails.test(candidate)) {
          plan = candidate;
          shorter = true;
        } else {
          from += size;
        }
      }
      if (runs >= MOST_RUNS || (size == 1 && !shorter)) {
        return plan;
      }
      size = Math.max(size / 2, 1);
    }
  }
}
