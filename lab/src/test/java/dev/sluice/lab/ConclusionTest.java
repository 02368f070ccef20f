// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ConclusionTest {

  @Test
  void defaultSimulation_saysWhyTheAlgorithmMatters() {
    List<RunResult> outcomes =
        FourHours.run(
            "rogue",
            Drip.HEALTHY,
            AlgorithmKind.TIME_BUCKET,
            AlgorithmKind.LEAKY_BUCKET,
            AlgorithmKind.GCRA);

    assertThat(Conclusion.of(outcomes))
        .isEqualTo(
            "With time-bucket a client is locked out for up to 59 min, with gcra for 36 s."
                + " After the first 1 h, time-bucket lets up to 100 requests through in 1m, gcra 2.");
  }

  @Test
  void stalledDrip_isSaidFirst() {
    Drip drip = Drip.HEALTHY.stalledFrom(Duration.ofHours(1), Duration.ofHours(2));

    assertThat(
            Conclusion.of(
                FourHours.run(
                    "steady:clients=50", drip, AlgorithmKind.LEAKY_BUCKET, AlgorithmKind.GCRA)))
        .isEqualTo(
            "leaky-bucket turns away 3,042 of 16,000 requests for which there was room."
                + " With leaky-bucket a client is locked out for up to 46 min, with gcra never.");
  }

  @Test
  void likeOutcomes_areNotSetAgainstEachOther() {
    assertThat(
            Conclusion.of(
                FourHours.run(
                    "steady", Drip.HEALTHY, AlgorithmKind.TIME_BUCKET, AlgorithmKind.GCRA)))
        .isEqualTo("This traffic does not tell them apart.");
    assertThat(Conclusion.of(FourHours.run("steady", Drip.HEALTHY, AlgorithmKind.GCRA)))
        .isEqualTo("Nothing to compare with.");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0 ms",
    "35640000000, 36 s",
    "3564000000000, 59 min",
    "3581000000000, 1 h",
    "9000000000000, 2.5 h"
  })
  void span_isSaidInOneUnit(long nanos, String words) {
    assertThat(Spans.words(nanos)).isEqualTo(words);
  }
}
