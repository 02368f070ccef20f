// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Differences between files and folders, and the exit codes. */
class DiffCommandTest {

  private static final String OLD =
      """
      CallsPerClient: {id: string, burst: 20, count: 20, period: 1m}
      LoginsPerIp: {id: ipAddress, burst: 5, count: 5, period: 10m}
      """;

  @TempDir private Path folder;

  @CanIgnoreReturnValue
  private Path file(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  private Cli diff(String before, String after, String... options) throws IOException {
    String[] args = new String[options.length + 3];
    args[0] = "diff";
    args[1] = file("old.yml", before).toString();
    args[2] = file("new.yml", after).toString();
    System.arraycopy(options, 0, args, 3, options.length);
    return Cli.run(args);
  }

  @Test
  void changedFields_areOneLine() throws IOException {
    Cli diff = diff(OLD, OLD.replace("burst: 20", "burst: 30").replace("1m}", "2m}"));
    assertThat(diff.out()).isEqualTo("CallsPerClient: burst 20 → 30, period 1m → 2m\n");
    assertThat(diff.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void limitThatIsAdded_removed_orUnlimited_isNamed() throws IOException {
    Cli diff =
        diff(
            OLD,
            """
            CallsPerClient: {id: string, unlimited: true}
            OrdersPerIp: {id: ipAddress, burst: 9, count: 3, period: 1h}
            """);
    assertThat(diff.out().lines())
        .containsExactly(
            "CallsPerClient: default 20 per 1m, burst 20 → unlimited",
            "LoginsPerIp: removed",
            "OrdersPerIp: added, 3 per 1h, burst 9");
  }

  @Test
  void changedBucketKeys_areExplained() throws IOException {
    assertThat(diff(OLD, OLD.replace("{id: string", "{number: 1001, id: string")).out())
        .isEqualTo("CallsPerClient: number none → 1001; all of its buckets become full\n");
    assertThat(diff(OLD, OLD.replace("id: string", "id: ipAddress")).out())
        .startsWith("CallsPerClient: id string → ipAddress")
        .endsWith("; ids that are now written differently get full buckets\n");
  }

  /** A changed number makes all buckets full, but names without limits have no differences. */
  @Test
  void filesWithOnlyNames_areRefused() throws IOException {
    String names = "names: [{name: ReportsPerUser, number: 1001, id: string}]\n";
    Cli diff = diff(names, names.replace("1001", "1002"), "--exit-code");
    assertThat(diff.err())
        .endsWith(
            "old.yml: found no limits; to compare names, give folders that also contain the limits, or run: sluice lint NEW --against OLD\n");
    assertThat(diff.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void filesWithOnlyRules_areRefused_withWhatToGive() throws IOException {
    String rules = "rules: [{path: /health, unlimited: true}]\n";
    Cli diff = diff(rules, rules);
    assertThat(diff.err())
        .endsWith(
            "old.yml: found no limits; to compare rules, give files or folders that also contain the limits\n");
    assertThat(diff.code()).isEqualTo(Exit.BROKEN_INPUT);
  }

  @Test
  void overridesAndRules_areCompared_inOneFile() throws IOException {
    String limits = "limits:\n  PerKey: {id: string, burst: 2, count: 2, period: 1m}\n";
    Cli diff =
        diff(
            limits
                + """
                overrides:
                  - PerKey: {burst: 5, count: 5, period: 1m, ids: [ann, bob]}
                rules:
                  - {path: /health, unlimited: true}
                  - {path: /**, limit: PerKey, id: "{header:x-key}"}
                """,
            limits
                + """
                overrides:
                  - PerKey: {burst: 6, count: 5, period: 1m, ids: [bob, {id: eve, comment: x}]}
                rules:
                  # a comment
                  - {path: /health, unlimited: true}

                  - path: /api/**
                    limit: PerKey
                    id: "{header:x-key}"
                """);
    assertThat(diff.out().lines())
        .containsExactly(
            "PerKey of ann: override removed",
            "PerKey of bob: burst 5 → 6",
            "PerKey of eve: override added, 5 per 1m, burst 6",
            "rules: removed, was on line 7: {path: /**, limit: PerKey, id: \"{header:x-key}\"}",
            "rules: added on line 9: {path: /api/**, limit: PerKey, id: \"{header:x-key}\"}");
  }

  @Test
  void override_withAnotherAuthorOrEnd_isNamed() throws IOException {
    String limits = "limits:\n  PerKey: {id: string, burst: 2, count: 2, period: 1m}\noverrides:\n";
    String one =
        "  - PerKey: {burst: 5, count: 5, period: 1m, ids: [{id: ann, author: %s, until: %s}]}\n";
    Cli diff =
        diff(
            limits + one.formatted("bob", "2040-03-01"),
            limits + one.formatted("eve", "2040-04-01T10:00:00Z"));
    assertThat(diff.out().lines())
        .containsExactly(
            "PerKey of ann: author \"bob\" → \"eve\", until 2040-03-01T00:00:00Z → 2040-04-01T10:00:00Z");
    assertThat(diff(limits + "  []\n", limits + one.formatted("bob", "2040-03-01")).out())
        .isEqualTo(
            "PerKey of ann: override added, 5 per 1m, burst 5, until 2040-03-01T00:00:00Z\n");
  }

  @Test
  void quotesAndTheOrderOfFields_areNoChangeOfARule() throws IOException {
    String rules =
        """
        limits: {PerKey: {id: string, burst: 2, count: 2, period: 1m}}
        rules:
          - {path: /x, limit: PerKey, id: "{header:x-key}"}
          - {path: /y, methods: [GET, POST], limit: PerKey, id: all, cost: 2}
        """;
    String formatted =
        rules
            .replace("path: /x, limit: PerKey", "limit: 'PerKey', path: \"/x\"")
            .replace("path: /y, methods: [GET, POST]", "methods: ['GET', POST], path: '/y'")
            .replace("\"{header:x-key}\"", "'{header:x-key}'");
    assertThat(diff(rules, formatted, "--exit-code"))
        .isEqualTo(new Cli(Exit.DONE, "", "no differences\n"));
    assertThat(diff(rules, formatted.replace("id: all", "id: each")).out().lines())
        .containsExactly(
            "rules: removed, was on line 4: {path: /y, methods: [GET, POST], limit: PerKey, id: all, cost: 2}",
            "rules: added on line 4: {methods: [\"GET\", POST], path: \"/y\", limit: PerKey, id: each, cost: 2}");
  }

  @Test
  void rulesThatChangedPlaces_differ_sinceTheFirstMatchDecides() throws IOException {
    String limits = "limits:\n  PerKey: {id: string, burst: 2, count: 2, period: 1m}\nrules:\n";
    String one = "  - {path: /a, limit: PerKey, id: a}\n";
    String two = "  - {path: /b, limit: PerKey, id: b}\n";
    Cli diff = diff(limits + one + two, limits + two + one);
    assertThat(diff.out().lines()).hasSize(2);
  }

  @Test
  void severalQuotas_areComparedAsAList() throws IOException {
    String two = "PerKey: {id: string, quotas: [10 per 1h, 3 per 1s]}\n";
    String one = "PerKey: {id: string, burst: 10, count: 10, period: 1h}\n";
    String hour = "10 per 1h, burst 10";
    assertThat(diff(two, two.replace("3 per 1s", "4 per 1s")).out())
        .isEqualTo(
            "PerKey: quotas %s and 3 per 1s, burst 3 → %s and 4 per 1s, burst 4\n"
                .formatted(hour, hour));
    assertThat(diff(one, two).out())
        .isEqualTo("PerKey: quotas %s → %s and 3 per 1s, burst 3\n".formatted(hour, hour));
    assertThat(diff(two, one).out())
        .isEqualTo("PerKey: quotas %s and 3 per 1s, burst 3 → %s\n".formatted(hour, hour));
    assertThat(diff(two, "PerKey: {id: string, unlimited: true}\n").out())
        .isEqualTo("PerKey: default %s and 3 per 1s, burst 3 → unlimited\n".formatted(hour));
    assertThat(diff("Else: {id: string, unlimited: true}\n", two).out())
        .contains("PerKey: added, %s and 3 per 1s, burst 3\n".formatted(hour));
  }

  @Test
  void severalQuotasOfAnOverride_areComparedAsAList() throws IOException {
    String limits = "limits:\n  PerKey: {id: string, burst: 2, count: 2, period: 1m}\n";
    String old =
        """
        overrides:
          - PerKey: {quotas: [9 per 1h, 3 per 1s], ids: [ann]}
          - PerKey: {burst: 5, count: 5, period: 1m, ids: [bob]}
        """;
    String now = "overrides:\n  - PerKey: {quotas: [9 per 1h, 4 per 1s], ids: [ann, bob, eve]}\n";
    assertThat(diff(limits + old, limits + now).out().lines())
        .containsExactly(
            "PerKey of ann: quotas 9 per 1h, burst 9 and 3 per 1s, burst 3"
                + " → 9 per 1h, burst 9 and 4 per 1s, burst 4",
            "PerKey of bob: quotas 5 per 1m, burst 5"
                + " → 9 per 1h, burst 9 and 4 per 1s, burst 4",
            "PerKey of eve: override added, 9 per 1h, burst 9 and 4 per 1s, burst 4");
  }

  @Test
  void eachFieldOfALimit_isCompared() throws IOException {
    String id = "id: 'string:ipAddress'";
    String quota = "burst: 20, count: 20, period: 1m";
    Map<String, String> changes =
        Map.ofEntries(
            entry("burst", id + ", burst: 21, count: 20, period: 1m"),
            entry("count", id + ", burst: 20, count: 21, period: 1m"),
            entry("period", id + ", burst: 20, count: 20, period: 2m"),
            entry("quotas", id + ", quotas: [20 per 1m, 3 per 1s]"),
            entry("unlimited", id + ", unlimited: true"),
            entry("overridesOnly", id + ", overridesOnly: true"),
            entry("id", "id: 'string:string', " + quota),
            entry("number", id + ", number: 1001, " + quota),
            entry("overrideId", id + ", overrideId: string, " + quota),
            entry("message", id + ", message: slower, " + quota),
            entry("help", id + ", help: 'https://example.com', " + quota),
            entry("jitter", id + ", jitter: 0.5, " + quota),
            entry("longestWait", id + ", longestWait: 10s, " + quota),
            entry("debt", id + ", debt: 1, " + quota),
            entry("longestReservation", id + ", longestReservation: 1h, " + quota),
            entry("lapse", id + ", lapse: give-back, " + quota));
    requireDifferences("PerUser: {%s}\n", id + ", " + quota, changes);
  }

  @Test
  void eachFieldOfAnOverride_isCompared() throws IOException {
    String override =
        """
        limits: {PerKey: {id: string, burst: 20, count: 20, period: 1m}}
        overrides: [{PerKey: {%s}}]
        """;
    String quota = "burst: 9, count: 9, period: 1m, ids: ";
    Map<String, String> changes =
        Map.of(
            "burst", "burst: 8, count: 9, period: 1m, ids: [ann]",
            "count", "burst: 9, count: 8, period: 1m, ids: [ann]",
            "period", "burst: 9, count: 9, period: 2m, ids: [ann]",
            "quotas", "quotas: [9 per 1m, 3 per 1s], ids: [ann]",
            "ids", quota + "[bob]");
    requireDifferences(override, quota + "[ann]", changes);
    Map<String, String> changesOfAnId =
        Map.of(
            "id", "id: bob",
            "comment", "id: ann, comment: hi",
            "author", "id: ann, author: eve",
            "until", "id: ann, until: 2040-03-01");
    requireDifferences(override.formatted(quota + "[{%s}]"), "id: ann", changesOfAnId);
  }

  /** Requires a change for each field that an entry may have, and a difference for each change. */
  private void requireDifferences(String file, String old, Map<String, String> changes)
      throws IOException {
    String all = diff(file.formatted(old), file.formatted(old + ", nothing: 1")).err();
    Matcher known = Pattern.compile("expected one of ([A-Za-z, ]+)").matcher(all);
    assertThat(known.find()).as(all).isTrue();
    assertThat(changes.keySet()).containsExactlyInAnyOrder(known.group(1).split(", "));
    for (Map.Entry<String, String> change : changes.entrySet()) {
      Cli diff = diff(file.formatted(old), file.formatted(change.getValue()), "--exit-code");
      assertThat(diff.code()).as("%s: %s", change.getKey(), diff.err()).isEqualTo(Exit.NO);
    }
  }

  @Test
  void lapse_isNamed() throws IOException {
    assertThat(diff(OLD, OLD.replace("10m", "10m, lapse: give-back")).out())
        .isEqualTo("LoginsPerIp: lapse none → give-back\n");
  }

  /** The overrides of such a limit can be in the files, or in a table that diff does not read. */
  @ParameterizedTest
  @ValueSource(
      strings = {"", "overrides:\n  - Exports: {burst: 5, count: 5, period: 1m, ids: [ann]}\n"})
  void limitWithOverridesOnly_differsFromALimitWithoutADefault(String overrides)
      throws IOException {
    String only = "limits:\n  Exports: {id: string, overridesOnly: true}\n" + overrides;
    String none = "limits: {}\nnames: [{name: Exports, id: string}]\n" + overrides;
    assertThat(diff(only, none, "--exit-code"))
        .isEqualTo(
            new Cli(
                Exit.NO,
                overrides.isEmpty()
                    ? "Exports: removed\n"
                    : "Exports: default unlimited without an override → no default, overridesOnly true → false\n",
                ""));
    assertThat(diff(none, only, "--exit-code").out())
        .isEqualTo(
            overrides.isEmpty()
                ? "Exports: added, unlimited without an override\n"
                : "Exports: default no default → unlimited without an override, overridesOnly false → true\n");
    assertThat(diff(only, only.replace("true", "true, message: slower"), "--exit-code").code())
        .isEqualTo(Exit.NO);
  }

  @Test
  void equalFiles_haveNoDifferences_whateverTheirLayout() throws IOException {
    Cli diff = diff(OLD, "# a comment\n" + OLD.replace(", ", ",   "), "--exit-code");
    assertThat(diff.out()).isEmpty();
    assertThat(diff.err()).isEqualTo("no differences\n");
    assertThat(diff.code()).isEqualTo(Exit.DONE);
  }

  @Test
  void difference_withExitCode_is1() throws IOException {
    assertThat(diff(OLD, OLD.replace("20,", "21,"), "--exit-code").code()).isEqualTo(Exit.NO);
  }

  @Test
  void brokenFiles_areBothReported_with2() throws IOException {
    Cli diff = diff("CallsPerClient: {burst: x}\n", "LoginsPerIp: {bust: 1}\n", "--exit-code");
    assertThat(diff.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(diff.err()).contains("old.yml:1:", "new.yml:1:");
    assertThat(diff.out()).isEmpty();
  }

  @Test
  void folders_areCompared_fileByKind() throws IOException {
    Path before = file("a/limits.yml", OLD).getParent();
    Path after = file("b/all.yaml", OLD).getParent();
    file("b/more.yml", "- CallsPerClient: {burst: 100, count: 100, period: 1m, ids: [shop]}\n");
    file("b/notes.txt", "not a limit file");
    file("b/sluice.yml", "limits: all.yaml\nstore: redis://127.0.0.1:6379/0\n");
    Cli diff = Cli.run("diff", before.toString(), after.toString());
    assertThat(diff.out())
        .isEqualTo("CallsPerClient of shop: override added, 100 per 1m, burst 100\n");
  }

  @Test
  void folderWithoutFiles_andMissingFile_areInputErrors() throws IOException {
    Path some = file("limits.yml", OLD);
    Path empty = Files.createDirectory(folder.resolve("empty"));
    Cli none = Cli.run("diff", some.toString(), empty.toString());
    assertThat(none.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(none.err()).contains("empty: found no file that ends in .yml or .yaml");
    Cli missing = Cli.run("diff", some.toString(), folder.resolve("gone.yml").toString());
    assertThat(missing.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(missing.err()).contains("gone.yml: there is no such file");
    Path tokens = file("tokens.yml", "tokens: []\n");
    assertThat(Cli.run("diff", some.toString(), tokens.toString()).err())
        .contains("found no limits; access tokens and configurations of sluice serve are not");
  }
}
