// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.cli.RecordedSteps.Recording;
import dev.sluice.cli.RecordedSteps.Run;
import dev.sluice.cli.RecordedSteps.Step;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class RecordedStepsTest {

  @Test
  void eachRun_isDecidedTheSame_withAnotherLimitOfItsBurst() {
    for (Run run : RecordedSteps.read().runs()) {
      Quota quota = Quota.burst(run.burst()).refill(1, Duration.ofSeconds(7));
      Limit limit = Limit.of(quota, () -> 0);
      for (Step step : run.steps()) {
        Decision decision = limit.spend("a", step.cost());
        assertThat(decision.allowed()).as("%s", step).isEqualTo(step.allowed());
        assertThat(decision.remaining()).as("%s", step).isEqualTo(step.remaining());
        assertThat(decision.resetInNanos())
            .as("%s", step)
            .isEqualTo(step.reset() * quota.intervalNanos());
        if (decision.denied()) {
          assertThat(decision.retryInNanos())
              .as("%s", step)
              .isEqualTo(step.retry() * quota.intervalNanos());
        }
      }
    }
  }

  @Test
  void read_findsWhatTheHelpSays() {
    Recording recording = RecordedSteps.read();
    assertThat(recording.acts()).isEqualTo(2_760);
    assertThat(steps(recording, 0, 0)).isEqualTo(981);
    assertThat(steps(recording, 0, 1)).isEqualTo(774);
    assertThat(steps(recording, 10, 0)).isEqualTo(98);
  }

  private static long steps(Recording recording, long burst, long leastCost) {
    return recording.runs().stream()
        .filter(run -> burst == 0 || run.burst() == burst)
        .flatMap(run -> run.steps().stream())
        .filter(step -> step.cost() >= leastCost)
        .count();
  }
}
