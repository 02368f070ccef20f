// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class ConclusionTest {

  private static List<RunResult> ofTheEssay(String traffic) {
    return FourHours.run(
        traffic, Drip.HEALTHY, Algorithm.TIME_BUCKET, Algorithm.LEAKY_BUCKET, Algorithm.GCRA);
  }

  @Test
  void defaultSimulation_showsWhyTheAlgorithmMatters() {
    List<RunResult> outcomes = ofTheEssay("rogue");

    assertThat(Conclusion.of(outcomes))
        .isEqualTo(
            "With time-bucket a client is locked out for up to 59 min, with gcra for 36 s."
                + " After the first 1 h, time-bucket lets up to 100 requests through in 1m, gcra 2.");
  }

  @Test
  void wrongDenials_comeFirst() {
    Drip drip = Drip.HEALTHY.stalledFrom(Duration.ofHours(1), Duration.ofHours(2));

    assertThat(
            Conclusion.of(
                FourHours.run("steady:clients=50", drip, Algorithm.LEAKY_BUCKET, Algorithm.GCRA)))
        .isEqualTo(
            "leaky-bucket turns away 3,042 of 16,000 requests for which there was room."
                + " With leaky-bucket a client is locked out for up to 46 min, with gcra never.");
  }

  @Test
  void clientsThatAreNeverServed_comeFirst_andLockoutsAreLeftOut() {
    List<RunResult> outcomes = ofTheEssay("retry-storm");

    assertThat(Conclusion.of(outcomes))
        .isEqualTo(
            "With gcra, 81 of 200 clients are never served, with time-bucket none."
                + " With gcra the clients send 1,929 requests, with time-bucket 300.");
    assertThat(Report.admittedChart(outcomes).text())
        .contains("time-bucket: locked out 1 h", "gcra: 81 never served");
  }

  @Test
  void gcra_isComparedWithTheBest_ifItIsTheWorst() {
    assertThat(
            Conclusion.of(
                FourHours.run(
                    "retry-storm:jitter=1", Drip.HEALTHY, Algorithm.TIME_BUCKET, Algorithm.GCRA)))
        .isEqualTo("With gcra the clients send 915 requests, with time-bucket 300.");
  }

  @Test
  void gcraBetweenWorstAndBest_isComparedWithBoth() {
    assertThat(
            Conclusion.of(
                List.of(
                    lockedOut(Algorithm.GCRA, 60),
                    lockedOut(Algorithm.LEAKY_BUCKET, 0),
                    lockedOut(Algorithm.TIME_BUCKET, 600))))
        .isEqualTo(
            "With time-bucket a client is locked out for up to 10 min, with gcra for 60 s,"
                + " with leaky-bucket never.");
  }

  private static RunResult lockedOut(Algorithm kind, long seconds) {
    return new RunResult(
        new Subject(kind, Quota.per(1, Duration.ofHours(1))),
        1,
        1,
        0,
        Duration.ofSeconds(seconds).toNanos(),
        "rogue-1",
        OptionalLong.empty(),
        Duration.ofHours(1).toNanos(),
        Duration.ofHours(1).toNanos(),
        List.of(1L),
        List.of(1L),
        List.of());
  }

  @Test
  void similarResults_areNotContrasted() {
    assertThat(
            Conclusion.of(
                FourHours.run("steady", Drip.HEALTHY, Algorithm.TIME_BUCKET, Algorithm.GCRA)))
        .isEqualTo("With this traffic, all results have the same figures.");
    assertThat(
            Conclusion.of(
                FourHours.run("crowd", Drip.HEALTHY, Algorithm.LEAKY_BUCKET, Algorithm.GCRA)))
        .isEqualTo(
            "The lockouts, peaks and numbers of requests do not differ by a factor of 3; see the table.");
    assertThat(Conclusion.of(FourHours.run("steady", Drip.HEALTHY, Algorithm.GCRA)))
        .isEqualTo("There is only one result, so there is nothing to compare.");
  }
}
