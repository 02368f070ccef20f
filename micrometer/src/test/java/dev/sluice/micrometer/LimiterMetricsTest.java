// SPDX-License-Identifier: Apache-2.0
package dev.sluice.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.LimiterObserver.Ending;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.limit.Penalty;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.StreamHandler;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LimiterMetricsTest {

  private static final Duration DAY = Duration.ofDays(1);

  private final Watched watched = new Watched();

  private List<String> exposition() {
    return watched.registry.scrape().lines().toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "# TYPE ratelimits_spend_latency histogram",
        "ratelimits_spend_latency_count{decision=\"allowed\",limit=\"LoginsPerIPAddress\"} 2",
        "ratelimits_spend_latency_count{decision=\"denied\",limit=\"LoginsPerIPAddress\"} 1",
        "# TYPE ratelimits_latency histogram",
        "ratelimits_latency_count{call=\"spend\",result=\"success\"} 7",
        "ratelimits_latency_count{call=\"check\",result=\"error\"} 1",
        "# TYPE ratelimits_overrides_timestamp_seconds gauge",
        "ratelimits_overrides_timestamp_seconds 1.7000000005E9",
        "# TYPE ratelimits_overrides_errors gauge",
        "ratelimits_overrides_errors 0.0",
        "# TYPE ratelimits_overrides_active gauge",
        "ratelimits_overrides_active{limit=\"LoginsPerIPAddress\"} 1.0",
        "ratelimits_decisions_total{decision=\"allowed\",limit=\"LoginsPerIPAddress\"} 2.0",
        "ratelimits_decisions_total{decision=\"denied\",limit=\"LoginsPerIPAddress\"} 1.0",
        "ratelimits_decisions_total{decision=\"shadow_allowed\",limit=\"ApiCallsPerKey\"} 1.0",
        "ratelimits_decisions_total{decision=\"shadow_denied\",limit=\"ApiCallsPerKey\"} 1.0",
        "ratelimits_live_buckets 3.0",
        "ratelimits_waiting{limit=\"CallsPerPartner\"} 1.0"
      })
  void exposition_hasTheLine(String line) {
    watched.metrics.overridesLoaded(Instant.ofEpochMilli(1_700_000_000_500L));
    watched.everything();

    assertThat(exposition()).contains(line);
  }

  /** A rate can only see the first error if there was a 0 before it. */
  @Test
  void everyCallAndResult_hasItsSeriesFromTheFirst() {
    for (String call : List.of("check", "spend", "refund", "reset")) {
      assertThat(exposition())
          .contains("ratelimits_latency_count{call=\"%s\",result=\"error\"} 0".formatted(call))
          .contains("ratelimits_latency_count{call=\"%s\",result=\"success\"} 0".formatted(call));
    }
  }

  @Test
  void checkOnlyPartOfASpend_startsNoBucket() {
    var unused =
        watched.limiter.spend(
            List.of(
                watched.limiter.transaction("LoginsPerIPAddress", "192.0.2.9"),
                watched.limiter.transaction("CallsPerPartner", "checked").checkOnly()));

    assertThat(exposition())
        .contains("ratelimits_new_buckets_total{limit=\"LoginsPerIPAddress\"} 1.0")
        .noneMatch(
            line ->
                line.startsWith("ratelimits_new_buckets_total{limit=\"CallsPerPartner\"")
                    && !line.endsWith(" 0.0"));
  }

  /** Of a limiter that decides on many at a time; the same with a registry of any kind. */
  @Test
  void spentTogether_isCountedOneByOne() {
    LimitName limit = LimitName.builder(77, "CallsPerPeer").build();
    watched.metrics.spent(
        limit,
        new LimiterObserver.Spent() {
          @Override
          public int count() {
            return 5;
          }

          @Override
          public boolean allowed(int index) {
            return index != 1;
          }

          @Override
          public Decision decision(int index) {
            throw new AssertionError("nobody needs it");
          }
        },
        20_000);

    assertThat(exposition())
        .contains(
            "ratelimits_decisions_total{decision=\"allowed\",limit=\"CallsPerPeer\"} 4.0",
            "ratelimits_decisions_total{decision=\"denied\",limit=\"CallsPerPeer\"} 1.0",
            "ratelimits_spend_latency_count{decision=\"allowed\",limit=\"CallsPerPeer\"} 4",
            "ratelimits_spend_latency_count{decision=\"denied\",limit=\"CallsPerPeer\"} 1",
            "ratelimits_spend_latency_sum{decision=\"allowed\",limit=\"CallsPerPeer\"} 8.0E-5");
  }

  @Test
  void latency_isInSeconds() {
    long start = System.nanoTime();
    watched.everything();
    double seconds = (System.nanoTime() - start) / 1e9;

    double sum =
        Double.parseDouble(value("ratelimits_latency_sum{call=\"spend\",result=\"success\""));
    assertThat(sum).isPositive().isLessThan(seconds);
  }

  @Test
  void ids_areNeverLabels() {
    watched.everything();

    assertThat(watched.registry.scrape())
        .doesNotContain("192.0.2.7")
        .doesNotContain("192.0.2.9")
        .doesNotContain("key-of-ann");
  }

  @Test
  void suppliedQuotas_areLabelledByTheNameAlone() {
    LimitName plan = LimitName.builder(7001, "CallsPerPlan").build();
    assertThat(watched.limiter.spend(Transaction.of(plan, Quota.per(9, DAY), "x")).allowed())
        .isTrue();
    int before = exposition().size();
    for (int i = 1; i <= 100; i++) {
      Quota quota = Quota.per(i, DAY);
      assertThat(watched.limiter.spend(Transaction.of(plan, quota, "id-" + i)).allowed()).isTrue();
    }

    assertThat(exposition())
        .hasSize(before)
        .contains("ratelimits_decisions_total{decision=\"allowed\",limit=\"CallsPerPlan\"} 101.0");
  }

  @Test
  void limitsBeyondAThousand_shareOneHistogram_andHaveTheirOwnCounts() {
    for (int i = 1; i <= LimiterMetrics.MOST_TIMED + 50; i++) {
      LimitName name = LimitName.builder(7000 + i, "Limit" + i).build();
      var unused = watched.limiter.spend(Transaction.of(name, Quota.per(9, DAY), "x"));
    }

    assertThat(exposition())
        .contains(
            "ratelimits_spend_latency_count{decision=\"allowed\",limit=\"Limit1000\"} 1",
            "ratelimits_spend_latency_count{decision=\"allowed\",limit=\"(others)\"} 50",
            "ratelimits_decisions_total{decision=\"allowed\",limit=\"Limit1050\"} 1.0")
        .noneMatch(line -> line.contains("latency") && line.contains("Limit1001"));
  }

  @Test
  void series_areBoundedByTheCatalogue_howeverManyIdsAsk() {
    watched.everything();
    var unusedFirst = watched.limiter.spend("ApiCallsPerKey", "key");
    long before = exposition().size();

    for (int i = 0; i < 1000; i++) {
      var unused = watched.limiter.spend("ApiCallsPerKey", "key " + i);
    }

    assertThat(exposition()).hasSize((int) before);
  }

  @Test
  void limitThatIsAskedForAndMissing_isCounted_untilItIsThere() {
    String missing = "SignUpsPerIPAddress";
    assertThat(value("ratelimits_missing_defaults")).isEqualTo("0.0");
    watched.limits.require(List.of(new Requirement(missing, "a door", MissingDefault.ALLOW)));
    assertThat(value("ratelimits_missing_defaults")).isEqualTo("1.0");
    watched.limits.replace(Limits.builder(Catalogue.samples()).unlimited(missing).build());
    assertThat(value("ratelimits_missing_defaults")).isEqualTo("0.0");
  }

  /** Where missing defaults are allowed, this is the only sign of one. */
  @Test
  void checkAndSpendThatNoLimitAppliesTo_areCountedByTheReason() {
    Catalogue names =
        Catalogue.of(
            LimitName.builder(1, "Limited").build(),
            LimitName.builder(2, "Open").build(),
            LimitName.builder(3, "Off").disabledWithoutDefault().build(),
            LimitName.builder(4, "Partners").build(),
            LimitName.builder(5, "Forgotten").build());
    Quota quota = Quota.per(9, DAY);
    CurrentLimits limits =
        new CurrentLimits(
            Limits.builder(names)
                .limit("Limited", quota)
                .unlimited("Open")
                .override("Partners", "a", quota)
                .build());
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Limiter limiter =
        Limiter.builder(limits, watched.store)
            .missingDefault(MissingDefault.ALLOW)
            .observer(new LimiterMetrics(registry, limits, watched.store))
            .build();
    for (String name : List.of("Limited", "Open", "Off", "Partners", "Forgotten")) {
      assertThat(limiter.check(name, "b").allowed()).isTrue();
      assertThat(limiter.spend(name, "b").allowed()).isTrue();
      var unused = limiter.refund(name, "b");
    }

    assertThat(registry.scrape().lines())
        .filteredOn(line -> line.startsWith("ratelimits_not_limited"))
        .containsExactlyInAnyOrder(
            "ratelimits_not_limited_total{limit=\"Open\",reason=\"unlimited\"} 2.0",
            "ratelimits_not_limited_total{limit=\"Off\",reason=\"disabled\"} 2.0",
            "ratelimits_not_limited_total{limit=\"Partners\",reason=\"no_default\"} 2.0",
            "ratelimits_not_limited_total{limit=\"Forgotten\",reason=\"not_configured\"} 2.0");
  }

  /** Thousands of limits that nobody used made a page of megabytes. */
  @Test
  void limitThatNobodyUsed_hasNoSeries() {
    assertThat(watched.registry.scrape())
        .contains("limit=\"LoginsPerIPAddress\"") // which has an override
        .doesNotContain("ApiCallsPerKey", "CallsPerPartner", "decision=");
  }

  /** A rate can only see the first denial if there was a 0 before it. */
  @Test
  void firstDecision_bindsTheCounterOfTheOtherAnswerToo() {
    var unused = watched.limiter.spend("ApiCallsPerKey", "a");

    assertThat(exposition())
        .contains("ratelimits_decisions_total{decision=\"denied\",limit=\"ApiCallsPerKey\"} 0.0")
        .noneMatch(line -> line.contains("shadow_"));
  }

  @Test
  void overrideSetAtRunTime_isSeenAtTheNextDecision() {
    Limits limits = watched.limits.get();
    watched.limits.replace(
        limits.withOverrides(
            List.of(
                new LimitOverride(
                    limits.catalogue().get("ApiCallsPerKey"), "b", Quota.per(9, DAY), ""))));
    var unused = watched.limiter.spend("LoginsPerIPAddress", "192.0.2.1");

    assertThat(value("ratelimits_overrides_active{limit=\"ApiCallsPerKey\"}")).isEqualTo("1.0");
  }

  @Test
  void knownNameThatIsNotConfigured_hasNoSeries() {
    watched.everything();
    assertThat(watched.registry.scrape())
        .contains("LoginsPerIPAddress")
        .doesNotContain("SignUpsPerIPAddress");
  }

  @Test
  void limitWhoseNumberChanges_keepsItsGaugeOfWaits() {
    LimitName before = LimitName.builder(1, "Calls").build();
    watched.metrics.waits(before);
    watched.metrics.waits(LimitName.builder(2, "Calls").build());
    assertThat(value("ratelimits_waiting{limit=\"Calls\"}")).isEqualTo("2.0");

    watched.metrics.waited(before, Ending.PASSED, 1);
    assertThat(value("ratelimits_waiting{limit=\"Calls\"}")).isEqualTo("1.0");
  }

  @Test
  void limitFilesAndOverrides_haveMetersOfTheirOwn() {
    watched.metrics.filesLoaded(Instant.ofEpochSecond(1_700_000_000));
    watched.metrics.filesFailed(3);

    assertThat(value("ratelimits_limit_files_errors")).isEqualTo("3.0");
    assertThat(value("ratelimits_limit_files_timestamp_seconds")).isEqualTo("1.7E9");
    assertThat(value("ratelimits_overrides_errors")).isEqualTo("0.0");
    assertThat(value("ratelimits_overrides_timestamp_seconds")).isEqualTo("NaN");

    watched.metrics.filesLoaded(Instant.now());
    assertThat(value("ratelimits_limit_files_errors")).isEqualTo("0.0");
    assertThat(Double.parseDouble(value("ratelimits_limit_files_age_seconds"))).isLessThan(60);
  }

  @Test
  void watcherThatBroke_isCounted() {
    assertThat(value("ratelimits_limit_files_broken_total")).isEqualTo("0.0");

    watched.metrics.filesBroke();

    assertThat(value("ratelimits_limit_files_broken_total")).isEqualTo("1.0");
  }

  @Test
  void reservationsThatAreSettledEarly_areCounted() {
    assertThat(value("ratelimits_reservations_settled_early_total")).isEqualTo("0.0");

    watched.metrics.settledEarly(1_000_000);
    watched.metrics.settledEarly(1_000_000);

    assertThat(value("ratelimits_reservations_settled_early_total")).isEqualTo("2.0");
  }

  @Test
  void settlementsThatAreLost_areCounted() {
    assertThat(value("ratelimits_reservations_settlements_lost_total")).isEqualTo("0.0");

    watched.metrics.settlementLost();

    assertThat(value("ratelimits_reservations_settlements_lost_total")).isEqualTo("1.0");
  }

  @Test
  void settlements_areCountedByLimit_withWhatRefilledAndWhatIsOwed() {
    Transaction tokens =
        Transaction.of(
            LimitName.builder(1, "Tokens").build(), Quota.per(100, Duration.ofSeconds(1)), "x");
    watched.metrics.settled(new Settlement.Part(tokens, 40, 20, 0, 0, 60), 60, 30);
    assertThat(value("ratelimits_settlement_debt_count{limit=\"Tokens\"}")).isEqualTo("0");
    watched.metrics.settled(new Settlement.Part(tokens, 250, 0, 150, 5, 0), 60, 255);

    assertThat(value("ratelimits_settlements_total{limit=\"Tokens\"}")).isEqualTo("2.0");
    assertThat(
            Stream.of("estimated", "cost", "refilled", "cut")
                .map("ratelimits_settlement_tokens_total{kind=\"%s\",limit=\"Tokens\"}"::formatted)
                .map(this::value))
        .containsExactly("120.0", "285.0", "10.0", "5.0");
    assertThat(value("ratelimits_settlement_debt_max{limit=\"Tokens\"}")).isEqualTo("150.0");
  }

  @Test
  void quotasThatTheApplicationCouldNotSupply_areCounted() {
    LimitName calls = LimitName.builder(1, "Calls").build();

    watched.metrics.quotaFailed(calls, new IllegalStateException());
    watched.metrics.quotaFailed(calls, new IllegalStateException());

    assertThat(value("ratelimits_quota_failures_total{limit=\"Calls\"}")).isEqualTo("2.0");
  }

  @Test
  void limitsThatNobodyMayWaitFor_haveNoMetersOfWaits() {
    watched.everything();

    assertThat(exposition())
        .filteredOn(line -> line.startsWith("ratelimits_wait"))
        .isNotEmpty()
        .allMatch(line -> line.contains("limit=\"CallsPerPartner\""));
  }

  @Test
  void waits_areCountedAndTimed() {
    LimitName calls = LimitName.builder(1, "Calls").longestWait(DAY).build();
    CurrentLimits limits =
        new CurrentLimits(
            Limits.builder(Catalogue.of(calls))
                .limit("Calls", Quota.per(1, Duration.ofSeconds(1)))
                .build());
    ManualTime time = new ManualTime();
    BucketStore store = BucketStore.inMemory(time);
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Limiter limiter =
        Limiter.builder(limits, store)
            .time(time)
            .observer(new LimiterMetrics(registry, limits, store))
            .build();
    assertThat(registry.scrape()).doesNotContain("ratelimits_wait");

    var passesAtOnce = limiter.async().acquire("Calls", "x", 1, Duration.ofSeconds(2));
    var waits = limiter.async().acquire("Calls", "x", 1, Duration.ofSeconds(2));
    var givesUp = limiter.async().acquire("Calls", "x", 1, Duration.ofSeconds(2));
    var refused = limiter.async().acquire("Calls", "x", 1, Duration.ofSeconds(2));
    assertThat(registry.scrape().lines()).contains("ratelimits_waiting{limit=\"Calls\"} 2.0");
    assertThat(refused.toCompletableFuture().join().denied()).isTrue();
    assertThat(givesUp.toCompletableFuture().cancel(false)).isTrue();
    time.advance(Duration.ofSeconds(1));

    assertThat(passesAtOnce.toCompletableFuture().join().allowed()).isTrue();
    assertThat(waits.toCompletableFuture().join().allowed()).isTrue();
    assertThat(registry.scrape().lines())
        .contains(
            "ratelimits_waiting{limit=\"Calls\"} 0.0",
            "ratelimits_waits_refused_total{limit=\"Calls\"} 1.0",
            "ratelimits_wait_duration_count{ending=\"passed\",limit=\"Calls\"} 1",
            "ratelimits_wait_duration_sum{ending=\"passed\",limit=\"Calls\"} 1.0",
            "ratelimits_wait_duration_count{ending=\"given_up\",limit=\"Calls\"} 1",
            "ratelimits_wait_duration_sum{ending=\"given_up\",limit=\"Calls\"} 0.0");
  }

  @Test
  void failedLoad_showsItsMistakes_andKeepsTheTimeOfTheGoodOne() {
    watched.metrics.overridesLoaded(Instant.ofEpochSecond(1_700_000_000));
    watched.metrics.overridesFailed(3);

    assertThat(value("ratelimits_overrides_errors")).isEqualTo("3.0");
    assertThat(value("ratelimits_overrides_timestamp_seconds")).isEqualTo("1.7E9");
    assertThat(Double.parseDouble(value("ratelimits_overrides_age_seconds"))).isGreaterThan(1e7);

    watched.metrics.overridesLoaded(Instant.now());
    assertThat(value("ratelimits_overrides_errors")).isEqualTo("0.0");
    assertThat(Double.parseDouble(value("ratelimits_overrides_age_seconds"))).isLessThan(60);
  }

  @Test
  void replacedLimits_showTheirOverridesAtOnce_andNewNamesAfterTheLoad() {
    Catalogue names = Catalogue.samples().plus(Catalogue.of(LimitName.builder(1, "New").build()));
    watched.limits.replace(
        Limits.builder(names).override("New", "a", Quota.per(1, Duration.ofSeconds(1))).build());

    assertThat(value("ratelimits_overrides_active{limit=\"LoginsPerIPAddress\"}")).isEqualTo("0.0");
    watched.metrics.filesLoaded(Instant.now());
    assertThat(value("ratelimits_overrides_active{limit=\"New\"}")).isEqualTo("1.0");
  }

  /** The registry would warn "This Gauge has been already registered", once for each process. */
  @Test
  void limitsThatAreReplaced_registerNoGaugeTwice() {
    List<String> logged = new CopyOnWriteArrayList<>();
    Logger registry = Logger.getLogger("io.micrometer.core.instrument.MeterRegistry");
    Handler handler =
        new StreamHandler() {
          @Override
          public synchronized void publish(LogRecord line) {
            logged.add(line.getMessage());
          }
        };
    handler.setLevel(Level.ALL);
    registry.setLevel(Level.ALL);
    registry.addHandler(handler);
    try {
      Limits limits = watched.limits.get();
      for (int i = 0; i < 3; i++) {
        watched.limits.replace(limits.withPenalties(List.of()));
        watched.metrics.filesLoaded(Instant.now());
        watched.everything();
      }
    } finally {
      registry.removeHandler(handler);
      registry.setLevel(null);
    }

    assertThat(logged).isEmpty();
    assertThat(value("ratelimits_overrides_active{limit=\"LoginsPerIPAddress\"}")).isEqualTo("1.0");
  }

  @Test
  void penaltiesInForce_andTheBoundOfTheTable_areShown() {
    Limits limits = watched.limits.get();
    LimitName logins = limits.catalogue().get("LoginsPerIPAddress");
    Penalty holds = new Penalty(logins, "192.0.2.1", Instant.now().plus(DAY), 0, "");
    Penalty ended = new Penalty(logins, "192.0.2.2", Instant.EPOCH, 0, "");
    watched.limits.replace(limits.withPenalties(List.of(holds, ended)));

    assertThat(value("ratelimits_penalties_active{limit=\"LoginsPerIPAddress\"}")).isEqualTo("1.0");
    assertThat(Double.parseDouble(value("ratelimits_live_buckets_max"))).isGreaterThan(1000);
  }

  @Test
  void storeThatDoesNotKnowItsBuckets_hasNoSuchGauge() {
    BucketStore silent =
        new BucketStore() {
          @Override
          public List<Reading> charge(List<Charge> charges) {
            return List.of();
          }
        };
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    var unused = new LimiterMetrics(registry, watched.limits, silent);

    assertThat(registry.scrape()).doesNotContain("ratelimits_live_buckets");
  }

  private String value(String series) {
    return exposition().stream()
        .filter(line -> line.startsWith(series))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .findFirst()
        .orElseThrow();
  }
}
