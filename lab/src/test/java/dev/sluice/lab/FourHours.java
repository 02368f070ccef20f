// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** Four hours of traffic under a limit of 100 an hour. */
final class FourHours {

  static final Quota LIMIT = Quota.per(100, Duration.ofHours(1));
  static final Duration LENGTH = Duration.ofHours(4);

  private FourHours() {}

  static List<RunResult> run(String traffic, Drip drip, Algorithm... kinds) {
    Scenario scenario = scenario(traffic);
    return Arrays.stream(kinds)
        .map(kind -> scenario.run(new Subject(kind, LIMIT, drip), nanos -> {}))
        .toList();
  }

  static Scenario scenario(String traffic) {
    return new Scenario(
        List.of(ClientGroup.parse(traffic, LIMIT, LENGTH)),
        LENGTH,
        Scenario.usualBin(LENGTH),
        1,
        "");
  }
}
