// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names that the default of a limit declares, and names without a number. */
class DeclaredInPlaceTest {

  @TempDir private Path folder;

  @CanIgnoreReturnValue
  private Path write(String name, String... lines) {
    return TestFiles.write(folder.resolve(name), String.join("\n", lines) + "\n");
  }

  private List<String> lint(String... lines) {
    return TestFiles.lines(TestFiles.of(write("limits.yml", lines)).lint());
  }

  private static String key(Limits limits, String name, String id) {
    return limits.catalogue().get(name).bucketKey(id);
  }

  @Test
  void default_withAnId_declaresItsName_besideTheSamples() {
    Limits limits =
        LimitFiles.of(
                write(
                    "limits.yml",
                    "ExportsPerUser: {id: string, burst: 10, count: 10, period: 1m}",
                    "LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}"))
            .load();
    assertThat(limits.defaultFor(limits.catalogue().get("ExportsPerUser")))
        .isEqualTo(Quota.per(10, Duration.ofMinutes(1)));
    assertThat(key(limits, "ExportsPerUser", "42")).isEqualTo("ExportsPerUser:42");
    assertThat(key(limits, "LoginsPerIPAddress", "192.0.2.1")).isEqualTo("101:192.0.2.1");
  }

  @Test
  void sampleWhoseNumberAnotherLimitHas_isRefused_withThisLimit() {
    assertThat(
            lint(
                "LoginsPerIPAddress: {burst: 10, count: 10, period: 1m}",
                "C: {id: string, number: 101, burst: 5, count: 3, period: 10s}"))
        .containsExactly(
            "1:1: found the name \"LoginsPerIPAddress\", but C has its number 101 and replaces"
                + " this sample limit; write C here, or, if C is new, give it another number");
  }

  @Test
  void default_withAllFields_isAsInANamesFile() {
    Path file =
        write(
            "all.yml",
            "limits:",
            "  WidgetsPerUser:",
            "    id: string:ipAddress",
            "    overrideId: string",
            "    number: 1001",
            "    message: too many for {id.1}",
            "    help: https://example.com/",
            "    jitter: 0.5",
            "    longestWait: 30s",
            "    debt: 2",
            "    longestReservation: 1h",
            "    burst: 10",
            "    count: 10",
            "    period: 1m",
            "overrides:",
            "  - WidgetsPerUser: {burst: 2, count: 1, period: 1s, ids: [alice]}");
    Limits limits = LimitFiles.of(file).load();
    LimitName name = limits.catalogue().get("WidgetsPerUser");
    assertThat(name.number()).isEqualTo(1001);
    assertThat(name.message()).isEqualTo("too many for {id.1}");
    assertThat(name.helpLink()).isEqualTo("https://example.com/");
    assertThat(name.jitter()).isEqualTo(0.5);
    assertThat(name.longestWait()).isEqualTo(Duration.ofSeconds(30));
    assertThat(limits.debtOf(name)).isEqualTo(2);
    assertThat(limits.quotaFor(name, "alice:192.0.2.1"))
        .isEqualTo(Quota.burst(2).refill(1, Duration.ofSeconds(1)));
  }

  @Test
  void default_thatDeclaresASample_replacesIt() {
    Limits limits =
        LimitFiles.of(
                write(
                    "limits.yml",
                    "LoginsPerIPAddress: {id: ipAddress, burst: 1, count: 1, period: 1m}",
                    "Own: {id: string, number: 102, burst: 1, count: 1, period: 1m}"))
            .load();
    assertThat(key(limits, "LoginsPerIPAddress", "192.0.2.1"))
        .isEqualTo("LoginsPerIPAddress:192.0.2.1");
    assertThat(limits.catalogue().find("FailedLoginsPerIPAddress")).isNull();
    assertThat(limits.catalogue().find("ApiCallsPerKey")).isNotNull();
  }

  @Test
  void default_withOverridesOnly_needsNoQuota() {
    Limits limits =
        LimitFiles.of(write("limits.yml", "Own: {id: string, overridesOnly: true}")).load();
    assertThat(limits.catalogue().get("Own").overridesOnly()).isTrue();
  }

  @Test
  void name_declaredTwice_isAMistakeWithBothPlaces() {
    Path names = write("names.yml", "names:", "  - {name: Own, id: string}");
    Path limits = write("limits.yml", "", "Own: {id: string, burst: 1, count: 1, period: 1m}");
    List<Problem> problems = LimitFiles.builder().names(names).defaults(limits).build().lint();
    assertThat(problems)
        .singleElement()
        .asString()
        .isEqualTo(
            "%s:2:1: found \"Own\", expected a name that is declared once: %s:2 declares it"
                .formatted(limits, names));
  }

  @Test
  void number_declaredTwice_isAMistakeWithBothPlaces() {
    assertThat(
            lint(
                "A: {id: string, number: 7001, burst: 1, count: 1, period: 1m}",
                "B: {id: string, number: 7001, burst: 1, count: 1, period: 1m}"))
        .singleElement()
        .asString()
        .isEqualTo(
            "2:25: found 7001, expected a number that is not in use: A (line 1) has this number");
  }

  @Test
  void name_thatIsKnownAlready_mayNotBeDeclared() {
    assertThat(lint("NewOrdersPerAccount: {id: regId, burst: 1, count: 1, period: 1m}"))
        .containsExactly(
            "1:1: found \"NewOrdersPerAccount\", expected a new name: this name"
                + " is known without a declaration");
  }

  @Test
  void unknownName_isAMistakeThatPrintsTheLineToAdd() {
    assertThat(
            lint(
                "ExportsPerUser: {burst: 1, count: 1, period: 1m}",
                "ExportsPerIp: {burst: 1, count: 1, period: 1m}"))
        .containsExactly(
            "1:1: found the name \"ExportsPerUser\", expected one that is known"
                + " (the line \"id: string\" here would declare it)",
            "2:1: found the name \"ExportsPerIp\", expected one that is known"
                + " (the line \"id: ipAddress\" here would declare it)");
  }

  @Test
  void declaration_withMistakes_reportsEachOnce() {
    assertThat(
            lint(
                "Own:",
                "  id: strin",
                "  number: 0",
                "  message: '{brust}'",
                "  hlep: x",
                "  id: string",
                "  burst: 1",
                "  count: 1"))
        .satisfiesExactlyInAnyOrder(
            one -> assertThat(one).startsWith("1:1: the field period is missing"),
            one -> assertThat(one).startsWith("2:7: "),
            one -> assertThat(one).startsWith("3:11: found 0, expected a number from 1"),
            one -> assertThat(one).startsWith("5:3: found the field \"hlep\""),
            one -> assertThat(one).startsWith("6:3: found the field id again"));
  }

  @Test
  void fieldOfADeclaration_withoutId_isAMistake() {
    assertThat(lint("ApiCallsPerKey: {burst: 1, count: 1, period: 1m, message: no}"))
        .containsExactly(
            "1:59: found the field message without the field id, expected it in the entry that declares ApiCallsPerKey (the line \"id: string\" here would declare it)");
  }

  @Test
  void fileThatIsAnotherOne_isNotShown() {
    assertThat(lint("ann: {id: s3cret, message: hunter2}", "bob: {id: geheim, help: passwort}"))
        .noneMatch(one -> one.matches(".*(s3cret|hunter2|geheim|passwort).*"));
  }

  private static Limits namesOnly(Catalogue names) {
    return Limits.builder(names).build();
  }

  @Test
  void lint_againstAnotherNumber_warnsThatBucketsBecomeFull() {
    Catalogue before =
        Catalogue.of(LimitName.builder(1001, "Own").build(), LimitName.builder("Same").build());
    Path file =
        write(
            "limits.yml",
            "Own: {id: string, burst: 1, count: 1, period: 1m}",
            "Same: {id: string, burst: 1, count: 1, period: 1m}");
    assertThat(LimitFiles.of(file).lint(namesOnly(before)))
        .singleElement()
        .asString()
        .isEqualTo(
            file
                + ":1:1: warning: the bucket keys of Own change from \"1001:…\" to \"Own:…\": all its"
                + " buckets become full once, and its overrides and penalties in a PostgreSQL table"
                + " do not apply until they are set again");
  }

  @Test
  void lint_againstANumberOfALimitWithOtherIds_warnsOfItsBuckets() {
    Path before =
        write("old.yml", "Exports: {number: 1001, id: string, burst: 1, count: 1, period: 1m}");
    Path after =
        write(
            "limits.yml", "Invites: {number: 1001, id: ipAddress, burst: 1, count: 1, period: 1m}");
    assertThat(LimitFiles.of(after).lint(LimitFiles.of(before).load()))
        .singleElement()
        .asString()
        .startsWith(
            after
                + ":1:1: warning: the number 1001 was the number of Exports, whose ids have another"
                + " form (string): Invites takes over its buckets");
    Path renamed =
        write("limits.yml", "Invites: {number: 1001, id: string, burst: 1, count: 1, period: 1m}");
    assertThat(LimitFiles.of(renamed).lint(LimitFiles.of(before).load())).isEmpty();
    Path ofASample =
        write(
            "limits.yml", "Invites: {number: 104, id: ipAddress, burst: 1, count: 1, period: 1m}");
    assertThat(LimitFiles.of(ofASample).lint(LimitFiles.of(before).load())).isEmpty();
  }

  @Test
  void overrideId_ofAnotherFormThanTheId_isAWarning() {
    String limit =
        "Logins: {id: 'string:ipAddress', overrideId: %s, burst: 1, count: 1, period: 1m}";
    assertThat(lint(limit.formatted("ipAddress")))
        .containsExactly(
            "1:46: warning: the ids of overrides have the form ipAddress, but the ids of requests"
                + " have the form string:ipAddress: an override applies only if its id has the same"
                + " text as the first parts of a request's id");
    assertThat(lint(limit.formatted("string"))).isEmpty();
  }

  /** A declaration replaced the sample; without it, the sample and its number are back. */
  @Test
  void lint_whereTheNumberOfASampleComesBack_warnsToo() {
    Catalogue before = Catalogue.of(LimitName.builder("ApiCallsPerKey").build());
    Path file =
        write(
            "limits.yml",
            "LoginsPerIPAddress: {burst: 1, count: 1, period: 1m}",
            "ApiCallsPerKey: {burst: 1, count: 1, period: 1m}");
    assertThat(LimitFiles.of(file).lint(namesOnly(before)))
        .singleElement()
        .asString()
        .startsWith(
            file
                + ":2:1: warning: the bucket keys of ApiCallsPerKey change from"
                + " \"ApiCallsPerKey:…\" to \"104:…\": all its buckets become full once");
    Path overrides =
        write("overrides.yml", "- ApiCallsPerKey: {burst: 2, count: 1, period: 1m, ids: [a]}");
    assertThat(LimitFiles.builder().overrides(overrides).build().lint(namesOnly(before)))
        .anySatisfy(one -> assertThat(one.toString()).startsWith(overrides + ":1:1: warning: the"));
    assertThat(LimitFiles.of(file).lint(namesOnly(Catalogue.samples()))).isEmpty();
  }

  @Test
  void lint_ofANameThatBeginsLikeTheBucketsOfTrials_isAMistake() {
    assertThat(lint("shadow-Own: {id: string, burst: 1, count: 1, period: 1m}"))
        .singleElement()
        .asString()
        .startsWith("1:1: ")
        .contains("the bucket keys of trials begin with \"shadow-\"; give the limit a number");
    assertThat(lint("shadow-Own: {id: string, number: 7, burst: 1, count: 1, period: 1m}"))
        .isEmpty();
  }

  @Test
  void watch_withoutListener_logsEachLoad_andWarnsOfOtherKeys() {
    List<String> logged = new ArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord one) {
            logged.add(one.getLevel() + ": " + one.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger log = Logger.getLogger(LimitFiles.class.getName());
    log.addHandler(handler);
    Path file =
        write("limits.yml", "Own: {id: string, number: 1001, burst: 1, count: 1, period: 1m}");
    CurrentLimits current = new CurrentLimits(LimitFiles.of(file).load());
    try (LimitFilesWatcher watcher = LimitFiles.of(file).watch(current, Duration.ofDays(1))) {
      write("limits.yml", "Own: {id: string, burst: 1, count: 1, period: 1m}");
      assertThat(watcher.reloadNow()).isTrue();
      write("limits.yml", "Own: {id: string}");
      assertThat(watcher.reloadNow()).isFalse();
    } finally {
      log.removeHandler(handler);
    }
    assertThat(logged)
        .satisfiesExactly(
            one -> assertThat(one).contains("INFO", "limits Own (burst 1, 1 per PT1M)"),
            one -> assertThat(one).contains("INFO", "limits Own"),
            one -> assertThat(one).contains("WARNING", "\"1001:…\" to \"Own:…\""),
            one -> assertThat(one).contains("SEVERE", "the field burst is missing"));
    assertThat(key(current.get(), "Own", "42")).isEqualTo("Own:42");
  }

  @Test
  void properties_withAnId_declareTheirName() {
    Limits limits =
        LimitProperties.load(
            "sluice",
            null,
            Map.of("Own", Map.of("id", "string", "burst", 1, "count", 1, "period", "1m")),
            null,
            warning -> {});
    assertThat(key(limits, "Own", "42")).isEqualTo("Own:42");
  }
}
