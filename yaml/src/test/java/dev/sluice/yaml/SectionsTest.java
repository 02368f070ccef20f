// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One file with several sections, through each of the options that can name it. */
class SectionsTest {

  private static final String NAMES = "names: [{number: 1, name: Widgets, id: string}]\n";
  private static final String LIMITS = "limits:\n  Widgets: {burst: 1, count: 1, period: 1s}\n";
  private static final String OVERRIDES =
      "overrides:\n  - Widgets: {burst: 2, count: 2, period: 1s, ids: [a]}\n";

  @TempDir private Path folder;

  @Test
  void load_ofOneFileWithSections_takesAllOfThem() {
    Path file = write("all.yml", NAMES + LIMITS + OVERRIDES);
    for (LimitFiles files :
        List.of(
            LimitFiles.of(file),
            LimitFiles.builder().overrides(file).build(),
            LimitFiles.builder().names(file).build(),
            LimitFiles.builder().names(file).defaults(file).overrides(file).build())) {
      assertHasBoth(files.load());
      assertThat(files.lint()).isEmpty();
    }
  }

  @Test
  void load_ofLimitsAtTheTopBesideOtherSections_takesThem() {
    Path file = write("all.yml", NAMES + "Widgets: {burst: 1, count: 1, period: 1s}\n" + OVERRIDES);
    assertHasBoth(LimitFiles.of(file).load());
  }

  @Test
  void load_ofSectionsInSeveralFiles_joinsThem() {
    Path names = write("names.yml", NAMES + OVERRIDES);
    Path limits = write("limits.yml", LIMITS);
    assertHasBoth(LimitFiles.builder().defaults(limits).names(names).build().load());
  }

  @Test
  void load_ofADefaultsFileWithoutLimits_isGood() {
    Limits limits = LimitFiles.of(write("all.yml", NAMES + OVERRIDES)).load();
    LimitName name = limits.catalogue().get("Widgets");
    assertThat(limits.hasDefault(name)).isFalse();
    assertThat(limits.overridesOf(name)).hasSize(1);
  }

  @Test
  void lint_ofBothForms_namesBothLines() {
    assertThat(lint(NAMES + LIMITS + "LoginsPerIPAddress: {burst: 1, count: 1, period: 1s}\n"))
        .containsExactly(
            "4:1: found \"LoginsPerIPAddress\" outside of the sections, expected one of names,"
                + " limits, overrides, rules, rulesOnly, ignoreCase, methodOverride; write limits"
                + " below the section limits, "
                + folder.resolve("all.yml")
                + ", line 2");
  }

  @Test
  void lint_ofAMisspeltSection_suggestsTheRightOne() {
    assertThat(lint(NAMES + LIMITS + "overides: []\n").get(0))
        .startsWith("4:1: found \"overides\"")
        .endsWith("; did you mean \"overrides\"?");
    assertThat(lint("limit:\n  ApiCallsPerKey: {burst: 1, count: 1, period: 1s}\n").get(0))
        .endsWith("; did you mean \"limits\"?");
  }

  @Test
  void lint_ofASectionThatStandsThereTwice_namesBothLines() {
    assertThat(lint(NAMES + LIMITS + LIMITS))
        .containsExactly(
            "4:1: found the section limits again, expected it once; it is on line 2 too");
  }

  @Test
  void lint_ofASectionInTwoFiles_namesBoth() {
    Path one = write("one.yml", NAMES + LIMITS + OVERRIDES);
    Path two = write("two.yml", OVERRIDES);
    assertThat(TestFiles.lines(LimitFiles.builder().defaults(one).overrides(two).build().lint()))
        .containsExactly(
            "1:1: found the section overrides, which is also in "
                + one
                + ", line 4; expected the section in one file");
    write("two.yml", "- Widgets: {burst: 3, count: 3, period: 1s, ids: [b]}\n");
    assertThat(TestFiles.lines(LimitFiles.builder().defaults(one).overrides(two).build().lint()))
        .containsExactly(
            "1:1: found a list, expected sections; the overrides are in " + one + ", line 4");
  }

  @Test
  void lint_ofAFileOfOverridesWithoutAny_isAMistake() {
    Path file = write("all.yml", NAMES + LIMITS);
    assertThat(TestFiles.lines(LimitFiles.builder().overrides(file).build().lint()))
        .containsExactly("1:1: the section overrides is missing; write overrides: [] for none");
    assertThat(
            TestFiles.lines(
                LimitFiles.builder().overrides(write("no.yml", "overrides: []\n")).build().lint()))
        .isEmpty();
  }

  @Test
  void lint_ofAnUnknownNameInASection_showsIt() {
    assertThat(lint("limits:\n  Foobar: 10/m\n").toString())
        .contains("found the name \"Foobar\", expected one that is known");
  }

  @Test
  void lint_ofAnEmptySection_saysWhatToWrite() {
    assertThat(lint(NAMES + "limits:\noverrides:\n"))
        .containsExactly(
            "2:8: found nothing, expected a map name → {burst, count, period}",
            "3:11: found nothing, expected a list of name → {burst, count, period, ids}; write [] for none");
  }

  @Test
  void lint_ofRulesThatNobodyReads_warns() {
    assertThat(lint(NAMES + LIMITS + "rules: []\nrulesOnly: [a]\n"))
        .containsExactly(
            "4:1: warning: found the section rules, which this program does not read: the rules do not"
                + " apply here");
  }

  @Test
  void lint_ofACompanionsSection_readsIt() {
    Path file = write("all.yml", NAMES + LIMITS + "rules: [a]\n");
    LimitFiles files = LimitFiles.builder().defaults(file).companion(new Rules()).build();
    assertThat(files.load().companion(String.class)).isEqualTo("[rules]");
    LimitFiles alone = LimitFiles.builder().companion(file, new Rules()).build();
    assertThat(alone.load().companion(String.class)).isEqualTo("[rules]");
    LimitFiles twice = LimitFiles.builder().defaults(file).companion(file, new Rules()).build();
    assertThat(twice.load().companion(String.class)).isEqualTo("[rules]");
    Path other = write("rules.yml", "rules: [b]\nx: 1\n");
    assertThat(
            LimitFiles.builder()
                .companion(other, new Rules())
                .build()
                .load()
                .companion(String.class))
        .isEqualTo("[rules, x]");
    assertThatThrownBy(
            () -> LimitFiles.builder().defaults(file).companion(other, new Rules()).build().load())
        .hasMessageContaining("all.yml:4:1: found ");
  }

  @Test
  void reload_ofASection_actsAndRefusesToLoseAllLimits() {
    Path file = write("all.yml", NAMES + LIMITS + OVERRIDES);
    LimitFiles files = LimitFiles.of(file);
    CurrentLimits current = new CurrentLimits(files.load());
    List<String> told = new ArrayList<>();
    try (LimitFilesWatcher watcher = files.watch(current, Duration.ofDays(1), new Told(told))) {
      write("all.yml", NAMES + LIMITS + "overrides: []\n");
      assertThat(watcher.reloadNow()).isTrue();
      assertThat(told.get(told.size() - 1)).contains("overrides were removed: 1");
      write("all.yml", NAMES + "limits: {}\n");
      assertThat(watcher.reloadNow()).isFalse();
      assertThat(told.get(told.size() - 1)).contains("found no defaults");
      LimitName name = current.get().catalogue().get("Widgets");
      assertThat(current.get().hasDefault(name)).isTrue();
    }
  }

  private static void assertHasBoth(Limits limits) {
    LimitName name = limits.catalogue().get("Widgets");
    assertThat(limits.hasDefault(name)).isTrue();
    assertThat(limits.overridesOf(name)).hasSize(1);
  }

  private List<String> lint(String text) {
    return TestFiles.lines(LimitFiles.of(write("all.yml", text)).lint());
  }

  @CanIgnoreReturnValue
  private Path write(String name, String text) {
    return TestFiles.write(folder.resolve(name), text);
  }

  private record Told(List<String> lines) implements ReloadListener {
    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      lines.add("loaded " + warnings);
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      lines.add("failed " + problems);
    }
  }

  /** Reads the keys of what it is given. */
  private static final class Rules implements CompanionReader<String> {
    @Override
    public Class<String> type() {
      return String.class;
    }

    @Override
    public List<String> sections() {
      return List.of("rules");
    }

    @Override
    public String expected() {
      return "rules";
    }

    @Override
    public @Nullable String read(
        Node root, String file, Limits limits, boolean known, Problems problems) {
      return ((Node.Mapping) root)
          .entries().stream().map(one -> one.key().text()).toList().toString();
    }
  }
}
