// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Coverage;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.yaml.internal.LapsingReservations;
import dev.sluice.yaml.internal.LimitsYaml;
import dev.sluice.yaml.internal.OverridesCsv;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LimitFilesTest {

  private static final Path VECTORS = TestFiles.folder("vectors");

  @TempDir Path folder;

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void nullArgument_isRefusedAtOnce_byItsName() {
    LimitFiles.Builder files = LimitFiles.builder();
    Map<ThrowingCallable, String> acts =
        Map.ofEntries(
            Map.entry(() -> files.defaults(null), "file"),
            Map.entry(() -> files.overrides(null), "file"),
            Map.entry(() -> files.names(null), "file"),
            Map.entry(() -> files.copy(null), "file"),
            Map.entry(() -> files.companion(null), "reader"),
            Map.entry(() -> files.companion(folder, null), "reader"),
            Map.entry(() -> files.catalogue(null), "base"),
            Map.entry(() -> files.samples(null), "samples"),
            Map.entry(() -> files.idFormats(null), "formats"),
            Map.entry(() -> files.strictness(null), "strictness"));
    acts.forEach((act, name) -> assertThatNullPointerException().isThrownBy(act).withMessage(name));
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT9223372036.854775808S"})
  void readTimeout_outOfItsRange_isRefused(Duration timeout) {
    assertThatThrownBy(() -> LimitFiles.builder().readTimeout(timeout))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "readTimeout: found %s, expected a duration > 0 and at most 292 years", timeout);
  }

  @Test
  void load_ofBouldersFiles_givesTheirLimits() {
    Limits limits =
        TestFiles.builder()
            .defaults(VECTORS.resolve("good-boulder-defaults.yml"))
            .overrides(VECTORS.resolve("good-boulder-overrides.yml"))
            .build()
            .load();
    LimitName orders = limits.catalogue().get("NewOrdersPerAccount");
    assertThat(limits.defaultFor(orders)).isEqualTo(Quota.per(300, Duration.ofHours(3)));
    assertThat(limits.quotaFor(orders, "12345678"))
        .isEqualTo(Quota.burst(300).refill(600, Duration.ofHours(3)));
    LimitName registrations = limits.catalogue().get("NewRegistrationsPerIPAddress");
    assertThat(limits.quotaFor(registrations, "10.0.0.5"))
        .isEqualTo(Quota.burst(20).refill(40, Duration.ofSeconds(1)));
    assertThat(limits.overridesOf(registrations)).hasSize(2);
    assertThat(limits.defaultFor(limits.catalogue().get("NewRegistrationsPerIPv6Range"))).isNull();
  }

  @Test
  void load_ofSeveralQuotas_takesEachSpelling_alsoForAnOverride() throws IOException {
    Path file =
        TestFiles.write(
            folder.resolve("limits.yml"),
            """
            limits:
              CallsPerKey:
                id: string
                debt: 2
                quotas:
                  - 10 per 1s, burst 20
                  - {burst: 300, count: 100, period: 1m}
                  - "1000 per 1h"
              LoginsPerIPAddress: {burst: 9, count: 9, period: 1m}
            overrides:
              - CallsPerKey: {quotas: [50 per 1s, 5000 per 1h], ids: [gold, more]}
              - CallsPerKey: {burst: 1, count: 1, period: 1m, ids: [slow]}
              - LoginsPerIPAddress: {quotas: [3 per 1s, 9 per 1m], ids: [192.0.2.1]}
            """);
    LimitFiles files = LimitFiles.builder().defaults(file).build();
    Limits limits = files.load();
    LimitName calls = limits.catalogue().get("CallsPerKey");
    Quota anHour = Quota.per(1_000, Duration.ofHours(1));
    Quota aMinute = Quota.burst(300).refill(100, Duration.ofMinutes(1));
    Quota aSecond = Quota.burst(20).refill(10, Duration.ofSeconds(1));
    assertThat(limits.defaultsFor(calls)).containsExactly(anHour, aMinute, aSecond);
    assertThat(limits.quotasFor(calls, "gold"))
        .containsExactly(
            Quota.per(5_000, Duration.ofHours(1)), Quota.per(50, Duration.ofSeconds(1)));
    assertThat(limits.quotasFor(calls, "slow")).hasSize(1);
    assertThat(files.lint()).isEmpty();

    StringBuilder overrides = new StringBuilder();
    LimitsYaml.writeOverrides(limits, overrides);
    Limits again =
        LimitFiles.builder()
            .defaults(
                TestFiles.write(
                    folder.resolve("defaults.yml"),
                    Files.readString(file).replaceAll("(?s)overrides:.*", "")))
            .overrides(TestFiles.write(folder.resolve("overrides.yml"), overrides.toString()))
            .build()
            .load();
    assertThat(again.overridesOf(calls)).hasSameElementsAs(limits.overridesOf(calls));
    StringBuilder csv = new StringBuilder();
    OverridesCsv.write(limits, csv);
    assertThat(csv.toString())
        .contains("CallsPerKey,gold,5000,5000,1h0m0s,\nCallsPerKey,gold,50,50,1s,\n");
  }

  @Test
  void lint_ofAQuotaThatNeverDenies_warns() throws IOException {
    assertThat(lintOfQuotas("[10 per 1s, 1000 per 1m]", Limits.builder(Catalogue.of()).build()))
        .singleElement()
        .asString()
        .contains("found a quota that never denies: the quota on line 3");
    assertThat(lintOfQuotas("[10 per 1s, 100 per 1m]", Limits.builder(Catalogue.of()).build()))
        .isEmpty();
  }

  @Test
  void lint_ofQuotasWithOtherPeriods_warnsThatBucketsChange() throws IOException {
    LimitName calls = LimitName.builder("CallsPerKey").id(IdFormat.string()).build();
    Quota aSecond = Quota.per(10, Duration.ofSeconds(1));
    Quota anHour = Quota.per(1_000, Duration.ofHours(1));
    Limits both =
        Limits.builder(Catalogue.of(calls)).limit("CallsPerKey", List.of(aSecond, anHour)).build();
    assertThat(lintOfQuotas("[20 per 1s, 100 per 1h]", both)).isEmpty();
    assertThat(lintOfQuotas("[20 per 1s, 30 per 1m, 100 per 1h]", both)).isEmpty();
    assertThat(lintOfQuotas("[5 per 1m, 100 per 1h]", both)).hasSize(1);
    assertThat(lintOfQuotas("[5 per 1s, 1000 per 1d]", both))
        .singleElement()
        .asString()
        .contains("the periods of the quotas of CallsPerKey change");
    Limits one = Limits.builder(Catalogue.of(calls)).limit("CallsPerKey", anHour).build();
    assertThat(lintOfQuotas("[5 per 1s, 100 per 1h]", one)).isEmpty();
    assertThat(lintOfQuotas("[5 per 1h, 100 per 1d]", one)).hasSize(1);
  }

  private List<Problem> lintOfQuotas(String quotas, Limits before) throws IOException {
    Path file =
        TestFiles.write(
            folder.resolve("limits.yml"),
            "CallsPerKey:\n  id: string\n  quotas: %s\n".formatted(quotas));
    return LimitFiles.builder().defaults(file).build().lint(before);
  }

  @Test
  void load_ofADebt_letsTheBucketsOfTheLimitOwe_alsoUnderAnOverride() {
    Path file =
        TestFiles.write(
            folder.resolve("limits.yml"),
            """
            limits:
              LoginsPerIPAddress: {burst: 9, count: 9, period: 1m, debt: 10}
              ApiCallsPerKey: {burst: 9, count: 9, period: 1m, debt: 0}
            overrides:
              - LoginsPerIPAddress: {burst: 5, count: 5, period: 1m, ids: [192.0.2.99]}
            """);
    Limits limits = LimitFiles.builder().defaults(file).build().load();
    LimitName logins = limits.catalogue().get("LoginsPerIPAddress");
    assertThat(limits.debtOf(logins)).isEqualTo(10);
    assertThat(limits.debtOf(limits.catalogue().get("ApiCallsPerKey"))).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "'burst: 60000, count: 1000, period: 1s', 1m",
    "'quotas: [100 per 1s, 6000 per 30m]', 30m",
  })
  void longestReservation_thatOutlastsTheBucket_isAWarning(String quota, String full) {
    LimitFiles files =
        reservedFor("LoginsPerIPAddress: {%s, longestReservation: 1h}\n".formatted(quota));
    assertThat(files.lint())
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.message())
                    .isEqualTo(
                        "found 1h, but a bucket of LoginsPerIPAddress is full again after %s: a call that lasts longer gets no refund; raise the burst, or let clients reserve the mean cost"
                            .formatted(full)));
  }

  private LimitFiles reservedFor(String limits) {
    return LimitFiles.builder()
        .defaults(TestFiles.write(folder.resolve("limits.yml"), limits))
        .build();
  }

  @Test
  void longestReservation_thatTheBucketOutlasts_isNoWarning() {
    assertThat(
            reservedFor(
                    "LoginsPerIPAddress: {burst: 9, count: 9, period: 1h, longestReservation: 1h}\n")
                .lint())
        .isEmpty();
  }

  @Test
  void lapse_isAWarning_andKnownToTheServer() {
    Path file =
        TestFiles.write(
            folder.resolve("limits.yml"),
            """
            LoginsPerIPAddress: {burst: 9, count: 9, period: 1m, lapse: give-back}
            ApiCallsPerKey: {burst: 9, count: 9, period: 1m}
            """);
    LimitFiles files = LimitFiles.builder().defaults(file).build();
    assertThat(files.lint())
        .singleElement()
        .satisfies(
            warning ->
                assertThat(warning.toString())
                    .endsWith(
                        "1:61: warning: reservations of LoginsPerIPAddress refund their tokens on expiry: clients that never settle a reservation are charged nothing"));
    Limits limits = files.load();
    assertThat(LapsingReservations.giveBack(limits, "LoginsPerIPAddress")).isTrue();
    assertThat(LapsingReservations.giveBack(limits, "ApiCallsPerKey")).isFalse();
    TestFiles.write(
        folder.resolve("limits.yml"),
        "LoginsPerIPAddress: {burst: 9, count: 9, period: 1m, lapse: giveback}\n");
    assertThat(files.lint())
        .singleElement()
        .satisfies(
            mistake ->
                assertThat(mistake.toString())
                    .contains("found \"giveback\", expected give-back, or no lapse"));
  }

  @Test
  void overridesAlone_thatAreToHold_warnOfALimitThatIsOpenForOthers() {
    Path overrides =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            "- LoginsPerIPAddress: {burst: 9, count: 9, period: 1m, ids: [192.0.2.99]}\n");
    LimitFiles alone = LimitFiles.builder().overrides(overrides).build();
    assertThat(alone.lint()).isEmpty();
    CurrentLimits current = new CurrentLimits(Limits.builder(Catalogue.samples()).build());
    List<Problem> told = new ArrayList<>();
    ReloadListener listener =
        new ReloadListener() {
          @Override
          public void loaded(Instant at, Limits limits, List<Problem> warnings) {
            told.addAll(warnings);
          }

          @Override
          public void failed(Instant at, List<Problem> problems) {
            told.addAll(problems);
          }
        };
    alone.watch(current, Duration.ofDays(1), listener).close();
    assertThat(told)
        .extracting(Problem::toString)
        .containsExactly(
            overrides
                + ":1:3: warning: found overrides of LoginsPerIPAddress, which has no default: requests"
                + " for other ids are rejected, unless missing defaults are allowed");
  }

  @Test
  void lint_ofBouldersFiles_findsNothing() {
    assertThat(
            TestFiles.builder()
                .defaults(VECTORS.resolve("good-boulder-defaults.yml"))
                .overrides(VECTORS.resolve("good-boulder-overrides.yml"))
                .build()
                .lint())
        .isEmpty();
  }

  @Test
  void load_ofTheTracesFiles_givesAnOverrideForEachAccount() {
    Limits limits =
        TestFiles.builder()
            .defaults(VECTORS.resolve("good-gcra-defaults.yml"))
            .overrides(VECTORS.resolve("good-gcra-overrides.yml"))
            .build()
            .load();
    LimitName orders = limits.catalogue().get("NewOrdersPerAccount");
    assertThat(limits.overridesOf(orders)).hasSize(63);
    LimitOverride one = limits.overrideFor(orders, "1002");
    assertThat(one).isNotNull();
    assertThat(one.quota()).isEqualTo(Quota.burst(59375).refill(1500, Duration.ofNanos(1_482_000)));
    assertThat(one.comment()).isEqualTo("vector 1002");
  }

  @Test
  void load_ofMixedIds_takesPlainOnesAndOnesWithAComment() {
    Limits limits =
        overrides(
                """
                - NewOrdersPerAccount:
                    burst: 1
                    count: 1
                    period: PT3H
                    ids:
                      - 18446744073709551615
                      - "17"
                      - {id: 18, comment: 2026-11-20}
                      - {id: '19'}
                      - {id: 20, comment: }
                """)
            .load();
    assertThat(limits.overridesOf(limits.catalogue().get("NewOrdersPerAccount")))
        .extracting(o -> o.id() + "|" + o.comment())
        .containsExactlyInAnyOrder("18446744073709551615|", "17|", "18|2026-11-20", "19|", "20|");
  }

  @Test
  void load_ofIdsThatYamlTakesForSomethingElse_keepsTheirText() {
    Limits limits =
        overrides(
                """
                - ApiCallsPerKey:
                    burst: 1
                    count: 1
                    period: 1s
                    ids: [no, 010, 1.0, 1_000, 0x1F, true, 2026-11-20, 1e3, .5, "null", x]
                """)
            .load();
    assertThat(limits.overridesOf(limits.catalogue().get("ApiCallsPerKey")))
        .extracting(LimitOverride::id)
        .containsExactlyInAnyOrder(
            "no", "010", "1.0", "1_000", "0x1F", "true", "2026-11-20", "1e3", ".5", "null", "x");
  }

  @Test
  void load_makesIdsCanonical() {
    Limits limits =
        overrides(
                """
                - NewRegistrationsPerIPAddress:
                    burst: 1
                    count: 1
                    period: 1s
                    ids:
                      - 2001:0DB8:0000::8329
                      - ::1
                - NewRegistrationsPerIPv6Range:
                    {burst: 1, count: 1, period: 1s, ids: [2001:0db8:0000:1::/48]}
                """)
            .load();
    Catalogue catalogue = limits.catalogue();
    assertThat(limits.overridesOf(catalogue.get("NewRegistrationsPerIPAddress")))
        .extracting(LimitOverride::id)
        .containsExactlyInAnyOrder("2001:db8::8329", "::1");
    assertThat(limits.overridesOf(catalogue.get("NewRegistrationsPerIPv6Range")))
        .extracting(LimitOverride::id)
        .containsExactly("2001:db8::/48");
  }

  @Test
  void lint_strict_refusesIdsThatAreNotCanonicalOrReserved() {
    Path file =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            """
            - NewRegistrationsPerIPAddress:
                burst: 1
                count: 1
                period: 1s
                ids: [64.112.117.1, 10.0.0.1, "2602:080a:6000::1"]
            """);
    LimitFiles.Builder files = TestFiles.builder().overrides(file);
    assertThat(files.build().lint()).isEmpty();
    assertThat(files.strictness(Strictness.STRICT).build().lint())
        .extracting(Problem::column)
        .containsExactly(25, 35);
  }

  @Test
  void load_ofANamesFile_knowsBouldersNamesAndItsOwn() {
    Path names =
        TestFiles.write(
            folder.resolve("names.yml"),
            """
            names:
              - number: 101
                name: WidgetsPerUser
                id: string:ipAddress
                overrideId: string
                message: too many widgets ({burst}) for {id.1}
                help: https://example.com/limits#widgets
                jitter: 0.25
                longestWait: 30s
              - {number: 102, name: GadgetsPerRange, id: ipv6RangeCIDR/56, overridesOnly: true}
            """);
    Path overrides =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            """
            - WidgetsPerUser: {burst: 2, count: 1, period: 1s, ids: [alice]}
            - GadgetsPerRange: {burst: 2, count: 1, period: 1s, ids: ["2001:db8::/56"]}
            - NewOrdersPerAccount: {burst: 2, count: 1, period: 1s, ids: [1]}
            """);
    Limits limits = TestFiles.builder().names(names).overrides(overrides).build().load();
    LimitName widgets = limits.catalogue().get("WidgetsPerUser");
    assertThat(widgets.number()).isEqualTo(101);
    assertThat(widgets.helpLink()).isEqualTo("https://example.com/limits#widgets");
    assertThat(widgets.jitter()).isEqualTo(0.25);
    assertThat(widgets.longestWait()).isEqualTo(Duration.ofSeconds(30));
    assertThat(widgets.denial(Quota.per(2, Duration.ofSeconds(1)), "alice:192.0.2.1"))
        .isEqualTo("too many widgets (2) for alice");
    assertThat(limits.quotaFor(widgets, "alice:192.0.2.1")).isNotNull();
    assertThat(limits.catalogue().get("GadgetsPerRange").overridesOnly()).isTrue();
    assertThat(limits.catalogue().find("LoginsPerIPAddress")).isNull();
  }

  /** The ids of transactions have brackets around the address, the overrides' ids have none. */
  @Test
  void overrideOfAnIpv6Address_fromAFileOrCsv_appliesToLongerIds() {
    Path defaults =
        TestFiles.write(
            folder.resolve("defaults.yml"),
            """
            Logins: {id: "ipAddress:string", overrideId: ipAddress, burst: 5, count: 5, period: 10m}
            """);
    Path overrides =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            """
            - Logins: {burst: 1, count: 1, period: 10m, ids: ["2001:DB8::1"]}
            """);
    Limits ofFiles = TestFiles.builder().defaults(defaults).overrides(overrides).build().load();
    LimitName logins = ofFiles.catalogue().get("Logins");
    List<OverridesCsv.Line> lines =
        OverridesCsv.read(
            "name,id,count,burst,period,comment\nLogins,2001:DB8::1,1,1,10m,\n",
            ofFiles.catalogue(),
            Strictness.LENIENT);
    Limits ofCsv =
        Limits.builder(ofFiles.catalogue())
            .limit("Logins", Quota.per(5, Duration.ofMinutes(10)))
            .override(lines.get(0).override())
            .build();
    for (Limits limits : List.of(ofFiles, ofCsv)) {
      assertThat(limits.quotaFor(logins, "[2001:db8::1]:alice").burst()).isEqualTo(1);
      assertThat(limits.quotaFor(logins, "[2001:db8::2]:alice").burst()).isEqualTo(5);
    }
  }

  @Test
  void load_ofASectionOfNames_knowsThemInTheOverridesToo() {
    Path defaults =
        TestFiles.write(
            folder.resolve("defaults.yml"),
            """
            names:
              - {number: 1001, name: WidgetsPerUser, id: uuid}
            WidgetsPerUser: {burst: 2, count: 1, period: 1s}
            """);
    Path overrides =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            """
            - WidgetsPerUser:
                burst: 2
                count: 2
                period: 1s
                ids: [123E4567-e89b-12d3-a456-426614174000]
            """);
    Limits limits = TestFiles.builder().defaults(defaults).overrides(overrides).build().load();
    LimitName widgets = limits.catalogue().get("WidgetsPerUser");
    assertThat(limits.overrideFor(widgets, "123e4567-e89b-12d3-a456-426614174000")).isNotNull();
  }

  @Test
  void load_withAnApplicationsCatalogueAndFormats_usesThem() {
    Catalogue base = Catalogue.of(LimitName.builder(7, "Sevens").build());
    IdFormat even = new EvenFormat();
    Path names =
        TestFiles.write(
            folder.resolve("names.yml"), "names: [{number: 8, name: Eights, id: even}]\n");
    Path overrides =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            "- Eights: {burst: 1, count: 1, period: 1s, ids: [xx, yyyyyy, zzz]}\n");
    LimitFiles files =
        TestFiles.builder()
            .names(names)
            .overrides(overrides)
            .catalogue(base)
            .idFormats(IdFormat.Registry.builtIn().with(even))
            .build();
    assertThat(TestFiles.lines(files.lint()))
        .containsExactly(
            "1:54: warning: found six letters, which no client has", "1:62: found an odd id");
  }

  /** A format whose ids have an even length, and six letters never match. */
  private static final class EvenFormat implements IdFormat {
    @Override
    public String name() {
      return "even";
    }

    @Override
    public String canonical(String text, Strictness strictness) {
      if (text.length() % 2 != 0) {
        throw new InvalidIdException("found an odd id");
      }
      return text;
    }

    @Override
    public String doubt(String canonicalId) {
      return canonicalId.length() == 6 ? "found six letters, which no client has" : null;
    }
  }

  @Test
  void lint_whereTheNamesFileIsBroken_doesNotBlameWhoUsesTheNames() {
    Path defaults =
        TestFiles.write(
            folder.resolve("defaults.yml"), "WidgetsPerUser: {burst: 2, count: 1, period: 1s}\n");
    Path names = TestFiles.write(folder.resolve("names.yml"), "names: [{\n");
    LimitFiles files = TestFiles.builder().defaults(defaults).names(names).build();
    assertThat(files.lint()).extracting(Problem::file).containsOnly(names.toString());
    TestFiles.write(names, "names: [{number: 1, name: WidgetsPerUser, id: string}]\n");
    assertThat(files.lint()).extracting(Problem::file).containsOnly(names.toString());
    TestFiles.write(names, "");
    assertThat(files.lint()).extracting(Problem::file).containsOnly(names.toString());
  }

  @Test
  void lint_ofSeveralFiles_namesTheMistakesOfAllOfThem() {
    Path defaults = TestFiles.write(folder.resolve("b.yml"), "NewOrdersPerAccount: 1\n");
    Path overrides = TestFiles.write(folder.resolve("a.yml"), "- {}\n- {}\n");
    Path names = folder.resolve("c.yml");
    LimitFiles files =
        TestFiles.builder().defaults(defaults).overrides(overrides).names(names).build();
    assertThat(files.lint())
        .extracting(p -> p.file().replace(folder + "/", "") + ":" + p.line())
        .containsExactly("a.yml:1", "a.yml:2", "b.yml:1", "c.yml:1");
    assertThatThrownBy(files::load)
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining(
            "a.yml:1:3: found a map, expected name → {burst, count, period, ids}\n");
  }

  @Test
  void lint_ofARateThatRoundingChanges_saysTheEffectiveRate() {
    Path file =
        TestFiles.write(
            folder.resolve("defaults.yml"),
            "NewOrdersPerAccount: {burst: 1, count: 300000000, period: 1s}\n");
    assertThat(TestFiles.lines(TestFiles.of(file).lint()))
        .containsExactly(
            "1:40: warning: found 300000000, but one token every 3 ns (period / count, rounded"
                + " down) admits 333333300 in a period, 11 % more; expected a count that"
                + " divides the period's nanoseconds better");
    assertThat(TestFiles.of(file).load()).isNotNull();
  }

  @Test
  void lint_ofDoubtfulOverrides_warns() {
    Path defaults =
        TestFiles.write(
            folder.resolve("defaults.yml"),
            """
            names:
              - {number: 1001, name: WidgetsPerUser, id: string, overridesOnly: true}
            NewOrdersPerAccount: {burst: 2, count: 1, period: 1s}
            WidgetsPerUser: {burst: 2, count: 1, period: 1s}
            """);
    Path overrides =
        TestFiles.write(
            folder.resolve("overrides.yml"),
            """
            - NewOrdersPerAccount: {burst: 2, count: 1, period: 1000ms, ids: [1]}
            - NewRegistrationsPerIPAddress: {burst: 2, count: 1, period: 1s, ids: [10.0.0.1]}
            - NewRegistrationsPerIPAddress: {burst: 3, count: 1, period: 1s, ids: [10.0.0.2]}
            - WidgetsPerUser: {burst: 2, count: 1, period: 1s, ids: [alice]}
            """);
    LimitFiles files = TestFiles.builder().defaults(defaults).overrides(overrides).build();
    assertThat(TestFiles.lines(files.lint()))
        .containsExactly(
            "4:1: warning: found a default for WidgetsPerUser, which has overrides only: the"
                + " default is ignored",
            "1:3: warning: found an override that equals the default of NewOrdersPerAccount",
            "2:3: warning: found overrides of NewRegistrationsPerIPAddress, which has no default:"
                + " requests for other ids are rejected, unless missing defaults are allowed");
    Limits limits = files.load();
    assertThat(limits.defaultFor(limits.catalogue().get("WidgetsPerUser"))).isNull();
  }

  @Test
  void lint_ofARangeAsAnId_warnsThatTheOverrideAppliesToOneAddress() {
    Path file =
        TestFiles.write(
            folder.resolve("limits.yml"),
            """
            limits:
              LoginsPerIPAddress: {burst: 2, count: 1, period: 1s}
            overrides:
              - LoginsPerIPAddress:
                  burst: 3
                  count: 1
                  period: 1s
                  ids: [10.0.0.0/8, "2001:db8::/48", 10.0.0.1/32, "2001:db8:1::/64", "::1/128"]
            """);
    assertThat(TestFiles.lines(LimitFiles.of(file).lint()))
        .containsExactly(
            "8:13: warning: an override applies to one id, here 10.0.0.0, and not to each address of"
                + " 10.0.0.0/8; for this id, write 10.0.0.0",
            "8:25: warning: an override applies to one id, here 2001:db8::, and not to each address"
                + " of 2001:db8::/48; for this id, write 2001:db8::");
  }

  /** Names of which a missing default disables the limit, as Boulder's. */
  @Test
  void watch_ofLimitsThatAreDisabled_warns_whereOneOfThemIsConfigured() {
    Catalogue boulders =
        Catalogue.of(
            LimitName.builder(1, "Orders").disabledWithoutDefault().build(),
            LimitName.builder(2, "Accounts").disabledWithoutDefault().build(),
            LimitName.builder(3, "Rare").overridesOnly().build(),
            LimitName.builder(4, "Own").build());
    Path file = folder.resolve("defaults.yml");
    assertThat(warnings(boulders, file, "Own: {unlimited: true}\n")).isEmpty();
    assertThat(warnings(boulders, file, "Orders: {unlimited: true}\n"))
        .containsExactly(
            file
                + ":1:1: warning: found no default for Accounts: as in Boulder, these limits are"
                + " disabled and allow everything");
    assertThat(warnings(boulders, file, "Orders: {unlimited: true}\nAccounts: {unlimited: true}\n"))
        .isEmpty();
    // A part of what is to hold says nothing of the rest.
    assertThat(LimitFiles.builder().catalogue(boulders).defaults(file).build().lint()).isEmpty();
  }

  private static List<String> warnings(Catalogue names, Path file, String text) {
    LimitFiles files =
        LimitFiles.builder().catalogue(names).defaults(TestFiles.write(file, text)).build();
    List<String> told = new ArrayList<>();
    ReloadListener listener =
        new ReloadListener() {
          @Override
          public void loaded(Instant at, Limits limits, List<Problem> warnings) {
            warnings.forEach(one -> told.add(one.toString()));
          }

          @Override
          public void failed(Instant at, List<Problem> problems) {
            problems.forEach(one -> told.add(one.toString()));
          }
        };
    files.watch(new CurrentLimits(files.load()), Duration.ofDays(1), listener).close();
    return told;
  }

  @Test
  void load_ofExplicitlyNothing_isFine() {
    Path defaults = TestFiles.write(folder.resolve("defaults.yml"), "{}");
    Path overrides = TestFiles.write(folder.resolve("overrides.yml"), "[]");
    Path names = TestFiles.write(folder.resolve("names.yml"), "names: []");
    LimitFiles files =
        TestFiles.builder().defaults(defaults).overrides(overrides).names(names).build();
    assertThat(files.lint()).isEmpty();
    assertThat(files.load().catalogue().names()).isNotEmpty();
  }

  @Test
  void build_withoutAnyFile_isRefused() {
    assertThatThrownBy(() -> LimitFiles.builder().build())
        .isInstanceOf(IllegalStateException.class);
  }

  private LimitFiles overrides(String text) {
    return TestFiles.builder()
        .overrides(TestFiles.write(folder.resolve("overrides.yml"), text))
        .build();
  }

  private static List<String> lintOf(Path folder, String defaults, Requirement... required) {
    Path file = TestFiles.write(folder.resolve("limits.yml"), defaults);
    return TestFiles.lines(
        TestFiles.builder().defaults(file).require(List.of(required)).build().lint());
  }

  @Test
  void load_ofUnlimited_isNotMissing(@TempDir Path folder) {
    Path file =
        TestFiles.write(folder.resolve("limits.yml"), "ApiCallsPerKey: {unlimited: true}\n");
    Limits limits = TestFiles.of(file).load();
    LimitName name = limits.catalogue().get("ApiCallsPerKey");
    assertThat(limits.coverage(name)).isEqualTo(Coverage.UNLIMITED);
  }

  @Test
  void lint_ofUnlimitedThatIsNot_saysWhatToWrite(@TempDir Path folder) {
    assertThat(lintOf(folder, "ApiCallsPerKey: {unlimited: false}\n"))
        .containsExactly(
            "1:29: found unlimited: false, expected true, or burst, count and period instead");
    assertThat(lintOf(folder, "ApiCallsPerKey: {unlimited: yes}\n"))
        .containsExactly("1:29: found \"yes\", expected true or false");
    assertThat(lintOf(folder, "ApiCallsPerKey: {unlimited: true, burst: 1}\n"))
        .containsExactly("1:42: found the field burst beside unlimited, expected one or the other");
    assertThat(lintOf(folder, "ApiCallsPerKey: {unlimited: true, lapse: give-back}\n"))
        .containsExactly("1:42: found the field lapse beside unlimited, expected one or the other");
  }

  @Test
  void lint_ofALimitThatIsAskedForAndMissing_saysSo(@TempDir Path folder) {
    Requirement refused = new Requirement("SignUpsPerIPAddress", "--for", MissingDefault.REFUSE);
    String other = "LoginsPerIPAddress: {burst: 1, count: 1, period: 1s}\n";
    String message =
        "SignUpsPerIPAddress has no default, but --for requires one; write burst, count and period,"
            + " or \"SignUpsPerIPAddress: {unlimited: true}\"";
    assertThat(lintOf(folder, other, refused)).containsExactly("1:1: " + message);
    assertThat(
            lintOf(
                folder,
                other,
                new Requirement("SignUpsPerIPAddress", "--for", MissingDefault.WARN)))
        .containsExactly("1:1: warning: " + message);
    assertThat(
            lintOf(
                folder,
                other,
                new Requirement("SignUpsPerIPAddress", "--for", MissingDefault.ALLOW)))
        .isEmpty();
    assertThat(lintOf(folder, other + "SignUpsPerIPAddress: {unlimited: true}\n", refused))
        .isEmpty();
    assertThat(
            lintOf(
                folder,
                other,
                new Requirement("SignUpsPerIpAddress", "--for", MissingDefault.REFUSE)))
        .containsExactly(
            "1:1: --for requires the limit \"SignUpsPerIpAddress\", which does not exist; did you mean"
                + " \"SignUpsPerIPAddress\"?");
  }

  @Test
  void load_withoutALimitThatIsAskedFor_isRefused(@TempDir Path folder) {
    Path file = TestFiles.write(folder.resolve("limits.yml"), "{}\n");
    LimitFiles files =
        TestFiles.builder()
            .defaults(file)
            .require(
                List.of(new Requirement("SignUpsPerIPAddress", "a rule", MissingDefault.REFUSE)))
            .build();
    assertThatThrownBy(files::load)
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("SignUpsPerIPAddress has no default");
  }
}
