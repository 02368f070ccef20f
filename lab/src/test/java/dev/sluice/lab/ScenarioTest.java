// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ScenarioTest {

  private static final Quota LIMIT = Quota.per(100, Duration.ofHours(1));
  private static final Duration LENGTH = Duration.ofHours(4);
  private static final Duration BIN = Duration.ofMinutes(1);

  @ParameterizedTest
  @EnumSource
  void sameSeed_givesTheSameOutcome_andAnotherSeedAnother(Algorithm kind) {
    String[] traffic = {"crowd", "rogue:clients=3", "bursty", "retry-storm:jitter=0.5", "diurnal"};
    Subject subject = new Subject(kind, LIMIT);
    RunResult first = scenario(1, traffic).run(subject, nanos -> {});
    assertThat(scenario(1, traffic).run(subject, nanos -> {})).isEqualTo(first);
    assertThat(scenario(2, traffic).run(subject, nanos -> {})).isNotEqualTo(first);
  }

  @Test
  void clientsThatIgnoreDenials_sendTheSameRequests_toEachAlgorithm() {
    List<List<Long>> seen = new ArrayList<>();
    for (Algorithm kind : Algorithm.values()) {
      RunResult outcome = run(kind, "crowd");
      List<Long> asked = new ArrayList<>();
      for (int i = 0; i < outcome.admitted().size(); i++) {
        asked.add(outcome.admitted().get(i) + outcome.denied().get(i));
      }
      seen.add(asked);
    }
    assertThat(seen.stream().distinct()).hasSize(1);
  }

  @Test
  void steadyTraffic_belowTheLimit_isNeverDenied() {
    for (Algorithm kind : Algorithm.values()) {
      RunResult outcome = run(kind, "steady");
      assertThat(outcome.totalDenied()).as(kind.toString()).isZero();
      assertThat(outcome.requests()).isBetween(3190L, 3210L); // 10 clients, 80 an hour, 4 hours
      assertThat(outcome.shareOfClientsDenied()).isZero();
      assertThat(outcome.longestLockoutNanos()).isZero();
      assertThat(outcome.lockedOut()).isEmpty();
    }
  }

  @Test
  void figures_areCountedRight() {
    // One client sends one request per minute; the limit is one request per two minutes.
    Scenario scenario = tenMinutes("steady:clients=1,rate=1/1m", 5);
    Quota limit = Quota.per(1, Duration.ofMinutes(2));
    RunResult outcome = scenario.run(new Subject(Algorithm.GCRA, limit), nanos -> {});
    assertThat(outcome.requests()).isEqualTo(10);
    assertThat(outcome.admitted()).containsExactly(3L, 2L);
    assertThat(outcome.denied()).containsExactly(2L, 3L);
    assertThat(outcome.totalAdmitted()).isEqualTo(5);
    assertThat(outcome.clients()).isEqualTo(1);
    assertThat(outcome.clientsDenied()).isEqualTo(1);
    assertThat(outcome.peak()).isEqualTo(3);
    assertThat(outcome.variance()).isEqualTo(0.25);
    assertThat(outcome.longestLockoutNanos()).isEqualTo(Duration.ofMinutes(1).toNanos());
    assertThat(outcome.lockedOut()).isEqualTo("steady-1");
    assertThat(outcome.wronglyDenied()).isEmpty();
  }

  @Test
  void lockout_withoutALaterAdmission_endsWhenTheLastRetryAfterEnds() {
    Scenario scenario = tenMinutes("steady:clients=1,rate=1/1m", 1);
    // The client is admitted in the first minute, and denied in each minute after it.
    RunResult hour = lockedOut(scenario, Duration.ofHours(1));
    assertThat(hour.denied()).startsWith(0L, 1L).endsWith(1L);
    assertThat(hour.longestLockoutNanos())
        .isGreaterThan(Duration.ofMinutes(8).toNanos())
        .isLessThanOrEqualTo(Duration.ofMinutes(9).toNanos());
    assertThat(hour.lockedOut()).isEqualTo("steady-1");
  }

  @Test
  void lockout_ofASingleDenial_isItsRetryAfter() {
    Scenario scenario = tenMinutes("retry-storm:clients=2,tries=1,within=1s", 1);
    RunResult outcome = lockedOut(scenario, Duration.ofMinutes(5));
    assertThat(outcome.totalDenied()).isEqualTo(1);
    assertThat(outcome.longestLockoutNanos())
        .isGreaterThan(Duration.ofMinutes(4).toNanos())
        .isLessThanOrEqualTo(Duration.ofMinutes(5).toNanos());
    assertThat(outcome.lockedOut()).startsWith("retry-storm-");
  }

  @Test
  void clientsThatGiveUp_areNeverServed_butClientsWithoutRequestsAreNotCounted() {
    Scenario once = tenMinutes("retry-storm:clients=3,tries=1,within=1s", 1);
    assertThat(lockedOut(once, Duration.ofMinutes(5)).clientsNeverServed()).isEqualTo(2);
    Scenario twice = tenMinutes("retry-storm:clients=2,tries=2,within=1s", 1);
    assertThat(lockedOut(twice, Duration.ofMinutes(5)).clientsDenied()).isEqualTo(1);
    assertThat(lockedOut(twice, Duration.ofMinutes(5)).clientsNeverServed()).isZero();
    Scenario late = tenMinutes("rogue:start=1h", 1);
    assertThat(lockedOut(late, Duration.ofMinutes(5)).clientsNeverServed()).isZero();
  }

  private static RunResult lockedOut(Scenario scenario, Duration period) {
    return scenario.run(new Subject(Algorithm.TIME_BUCKET, Quota.per(1, period)), n -> {});
  }

  @Test
  void variance_leavesOutALastBinThatIsCutShort() {
    Scenario scenario = tenMinutes("steady:clients=1,rate=1/1m", 4);
    RunResult outcome = scenario.run(new Subject(Algorithm.GCRA, LIMIT), nanos -> {});
    assertThat(outcome.admitted()).containsExactly(4L, 4L, 2L);
    assertThat(outcome.variance()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"fa-IR", "ar-EG"})
  void report_isTheSameInEveryCountry(String country) {
    Scenario scenario = scenario(1, "rogue");
    List<RunResult> outcomes =
        List.of(scenario.run(new Subject(Algorithm.GCRA, LIMIT), nanos -> {}));
    String here = Report.html(scenario, outcomes, "");
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag(country));
    try {
      assertThat(Report.html(scenario, outcomes, "")).isEqualTo(here);
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void stalledDrip_deniesWrongly_andGcraDoesNot() {
    Drip stalled = Drip.HEALTHY.stalledFrom(Duration.ofHours(1), Duration.ofHours(2));
    Scenario scenario = scenario(1, "steady");
    RunResult bad = scenario.run(new Subject(Algorithm.LEAKY_BUCKET, LIMIT, stalled), n -> {});
    assertThat(bad.wronglyDenied().orElseThrow()).isEqualTo(bad.totalDenied()).isGreaterThan(100);
    assertThat(run(Algorithm.LEAKY_BUCKET, "steady").wronglyDenied()).hasValue(0);
    assertThat(run(Algorithm.GCRA, "steady").wronglyDenied()).isEmpty();
  }

  @Test
  void level_isThatOfTheWatchedClient_fromStartToEnd() {
    Scenario scenario =
        new Scenario(traffic("steady:clients=2", "rogue"), LENGTH, BIN, 1, "rogue-1");
    assertThat(scenario.watchedClient()).isEqualTo("rogue-1");
    RunResult outcome = scenario.run(new Subject(Algorithm.TIME_BUCKET, LIMIT), nanos -> {});
    List<RunResult.Point> level = outcome.level();
    assertThat(level.get(0)).isEqualTo(new RunResult.Point(0, 0));
    assertThat(level.get(level.size() - 1))
        .isEqualTo(new RunResult.Point(LENGTH.toNanos() - 1, 100));
    assertThat(level).isSortedAccordingTo((a, b) -> Long.compare(a.nanos(), b.nanos()));
    // At each of the three resets the level falls from 100 to 0, and rises to 100 at once.
    long falls = 0;
    for (int i = 1; i < level.size(); i++) {
      falls += level.get(i - 1).value() == 100 && level.get(i).value() == 0 ? 1 : 0;
    }
    assertThat(falls).isEqualTo(3);
    assertThat(level.size()).isLessThanOrEqualTo(4 * 240);
  }

  @Test
  void progress_isReported_toTheEnd() {
    List<Long> reports = new ArrayList<>();
    RunResult outcome =
        scenario(1, "steady:clients=100").run(new Subject(Algorithm.GCRA, LIMIT), reports::add);
    assertThat(outcome.requests()).isGreaterThan(30_000);
    assertThat(reports).hasSizeGreaterThan(7).isSorted().endsWith(LENGTH.toNanos());
  }

  @Test
  void mistakes_areNamed() {
    List<ClientGroup> steady = traffic("steady");
    assertThatThrownBy(() -> new Scenario(List.of(), LENGTH, BIN, 1, ""))
        .hasMessage("traffic is empty; add at least one client group");
    assertThatThrownBy(() -> new Scenario(steady, Duration.ZERO, BIN, 1, ""))
        .hasMessageContaining("length: found PT0S, expected a duration > 0");
    assertThatThrownBy(() -> new Scenario(steady, Duration.ofDays(4000), BIN, 1, ""))
        .hasMessageContaining("at most 10 years");
    assertThatThrownBy(() -> new Scenario(steady, LENGTH, Duration.ofSeconds(7), 1, ""))
        .hasMessage(
            "bin: found 7s, expected a duration that splits the run of 4h into 1 to 2000 steps");
    assertThatThrownBy(() -> new Scenario(steady, LENGTH, Duration.ofHours(5), 1, ""))
        .hasMessageContaining("bin: found 5h");
    assertThatThrownBy(() -> new Scenario(steady, LENGTH, BIN, 1, "rogue-1"))
        .hasMessage(
            "watch: found \"rogue-1\", expected the name of a client in the traffic, such as steady-1");
    assertThatThrownBy(() -> run(Algorithm.GCRA, "steady:cost=101"))
        .hasMessage("cost 101 exceeds the burst (100) of the limit 100/1h");
    Quota fine = Quota.per(1_000_000_000, Duration.ofSeconds(1));
    assertThatThrownBy(
            () ->
                scenario(1, "steady:clients=1,rate=1/1h")
                    .run(new Subject(Algorithm.LEAKY_BUCKET, fine), n -> {}))
        .hasMessageContaining("drip: one drip every 1ns for 4h makes more than 100000000 drips");
    assertThatThrownBy(() -> new Subject(Algorithm.GCRA, Quota.per(1, Duration.ofDays(10_000))))
        .hasMessageContaining("at most 10 years are allowed");
  }

  private static RunResult run(Algorithm kind, String... traffic) {
    return scenario(1, traffic).run(new Subject(kind, LIMIT), nanos -> {});
  }

  private static Scenario scenario(long seed, String... traffic) {
    return new Scenario(traffic(traffic), LENGTH, BIN, seed, "");
  }

  private static Scenario tenMinutes(String traffic, int minutesOfABin) {
    return new Scenario(
        traffic(traffic), Duration.ofMinutes(10), Duration.ofMinutes(minutesOfABin), 1, "");
  }

  private static List<ClientGroup> traffic(String... descriptions) {
    return Arrays.stream(descriptions).map(d -> ClientGroup.parse(d, LIMIT, LENGTH)).toList();
  }
}
