// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.internal.OverridesCsv;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The files that Boulder's documents print, and one with all nine names. */
class BoulderFilesTest {

  private static final String NINE =
      """
      - NewRegistrationsPerIPAddress: {burst: 20, count: 40, period: 1s, ids: [10.0.0.2]}
      - NewRegistrationsPerIPv6Range: {burst: 20, count: 40, period: 1s, ids: ["2001:0db8:0000::/48"]}
      - NewOrdersPerAccount: {burst: 300, count: 600, period: 180m, ids: [12345678]}
      - FailedAuthorizationsPerDomainPerAccount: {burst: 9, count: 9, period: 1h, ids: [17]}
      - CertificatesPerDomain:
          burst: 40
          count: 40
          period: 168h
          ids: [Example.com, 10.0.0.5, {id: "2001:db8::", comment: "a range, by its lowest"}]
      - CertificatesPerDomainPerAccount: {burst: 50, count: 50, period: 168h, ids: [17]}
      - CertificatesPerFQDNSet:
          burst: 6
          count: 6
          period: 168h
          ids: ["example.org,example.com,example.net"]
      - FailedAuthorizationsForPausingPerDomainPerAccount: {burst: 5, count: 1, period: 24h, ids: [17]}
      - LimitOverrideRequestsPerIPAddress: {burst: 5, count: 5, period: 24h, ids: [10.0.0.2]}
      """;

  @TempDir Path folder;

  @Test
  void bouldersFiles_areLoadedAndEnforced() throws IOException {
    Limits limits =
        load(
            Vectors.text("limits/good-boulder-defaults.yml"),
            Vectors.text("limits/good-boulder-overrides.yml"));
    ManualTime time = new ManualTime();
    Limiter limiter = Limiter.of(limits, BucketStore.inMemory(time));

    assertThat(allowedAtOnce(limiter, "NewRegistrationsPerIPAddress", "10.0.0.1")).isEqualTo(20);
    assertThat(allowedAtOnce(limiter, "NewRegistrationsPerIPAddress", "10.0.0.2")).isEqualTo(20);
    assertThat(allowedAtOnce(limiter, "NewOrdersPerAccount", "1")).isEqualTo(300);
    assertThat(allowedAtOnce(limiter, "NewOrdersPerAccount", "12345678")).isEqualTo(300);
    // The overrides refill twice as fast.
    time.advance(Duration.ofMillis(500));
    assertThat(allowedAtOnce(limiter, "NewRegistrationsPerIPAddress", "10.0.0.1")).isEqualTo(10);
    assertThat(allowedAtOnce(limiter, "NewRegistrationsPerIPAddress", "10.0.0.2")).isEqualTo(20);
    time.advance(Duration.ofMinutes(18));
    assertThat(allowedAtOnce(limiter, "NewOrdersPerAccount", "1")).isEqualTo(30);
    assertThat(allowedAtOnce(limiter, "NewOrdersPerAccount", "87654321")).isEqualTo(300);
    assertThat(allowedAtOnce(limiter, "NewOrdersPerAccount", "12345678")).isEqualTo(60);
  }

  @Test
  void allNineNames_canBeOverridden_dumpedAsCsv_andReadBack() throws IOException {
    StringBuilder csv = new StringBuilder();
    Limits limits = load(Vectors.text("limits/good-boulder-defaults.yml"), NINE);
    OverridesCsv.write(limits, csv);
    assertThat(csv)
        .hasToString(
            """
            name,id,count,burst,period,comment
            CertificatesPerDomain,10.0.0.5/32,40,40,168h0m0s,
            CertificatesPerDomain,example.com,40,40,168h0m0s,
            CertificatesPerDomain,2001:db8::/64,40,40,168h0m0s,"a range, by its lowest"
            CertificatesPerDomainPerAccount,17,50,50,168h0m0s,
            CertificatesPerFQDNSet,394e82811f52e2da38b970afdb21c9bc9af81060939c690183c00fce37408738,6,6,168h0m0s,
            FailedAuthorizationsForPausingPerDomainPerAccount,17,1,5,24h0m0s,
            FailedAuthorizationsPerDomainPerAccount,17,9,9,1h0m0s,
            LimitOverrideRequestsPerIPAddress,10.0.0.2,5,5,24h0m0s,
            NewOrdersPerAccount,12345678,600,300,3h0m0s,
            NewRegistrationsPerIPAddress,10.0.0.2,40,20,1s,
            NewRegistrationsPerIPv6Range,2001:db8::/48,40,20,1s,
            """);
    assertThat(OverridesCsv.read(csv.toString(), limits.catalogue(), Strictness.LENIENT))
        .extracting(OverridesCsv.Line::override)
        .containsExactlyInAnyOrderElementsOf(
            limits.catalogue().names().stream()
                .flatMap(name -> limits.overridesOf(name).stream())
                .toList());
  }

  /** As an import of YAML does: the override stays useless, and lint has warned. */
  @Test
  void csvOfANameBelowADomain_isNotAnOverrideOfTheDomain() {
    var lines =
        OverridesCsv.read(
            """
            name,id,count,burst,period,comment
            CertificatesPerDomain,www.example.com,900,900,1h,
            CertificatesPerDomain,example.com,4,4,1h,
            """,
            AcmeLimits.bundled().catalogue(),
            Strictness.LENIENT);
    assertThat(lines)
        .extracting(line -> line.override().id())
        .containsExactly("www.example.com", "example.com");
  }

  @Test
  void aDefaultOfNumberSix_isIgnored() throws IOException {
    Limits limits =
        load("CertificatesPerDomainPerAccount: {burst: 1, count: 1, period: 1h}\n", NINE);
    var name = limits.catalogue().get("CertificatesPerDomainPerAccount");
    assertThat(limits.quotaFor(name, "18:example.com")).isNull();
    assertThat(limits.quotaFor(name, "17:example.com")).isNotNull();
  }

  @Test
  void aBadId_isReportedWithItsPlace() {
    assertThatThrownBy(
            () ->
                load(
                    Vectors.text("limits/good-boulder-defaults.yml"),
                    """
                    - CertificatesPerDomain:
                        burst: 40
                        count: 40
                        period: 168h
                        ids: [lol, "2001:db8::1"]
                    """))
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("overrides.yml:5:11")
        .hasMessageContaining("dot")
        .hasMessageContaining("lowest");
  }

  @Test
  void aDomainThatCanNeverMatch_isAWarningOfLint() throws IOException {
    var problems =
        files(
                Vectors.text("limits/good-boulder-defaults.yml"),
                """
                - CertificatesPerDomain:
                    {burst: 4, count: 4, period: 168h, ids: [www.example.com, example.org, 10.0.0.1]}
                """)
            .lint();
    assertThat(problems)
        .filteredOn(problem -> problem.toString().contains("no request can match"))
        .singleElement()
        .satisfies(
            problem ->
                assertThat(problem.toString())
                    .contains("overrides.yml:2:46")
                    .contains("\"example.com\""));
  }

  private Limits load(String defaults, String overrides) throws IOException {
    return files(defaults, overrides).load();
  }

  private LimitFiles files(String defaults, String overrides) throws IOException {
    return LimitFiles.builder()
        .catalogue(AcmeLimits.bundled().catalogue())
        .defaults(Files.writeString(folder.resolve("defaults.yml"), defaults))
        .overrides(Files.writeString(folder.resolve("overrides.yml"), overrides))
        .build();
  }

  private static int allowedAtOnce(Limiter limiter, String limit, String id) {
    int allowed = 0;
    while (limiter.spend(limit, id).allowed()) {
      allowed++;
    }
    return allowed;
  }
}
