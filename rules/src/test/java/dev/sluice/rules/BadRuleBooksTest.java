// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.Problem;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Each file of {@code bad/} is wrong in one way; beside it stands what must be said about it. */
class BadRuleBooksTest {

  @TempDir Path folder;

  @TestFactory
  Stream<DynamicTest> load_ofABadBook_saysWhatStandsBesideIt()
      throws IOException, URISyntaxException {
    Path bad = Path.of(Objects.requireNonNull(getClass().getResource("bad")).toURI());
    List<Path> files;
    try (Stream<Path> all = Files.list(bad)) {
      files = all.filter(file -> file.toString().endsWith(".yml")).sorted().toList();
    }
    assertThat(files).hasSizeGreaterThan(15);
    return files.stream()
        .map(file -> DynamicTest.dynamicTest(file.getFileName().toString(), () -> check(file)));
  }

  private void check(Path file) throws IOException {
    Path said = file.resolveSibling(file.getFileName().toString().replace(".yml", ".txt"));
    List<String> found =
        RuleBookFixture.files(folder, Files.readString(file)).lint().stream()
            .map(BadRuleBooksTest::line)
            .toList();
    if (Boolean.getBoolean("sluice.write")) {
      Files.write(
          Path.of("src/test/resources/dev/sluice/rules/bad").resolve(said.getFileName()), found);
    }
    assertThat(found).isNotEmpty().isEqualTo(Files.readAllLines(said));
  }

  private static String line(Problem problem) {
    return problem.toString().substring(problem.file().length() + 1);
  }

  @Test
  void lint_ofMistakesInBothFiles_namesAllAndNoUnknownLimitTwice() throws IOException {
    LimitFiles files =
        RuleBookFixture.files(folder, "rules: [{path: /, limit: Broken, id: x, cots: 1}]");
    Files.writeString(
        folder.resolve("limits.yml"), RuleBookFixture.LIMITS + "Broken: {burst: 0}\n");
    assertThat(files.lint())
        .extracting(problem -> problem.message().replaceAll("[;,] (did you|expected) .*", ""))
        .contains("found the name \"Broken\"", "found the field \"cots\"")
        .noneMatch(message -> message.contains("the name of a limit"));
  }

  @Test
  void lint_ofRulesInTwoFiles_reportsThemOnce_andNamesBothSections() throws IOException {
    String rules = "rules: [{path: /, limit: PerIp, id: \"{ip}\"}]\n";
    LimitFiles files = RuleBookFixture.files(folder, rules);
    Path limits = folder.resolve("limits.yml");
    Files.writeString(limits, rules + RuleBookFixture.LIMITS);
    assertThat(files.lint())
        .extracting(Problem::message)
        .containsOnlyOnce(
            "found the section rules, which is also in %s, line 1; expected the section in one file"
                .formatted(limits));
    Files.writeString(limits, "ignoreCase: true\n" + RuleBookFixture.LIMITS);
    assertThat(files.lint())
        .extracting(Problem::message)
        .containsOnlyOnce(
            "found the section rules, and the section ignoreCase, which is in %s, line 1; expected the sections in one file"
                .formatted(limits));
  }

  /** Each request of that id would be refused as a mistake, and nobody would know why. */
  @Test
  void lint_ofACostAboveTheBurstOfAnOverride_warnsOfTheSmallest() throws IOException {
    Path overrides = folder.resolve("overrides.yml");
    Files.writeString(
        overrides,
        """
        - PerKey: {burst: 4, count: 4, period: 1m, ids: [{id: partner}]}
        - PerKey: {burst: 2, count: 2, period: 1m, ids: [{id: trial}, {id: user}]}
        - PerIp: {burst: 5, count: 5, period: 1s, ids: [{id: 192.0.2.1}]}
        """);
    String rules =
        """
        rules:
          - {path: /a, limit: PerKey, id: "{header:K}", cost: 3}
          - {path: /b, limit: PerKey, id: x, cost: 2}
          - {path: /c, limit: PerIp, id: "{ip}", cost: 5}
        """;
    assertThat(RuleBookFixture.files(folder, rules).lint()).as("without overrides").isEmpty();
    List<String> found =
        LimitFiles.builder()
            .defaults(folder.resolve("limits.yml"))
            .overrides(overrides)
            .companion(folder.resolve("rules.yml"), RuleBook.reader())
            .build()
            .lint()
            .stream()
            .map(BadRuleBooksTest::line)
            .toList();
    assertThat(found)
        .containsExactly(
            "2:55: warning: found a cost of 3, but the override of PerKey for the id \"trial\" has a"
                + " burst of 2: every request with that id is denied; lower the cost, or raise the burst");
  }

  /** It would be written, loaded, and never be in force. */
  @Test
  void lint_ofAnOverrideThatNoRuleAsksFor_warnsOnceForTheLimit() throws IOException {
    Path overrides = folder.resolve("overrides.yml");
    Files.writeString(
        overrides,
        """
        - PerIp: {burst: 5, count: 5, period: 1s, ids: ["2001:db8:9:9::5", "2001:db8:8::/64"]}
        - PerIp: {burst: 6, count: 5, period: 1s, ids: ["2001:db8:7:7::5", 192.0.2.7]}
        - PerUserAtIp: {burst: 6, count: 5, period: 1s, ids: ["[2001:db8::1]:ann"]}
        """);
    var unused =
        RuleBookFixture.files(
            folder,
            """
        rules:
          - {path: /a, limit: PerIp, id: "{ip}"}
          - {entries: [remote_address], limit: PerIp, id: "{remote_address}"}
          - {path: "/{user}", limit: PerUserAtIp, id: "{ip}:{path:user}"}
        """);
    LimitFiles.Builder files =
        LimitFiles.builder()
            .overrides(overrides)
            .companion(folder.resolve("rules.yml"), RuleBook.reader());
    List<String> found =
        files.defaults(folder.resolve("limits.yml")).build().lint().stream()
            .map(BadRuleBooksTest::line)
            .toList();
    assertThat(found)
        .containsExactly(
            "2:5: warning: found an override that never applies, since no rule produces its id: no rule"
                + " uses the id \"2001:db8:7:7::5\" of PerIp: the rule on line 2 uses the id"
                + " \"2001:db8:7:7::\" instead; more such overrides: 1",
            "4:5: warning: found an override that never applies, since no rule produces its id: no rule"
                + " uses the id \"[2001:db8::1]:ann\" of PerUserAtIp: the rule on line 4 uses the id"
                + " \"[2001:db8::]:ann\" instead");
  }
}
