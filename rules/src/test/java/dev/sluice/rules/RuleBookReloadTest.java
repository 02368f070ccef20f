// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesWatcher;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.ReloadListener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits and rules are one generation: both are replaced, or none. */
class RuleBookReloadTest implements ReloadListener {

  private static final String RULES = "rules: [{path: /**, limit: PerKey, id: all}]\n";

  @TempDir Path folder;

  private final List<String> refused = new ArrayList<>();
  private CurrentLimits limits;
  private LimitFilesWatcher watcher;

  @BeforeEach
  void watch() {
    LimitFiles files = RuleBookFixture.files(folder, RULES);
    limits = new CurrentLimits(files.load());
    watcher = files.watch(limits, Duration.ofDays(1), this);
  }

  @AfterEach
  void close() {
    watcher.close();
  }

  @Override
  public void loaded(Instant at, Limits loaded, List<Problem> warnings) {
    assertThat(loaded).isEqualTo(limits.get());
  }

  @Override
  public void failed(Instant at, List<Problem> problems) {
    problems.forEach(problem -> refused.add(problem.message()));
  }

  private int rules() {
    return RuleBook.of(limits.get()).size();
  }

  private void write(String file, String text) throws IOException {
    Files.writeString(folder.resolve(file), text);
  }

  @Test
  void reload_ofRulesAlone_replacesThem() throws IOException {
    write("rules.yml", RULES.replace("]", ", {path: /a, unlimited: true}]"));
    assertThat(watcher.reloadNow()).isTrue();
    assertThat(rules()).isEqualTo(2);
  }

  @Test
  void reload_ofRulesInTheLimitFile_replacesThem() throws IOException {
    write("limits.yml", RuleBookFixture.LIMITS + RULES);
    LimitFiles files =
        LimitFiles.builder()
            .defaults(folder.resolve("limits.yml"))
            .companion(RuleBook.reader())
            .build();
    try (LimitFilesWatcher one = files.watch(limits, Duration.ofDays(1), this)) {
      write("limits.yml", RuleBookFixture.LIMITS + RULES.replace("]", ", {path: /a, deny: true}]"));
      assertThat(one.reloadNow()).isTrue();
      assertThat(rules()).isEqualTo(2);
      write("limits.yml", RuleBookFixture.LIMITS + RULES.replace("PerKey", "PerKye"));
      assertThat(one.reloadNow()).isFalse();
      assertThat(rules()).isEqualTo(2);
    }
  }

  @Test
  void reload_ofLimitsThatLackWhatARuleNames_isRefusedAsAWhole() throws IOException {
    Limits before = limits.get();
    write(
        "limits.yml",
        RuleBookFixture.LIMITS
            .replaceFirst("PerKey: .*\n", "")
            .replace("PerIp: {burst: 10,", "PerIp: {burst: 11,"));
    assertThat(watcher.reloadNow()).isFalse();
    assertThat(limits.get()).isSameAs(before);
    assertThat(refused)
        .containsExactly(
            "found PerKey, which has no default; write burst, count and period, or"
                + " \"PerKey: {unlimited: true}\"");
  }

  @Test
  void limitThatIsMissing_isAWarning_orNothing_whereThePolicySaysSo() throws IOException {
    write(
        "rules.yml",
        "rules: [{path: /a, limit: Forgotten, id: x}, {path: /b, limit: PerKey, id: x}]\n");
    assertThat(lint(MissingDefault.REFUSE)).hasSize(1).allMatch(one -> one.startsWith("MISTAKE "));
    assertThat(lint(MissingDefault.WARN))
        .containsExactly(
            "WARNING found Forgotten, which has no default; write burst, count and period, or"
                + " \"Forgotten: {unlimited: true}\"");
    assertThat(lint(MissingDefault.ALLOW)).isEmpty();
  }

  private List<String> lint(MissingDefault policy) {
    return LimitFiles.builder()
        .defaults(folder.resolve("limits.yml"))
        .companion(folder.resolve("rules.yml"), RuleBook.reader(policy))
        .build()
        .lint()
        .stream()
        .map(problem -> problem.severity() + " " + problem.message())
        .toList();
  }

  @Test
  void reload_ofBadRulesWithGoodLimits_changesNeither() throws IOException {
    Limits before = limits.get();
    write("limits.yml", RuleBookFixture.LIMITS.replace("burst: 10,", "burst: 11,"));
    write("rules.yml", "rules: [{path: /**, limit: PerKey, id: all, cost: 101}]\n");
    assertThat(watcher.reloadNow()).isFalse();
    assertThat(limits.get()).isSameAs(before);
    write("rules.yml", "rules: []\n");
    assertThat(watcher.reloadNow()).isFalse();
    assertThat(limits.get()).isSameAs(before);
    write("rules.yml", RULES.replace("all", "every"));
    assertThat(watcher.reloadNow()).isTrue();
    LimitName perIp = limits.get().catalogue().get("PerIp");
    assertThat(limits.get().defaultFor(perIp).burst()).isEqualTo(11);
  }

  @Test
  @SuppressWarnings("NullAway") // a mistake of the application
  void reader_withoutAPolicy_isRefused() {
    assertThatNullPointerException()
        .isThrownBy(() -> RuleBook.reader(null))
        .withMessage("onMissing");
  }

  @Test
  void withOverrides_keepsTheRules_asThoseOfATableComeWithThem() {
    assertThat(RuleBook.of(limits.get().withOverrides(List.of())).size()).isEqualTo(1);
  }
}
