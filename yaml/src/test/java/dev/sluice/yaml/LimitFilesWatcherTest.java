// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.internal.CompanionReader;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The polls are driven by the tests, but for the one test that is about the thread. */
class LimitFilesWatcherTest {

  private static final Duration NEVER = Duration.ofDays(1000);
  private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

  @TempDir Path folder;

  private final CurrentLimits current = new CurrentLimits(Limits.builder(Vectors.names()).build());
  private final Events events = new Events();
  private Path defaults;
  private Path overrides;
  private LimitFilesWatcher watcher;

  @BeforeEach
  void start() {
    defaults = TestFiles.write(folder.resolve("defaults.yml"), defaults(1));
    overrides = TestFiles.write(folder.resolve("overrides.yml"), overrides(1));
    watcher =
        LimitFilesWatcher.start(files(), current, NEVER, events, Clock.fixed(NOW, ZoneOffset.UTC));
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
  }

  @AfterEach
  void close() {
    watcher.close();
  }

  @Test
  void watch_appliesTheFilesBeforeItReturns() {
    assertThat(defaultBurst()).isEqualTo(1);
    assertThat(overrideBurst()).isEqualTo(1);
  }

  @Test
  void poll_ofUnchangedFiles_tellsNothing() {
    Limits before = current.get();
    poll(5);
    assertThat(events.take()).isEmpty();
    assertThat(current.get()).isSameAs(before);
  }

  @Test
  void poll_ofATouchedFileWithTheSameContent_tellsNothing() throws IOException {
    Files.setLastModifiedTime(defaults, FileTime.from(NOW.plusSeconds(99)));
    poll(5);
    assertThat(events.take()).isEmpty();
  }

  @Test
  void poll_ofAChangedFile_appliesItOnceTwoLooksAgree() {
    TestFiles.write(defaults, defaults(2));
    poll(1);
    assertThat(defaultBurst()).isEqualTo(1);
    poll(5);
    assertThat(defaultBurst()).isEqualTo(2);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
  }

  @Test
  void poll_ofAFileThatIsBeingWritten_waitsForItsEnd() {
    TestFiles.write(overrides, overrides(7).substring(0, 30));
    poll(1);
    TestFiles.write(overrides, overrides(7).substring(0, 60));
    poll(1);
    TestFiles.write(overrides, overrides(7));
    poll(2);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
    assertThat(overrideBurst()).isEqualTo(7);
  }

  @Test
  void poll_ofAFileThatDiffersAtEachLook_isAMistakeOnce_untilItRests() {
    for (int i = 2; i < 40; i++) {
      TestFiles.write(defaults, defaults(i));
      poll(1);
    }
    assertThat(events.take())
        .singleElement()
        .asString()
        .startsWith("failed ")
        .contains(defaults + ":1:1: ", "changed at each of the last 10 checks");
    assertThat(defaultBurst()).isEqualTo(1);
    poll(1);
    assertThat(defaultBurst()).isEqualTo(39);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
  }

  @Test
  void poll_ofAFileThatRestsAsItWasApplied_endsTheMistake() {
    for (int i = 2; i < 12; i++) {
      TestFiles.write(defaults, defaults(i));
      poll(1);
    }
    assertThat(events.take()).singleElement().asString().startsWith("failed ");
    TestFiles.write(defaults, defaults(1));
    poll(5);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
    assertThat(defaultBurst()).isEqualTo(1);
  }

  /** A rollback ends only when changed files are applied. */
  @Test
  void poll_ofAFileThatRestsAsItWasPutBack_endsTheMistake_andNotTheRollback() {
    Limits first = current.get();
    TestFiles.write(defaults, defaults(2));
    poll(2);
    watcher.putBack(first, "000000000001");
    var unused = events.take();
    for (int i = 3; i < 13; i++) {
      TestFiles.write(defaults, defaults(i));
      poll(1);
    }
    assertThat(events.take()).singleElement().asString().startsWith("failed ");
    TestFiles.write(defaults, defaults(2));
    poll(5);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
    assertThat(current.get()).isSameAs(first);
  }

  @Test
  void poll_ofABadFile_keepsAllLimitsAndSaysSoOnce() {
    Limits before = current.get();
    TestFiles.write(overrides, overrides(2));
    TestFiles.write(defaults, "NewOrdersPerAccount: 1\n");
    poll(10);
    assertThat(current.get()).isSameAs(before);
    assertThat(events.take())
        .containsExactly(
            "failed 2026-11-20T12:00:00Z [%s:1:22: found 1, expected {burst, count, period}]"
                .formatted(defaults));
  }

  @Test
  void poll_ofAnotherMistake_saysSoAgain_andAGoodFileEndsIt() {
    TestFiles.write(defaults, "NewOrdersPerAccount: 1\n");
    poll(5);
    TestFiles.write(defaults, "NewOrdersPerAccount: 2\n");
    poll(5);
    assertThat(events.take()).hasSize(2).allMatch(e -> e.startsWith("failed"));
    TestFiles.write(defaults, defaults(1));
    poll(5);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
  }

  @Test
  void poll_ofAFileThatVanishesForAMoment_tellsNothing() throws IOException {
    Files.delete(overrides);
    poll(1);
    TestFiles.write(overrides, overrides(1));
    poll(5);
    assertThat(events.take()).isEmpty();
  }

  @Test
  void poll_ofAFileThatStaysAway_keepsTheLimitsAndSaysSo() throws IOException {
    Files.delete(overrides);
    poll(5);
    assertThat(events.take())
        .containsExactly(
            "failed 2026-11-20T12:00:00Z [%s:1:1: there is no such file; the other files are loaded, with the previous overrides]"
                .formatted(overrides));
    assertThat(overrideBurst()).isEqualTo(1);
  }

  @Test
  void putBack_staysInForce_throughFilesThatAreAwayOrMistaken_untilChangedFilesAreApplied()
      throws IOException {
    Limits first = current.get();
    TestFiles.write(defaults, defaults(2));
    poll(2);
    watcher.putBack(first, "000000000001");
    var unused = events.take();
    poll(5);
    assertThat(watcher.reloadNow()).isFalse();
    assertThat(events.take()).isEmpty();

    Files.delete(defaults);
    poll(5);
    TestFiles.write(defaults, "NewOrdersPerAccount: 1\n");
    poll(5);
    Files.delete(overrides);
    poll(5);
    assertThat(events.take()).hasSize(3).allMatch(e -> e.startsWith("failed "));
    assertThat(current.get()).isSameAs(first);

    TestFiles.write(overrides, overrides(1));
    TestFiles.write(defaults, defaults(2));
    poll(5);
    assertThat(watcher.reloadNow()).isFalse();
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
    assertThat(current.get()).isSameAs(first);

    TestFiles.write(defaults, defaults(3));
    poll(2);
    assertThat(defaultBurst()).isEqualTo(3);
    assertThat(watcher.reloadNow()).isTrue();
  }

  @Test
  void putBack_whileTheFilesHaveMistakes_endsWhenTheyAreMended() {
    Limits first = current.get();
    TestFiles.write(defaults, defaults(2));
    poll(2);
    TestFiles.write(defaults, "NewOrdersPerAccount: 1\n");
    poll(2);
    watcher.putBack(first, "000000000001");
    TestFiles.write(defaults, defaults(2));
    poll(2);
    assertThat(defaultBurst()).isEqualTo(2);
  }

  @Test
  void read_whereTheOverridesAreEmpty_returnsWhatAReloadWouldApply_andTheMistake() {
    TestFiles.write(defaults, defaults(2));
    TestFiles.write(overrides, "");
    List<Problem> mistakes = new ArrayList<>();
    Limits next = watcher.read(mistakes::add);
    assertThat(mistakes).singleElement().asString().contains("found an empty file");
    assertThat(next).isNotNull();
    assertThat(burst(next)).isEqualTo(2);
    assertThat(defaultBurst()).isEqualTo(1);

    TestFiles.write(defaults, "{}");
    assertThat(watcher.read(mistakes::add)).isNull();
    assertThat(mistakes).last().asString().contains("found no defaults");
  }

  @Test
  void reload_afterTheEndOfAnOverride_doesNotMissTheOverride() {
    LimitName name = current.get().catalogue().get("NewOrdersPerAccount");
    Quota quota = Quota.per(1, Duration.ofSeconds(1));
    current.replace(
        current
            .get()
            .withOverrides(
                List.of(new LimitOverride(name, "18", List.of(quota), "", "", NOW.minusNanos(1)))));
    TestFiles.write(defaults, defaults(2));
    poll(2);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
  }

  @Test
  void poll_ofAFileThatBecameEmpty_keepsTheLimitsAndSaysSo() {
    TestFiles.write(overrides, "");
    poll(5);
    TestFiles.write(overrides, "[]\n");
    poll(5);
    TestFiles.write(overrides, overrides(1));
    poll(5);
    TestFiles.write(defaults, "{}\n");
    poll(5);
    assertThat(events.take())
        .containsExactly(
            "failed 2026-11-20T12:00:00Z [%s:1:1: found an empty file, expected a list of name → {burst, count, period, ids}; write [] for none; the other files are loaded, with the previous overrides]"
                .formatted(overrides),
            "loaded 2026-11-20T12:00:00Z 1 warnings", // written on purpose
            "loaded 2026-11-20T12:00:00Z 0 warnings",
            "failed 2026-11-20T12:00:00Z [%s:1:1: found no defaults, so the current defaults (1) stay in force; to remove all defaults, restart]"
                .formatted(defaults));
    assertThat(overrideBurst()).isEqualTo(1);
    assertThat(defaultBurst()).isEqualTo(1);
  }

  /** A generator that failed must not keep new defaults away. */
  @ParameterizedTest
  @ValueSource(strings = {"", "# none\n", "overrides:\n#  - A: 1/s\n", "gone"})
  void poll_ofOverridesWithoutContent_keepsThem_andAppliesTheDefaultsBeside(String content)
      throws IOException {
    if (content.equals("gone")) {
      Files.delete(overrides);
    } else {
      TestFiles.write(overrides, content);
    }
    TestFiles.write(defaults, defaults(8));
    poll(6);

    assertThat(defaultBurst()).isEqualTo(8);
    assertThat(overrideBurst()).isEqualTo(1);
    List<String> told = events.take();
    assertThat(told).hasSize(2);
    assertThat(told.get(0)).startsWith("loaded");
    assertThat(told.get(1)).startsWith("failed").contains(overrides.toString());
    assertThat(watcher.reloadNow()).isFalse();
  }

  @Test
  void poll_ofARenamedFile_seesTheNewOne() throws IOException {
    Path next = TestFiles.write(folder.resolve("defaults.yml.tmp"), defaults(2));
    // Same size, same time: only the file's identity tells.
    Files.setLastModifiedTime(next, Files.getLastModifiedTime(defaults));
    Files.move(next, defaults, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    poll(2);
    assertThat(defaultBurst()).isEqualTo(2);
  }

  @Test
  void poll_ofAMountedConfigMap_followsTheTurnedLink() throws IOException {
    Path mount = Files.createDirectory(folder.resolve("mount"));
    for (int version = 1; version <= 2; version++) {
      Path data = Files.createDirectory(mount.resolve("..data" + version));
      TestFiles.write(data.resolve("defaults.yml"), defaults(version));
    }
    Files.createSymbolicLink(mount.resolve("..data"), Path.of("..data1"));
    Path mounted = mount.resolve("defaults.yml");
    Files.createSymbolicLink(mounted, Path.of("..data", "defaults.yml"));
    try (LimitFilesWatcher mountWatcher =
        LimitFilesWatcher.start(TestFiles.of(mounted), current, NEVER, events, Clock.systemUTC())) {
      assertThat(defaultBurst()).isEqualTo(1);
      Path turned = mount.resolve("..data_tmp");
      Files.createSymbolicLink(turned, Path.of("..data2"));
      Files.move(turned, mount.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
      mountWatcher.poll();
      mountWatcher.poll();
      assertThat(defaultBurst()).isEqualTo(2);
    }
  }

  @Test
  void look_atAFileThatWasYoungWhenRead_readsItAgain() throws IOException {
    Path file = TestFiles.write(folder.resolve("young.yml"), "a");
    FileTime modified = Files.getLastModifiedTime(file);
    WatchedFile watched = new WatchedFile(file, new FileAccess(Duration.ofSeconds(30)));
    Instant soon = modified.toInstant().plusMillis(1);
    String first = watched.look(soon).fingerprint();
    TestFiles.write(file, "b");
    Files.setLastModifiedTime(file, modified);
    assertThat(watched.look(soon).fingerprint()).isNotEqualTo(first);
  }

  @Test
  void look_atAnOldUnchangedFile_doesNotReadIt() throws IOException {
    Path file = TestFiles.write(folder.resolve("old.yml"), "a");
    WatchedFile watched = new WatchedFile(file, new FileAccess(Duration.ofSeconds(30)));
    Instant later = Files.getLastModifiedTime(file).toInstant().plusSeconds(60);
    assertThat(watched.look(later)).isSameAs(watched.look(later));
  }

  @Test
  void reloadNow_appliesAtOnce_andTellsEvenWithoutAChange() {
    assertThat(watcher.reloadNow()).isTrue();
    TestFiles.write(defaults, defaults(2));
    assertThat(watcher.reloadNow()).isTrue();
    assertThat(defaultBurst()).isEqualTo(2);
    TestFiles.write(defaults, "-");
    assertThat(watcher.reloadNow()).isFalse();
    assertThat(watcher.reloadNow()).isFalse();
    poll(5);
    assertThat(defaultBurst()).isEqualTo(2);
    assertThat(events.take().stream().map(e -> e.substring(0, 6)))
        .containsExactly("loaded", "loaded", "failed", "failed");
  }

  @Test
  void loaded_tellsTheWarnings() {
    TestFiles.write(overrides, overrides(1).replace("count: 2", "count: 1"));
    assertThat(watcher.reloadNow()).isTrue();
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 1 warnings");
  }

  @Test
  void reloadNow_afterClose_doesNothing() {
    watcher.close();
    TestFiles.write(defaults, defaults(2));
    assertThat(watcher.reloadNow()).isFalse();
    poll(5);
    assertThat(defaultBurst()).isEqualTo(1);
    assertThat(events.take()).isEmpty();
  }

  @Test
  void watch_withAListenerThatThrows_goesOn() {
    List<Throwable> uncaught = new ArrayList<>();
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> uncaught.add(e));
    try {
      events.failure = new IllegalStateException("listener");
      TestFiles.write(defaults, defaults(2));
      assertThat(watcher.reloadNow()).isTrue();
      TestFiles.write(defaults, "-");
      assertThat(watcher.reloadNow()).isFalse();
      assertThat(uncaught).hasSize(2).containsOnly(events.failure);
      assertThat(defaultBurst()).isEqualTo(2);
    } finally {
      Thread.currentThread().setUncaughtExceptionHandler(null);
    }
  }

  @Test
  void look_thatThrowsAnError_isTold_andTheNextOneLooksAgain() {
    List<Throwable> uncaught = new ArrayList<>();
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> uncaught.add(e));
    Error error = new NoClassDefFoundError("gone");
    try (LimitFilesWatcher breaking =
        LimitFilesWatcher.start(
            files(), current, NEVER, events, Clock.fixed(NOW, ZoneOffset.UTC))) {
      events.failure = error; // a listener that lacks a class
      TestFiles.write(defaults, defaults(2));
      breaking.look();
      breaking.look();
      assertThat(defaultBurst()).isEqualTo(2);
      assertThat(uncaught).containsExactly(error);
    } finally {
      Thread.currentThread().setUncaughtExceptionHandler(null);
    }
    events.failure = null;
    CurrentLimits target = new CurrentLimits(current.get());
    BreakingClock breakable = new BreakingClock(Clock.systemUTC(), error);
    try (LimitFilesWatcher breaking =
        LimitFilesWatcher.start(files(), target, NEVER, events, breakable)) {
      TestFiles.write(defaults, defaults(5));
      breakable.broken = true;
      breaking.look();
      breaking.look();
      assertThat(burst(target.get())).isEqualTo(2);
      breakable.broken = false;
      breaking.look();
      breaking.look();
      assertThat(burst(target.get())).isEqualTo(5);
    }
  }

  @Test
  void poll_ofADefaultThatIsGone_looksOnceMore_andWarns() {
    TestFiles.write(defaults, defaults(1) + "LoginsPerIPAddress: {unlimited: true}\n");
    poll(2);
    assertThat(events.take()).hasSize(1);
    // Cut at the end of a line, and looked at twice before the rest is there.
    TestFiles.write(defaults, defaults(1));
    poll(2);
    TestFiles.write(defaults, defaults(2) + "LoginsPerIPAddress: {unlimited: true}\n");
    poll(2);
    assertThat(defaultBurst()).isEqualTo(2);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
    // The same for good.
    TestFiles.write(defaults, defaults(3));
    poll(2);
    assertThat(defaultBurst()).isEqualTo(2);
    poll(1);
    assertThat(defaultBurst()).isEqualTo(3);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 1 warnings");
    assertThat(events.warnings)
        .containsExactly(defaults + ":1:1: warning: the default of LoginsPerIPAddress was removed");
  }

  @Test
  void reloadNow_ofADefaultThatIsGone_looksAgainAndWarns() {
    TestFiles.write(defaults, defaults(1) + "LoginsPerIPAddress: {unlimited: true}\n");
    assertThat(watcher.reloadNow()).isTrue();
    TestFiles.write(defaults, defaults(3));
    assertThat(watcher.reloadNow()).isTrue();
    assertThat(defaultBurst()).isEqualTo(3);
    assertThat(events.warnings).hasSize(1);
  }

  @Test
  void poll_ofOverridesThatAreGone_looksOnceMore_andWarns() {
    String other = "- NewOrdersPerAccount: {burst: 1, count: 1, period: 9s, ids: [18, 19]}\n";
    TestFiles.write(overrides, other + overrides(1));
    poll(2);
    assertThat(events.take()).hasSize(1);
    TestFiles.write(overrides, overrides(2)); // not a beginning of what there was
    poll(2);
    assertThat(overrideBurst()).isEqualTo(1);
    poll(1);
    assertThat(overrideBurst()).isEqualTo(2);
    assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 1 warnings");
    assertThat(events.warnings)
        .containsExactly(
            overrides + ":1:1: warning: overrides were removed: 2 (NewOrdersPerAccount: 2)");
  }

  @Test
  void poll_ofACompanionThatWasCut_looksOnceMore_andWarns() {
    Path rules = TestFiles.write(folder.resolve("rules.yml"), "- strict\n- mild\n- open\n");
    CurrentLimits target = new CurrentLimits(current.get());
    try (LimitFilesWatcher cut = watching(rules, target)) {
      assertThat(events.take()).hasSize(1);
      TestFiles.write(rules, "- strict\n- mild\n");
      cut.poll();
      cut.poll();
      assertThat(words(target)).hasSize(3);
      cut.poll();
      assertThat(words(target)).containsExactly("strict", "mild");
      assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 1 warnings");
      assertThat(events.warnings)
          .containsExactly(
              rules + ":1:1: warning: the end of the file is missing: 16 of 23 bytes remain");
      TestFiles.write(rules, "- strict\n- mild"); // the same but for the end of the line
      cut.poll();
      cut.poll();
      assertThat(events.take()).containsExactly("loaded 2026-11-20T12:00:00Z 0 warnings");
      TestFiles.write(rules, "- strict\n- mild\n- open\n");
      cut.poll();
      cut.poll();
      assertThat(words(target)).hasSize(3);
    }
  }

  /** Not a beginning of what there was, and yet cut. */
  @Test
  void poll_ofACompanionThatWasChangedAndCut_looksOnceMore_andWarns() {
    Path rules =
        TestFiles.write(folder.resolve("rules.yml"), "# ours\n- strict\n- mild\n\n- open\n");
    CurrentLimits target = new CurrentLimits(current.get());
    try (LimitFilesWatcher cut = watching(rules, target)) {
      assertThat(events.take()).hasSize(1);
      TestFiles.write(rules, "# theirs\n- stricter\n- mild\n");
      cut.poll();
      cut.poll();
      assertThat(words(target)).hasSize(3);
      cut.poll();
      assertThat(words(target)).containsExactly("stricter", "mild");
      assertThat(events.warnings)
          .containsExactly(
              rules
                  + ":1:1: warning: the file has fewer lines than before: 2 instead of 3, not counting comments");
      assertThat(events.take()).hasSize(1);
      TestFiles.write(rules, "- strict\n- milder\n"); // as many lines
      cut.poll();
      cut.poll();
      assertThat(words(target)).containsExactly("strict", "milder");
    }
  }

  @Test
  void poll_ofAnEmptyCompanion_isRefused() {
    Path rules = TestFiles.write(folder.resolve("rules.yml"), "- strict\n- mild\n- open\n");
    CurrentLimits target = new CurrentLimits(current.get());
    try (LimitFilesWatcher cut = watching(rules, target)) {
      assertThat(events.take()).hasSize(1);
      for (String nothing : List.of("", "\n", "# only a comment\n", "---\n")) {
        TestFiles.write(rules, nothing);
        for (int i = 0; i < 5; i++) {
          cut.poll();
        }
        assertThat(words(target)).as(nothing).hasSize(3);
        assertThat(events.take()).as(nothing).hasSize(1).first().asString().startsWith("failed");
      }
    }
  }

  private LimitFilesWatcher watching(Path rules, CurrentLimits target) {
    LimitFiles files = TestFiles.builder().defaults(defaults).companion(rules, new Words()).build();
    return LimitFilesWatcher.start(files, target, NEVER, events, Clock.fixed(NOW, ZoneOffset.UTC));
  }

  private static List<String> words(CurrentLimits limits) {
    return limits.get().companion(WordList.class).words();
  }

  private record WordList(List<String> words) {}

  /** Rules that are words. */
  private static final class Words implements CompanionReader<WordList> {

    @Override
    public Class<WordList> type() {
      return WordList.class;
    }

    @Override
    public String expected() {
      return "a list of words";
    }

    @Override
    public WordList read(Node root, String file, Limits limits, boolean known, Problems problems) {
      return new WordList(
          ((Node.Sequence) root)
              .items().stream().map(item -> ((Node.Scalar) item).text()).toList());
    }
  }

  @Test
  void poll_ofFilesThatLackWhatIsAskedFor_keepsTheLimits() {
    TestFiles.write(defaults, defaults(1) + "LoginsPerIPAddress: {unlimited: true}\n");
    assertThat(watcher.reloadNow()).isTrue();
    current.require(
        List.of(new Requirement("LoginsPerIPAddress", "a door", MissingDefault.REFUSE)));
    events.list.clear();
    TestFiles.write(defaults, defaults(9));
    poll(5);
    assertThat(defaultBurst()).isEqualTo(1);
    assertThat(events.take())
        .containsExactly(
            "failed 2026-11-20T12:00:00Z [%s:1:1: LoginsPerIPAddress has no default, but a door requires one; write burst, count and period, or \"LoginsPerIPAddress: {unlimited: true}\"]"
                .formatted(defaults));
  }

  @Test
  void reload_ofFilesThatACheckRefuses_keepsTheLimits_andTellsWhy() {
    LimitName name = current.get().configured().get(0);
    Function<Limits, List<String>> check =
        limits -> Quota.leastBurst(limits.defaultsFor(name)) < 7 ? List.of() : List.of("too large");
    current.addCheck(check);
    TestFiles.write(defaults, defaults(9));
    assertThat(watcher.reloadNow()).isFalse();
    List<Problem> mistakes = new ArrayList<>();
    assertThat(watcher.read(mistakes::add)).isNull();
    assertThat(mistakes).extracting(Problem::message).containsExactly("too large");
    assertThat(defaultBurst()).isEqualTo(1);
    assertThat(events.take())
        .containsExactly("failed 2026-11-20T12:00:00Z [%s:1:1: too large]".formatted(defaults));
    current.removeCheck(check);
    assertThat(watcher.reloadNow()).isTrue();
    assertThat(defaultBurst()).isEqualTo(9);
  }

  /** As on a file system whose clock is behind: the second change has the time of the first. */
  @Test
  void reloadNow_ofAChangeThatPollsMiss_isNotUndoneByAPoll() throws IOException {
    FileTime early = FileTime.from(NOW.minusSeconds(60));
    Files.setLastModifiedTime(defaults, early);
    poll(3);
    Files.writeString(defaults, defaults(2));
    Files.setLastModifiedTime(defaults, early);
    assertThat(watcher.reloadNow()).isTrue();
    poll(5);
    assertThat(defaultBurst()).isEqualTo(2);
  }

  @Test
  void poll_ofAPipe_doesNotHang() throws Exception {
    Files.delete(defaults);
    assertThat(new ProcessBuilder("mkfifo", defaults.toString()).start().waitFor()).isZero();
    poll(5);
    assertThat(events.take())
        .containsExactly(
            "failed 2026-11-20T12:00:00Z [%s:1:1: found a pipe, a socket or a device, expected a regular file]"
                .formatted(defaults));
    assertThat(defaultBurst()).isEqualTo(1);
  }

  @Test
  void access_toAFileThatDoesNotAnswer_isGivenUp_andNotTriedAgainMeanwhile() throws Exception {
    FileAccess access = new FileAccess(Duration.ofMillis(20));
    CountDownLatch answer = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    Supplier<String> hanging =
        () -> {
          calls.incrementAndGet();
          try {
            answer.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
          return "late";
        };
    for (int i = 0; i < 3; i++) {
      assertThat(access.call(defaults, hanging, reason -> reason))
          .isEqualTo("the file system does not respond within 20 ms");
    }
    // On a busy machine, the thread of the first call may begin only after the time-out.
    await().atMost(Duration.ofMinutes(1)).until(() -> calls.get() > 0);
    assertThat(calls).hasValue(1);

    answer.countDown();
    FileAccess patient = new FileAccess(Duration.ofSeconds(30));
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> patient.call(defaults, () -> "there", reason -> reason).equals("there"));
  }

  @Test
  void close_doesNotWaitForALoad() throws Exception {
    CountDownLatch inLoad = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    BlockingClock clock = new BlockingClock(inLoad, end);
    CurrentLimits target = new CurrentLimits(current.get());
    LimitFilesWatcher blocked =
        LimitFilesWatcher.start(files(), target, NEVER, new Events(), clock);
    TestFiles.write(defaults, defaults(8));
    clock.blocks = true;
    Thread looking = new Thread(blocked::look);
    looking.start();
    inLoad.await();
    blocked.close();
    end.countDown();
    looking.join();
    assertThat(burst(target.get())).isEqualTo(1);
  }

  @Test
  void watch_withItsThread_appliesAChange_keepsOnABadOne_andStops() {
    CurrentLimits target = new CurrentLimits(current.get());
    Events told = new Events();
    LimitFilesWatcher threaded = files().watch(target, Duration.ofMillis(5), told);
    try (threaded) {
      TestFiles.write(defaults, defaults(3));
      await().atMost(Duration.ofMinutes(1)).until(() -> burst(target.get()) == 3);
      TestFiles.write(defaults, "junk");
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> told.list.stream().anyMatch(e -> e.startsWith("failed")));
      assertThat(burst(target.get())).isEqualTo(3);
    }
    assertThat(threaded.reloadNow()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT9223372036.854775808S"})
  void watch_withAnIntervalOutOfItsRange_isRefused(Duration interval) {
    assertThatThrownBy(() -> files().watch(current, interval, events).close())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("interval: found %s, expected a duration > 0 and at most 292 years", interval);
  }

  @Test
  void watch_withTheLongestInterval_isTaken() {
    files().watch(current, Duration.ofNanos(Long.MAX_VALUE), events).close();
    assertThat(burst(current.get())).isPositive();
  }

  private void poll(int times) {
    for (int i = 0; i < times; i++) {
      watcher.poll();
    }
  }

  private LimitFiles files() {
    return TestFiles.builder().defaults(defaults).overrides(overrides).build();
  }

  private static String defaults(int burst) {
    return "NewOrdersPerAccount: {burst: %s, count: 1, period: 1s}\n".formatted(burst);
  }

  private static String overrides(int burst) {
    return "- NewOrdersPerAccount: {burst: %s, count: 2, period: 1s, ids: [17]}\n".formatted(burst);
  }

  private long defaultBurst() {
    return burst(current.get());
  }

  private static long burst(Limits limits) {
    return limits.defaultFor(limits.catalogue().get("NewOrdersPerAccount")).burst();
  }

  private long overrideBurst() {
    Limits limits = current.get();
    return limits.quotaFor(limits.catalogue().get("NewOrdersPerAccount"), "17").burst();
  }

  /** Remembers what it is told, and throws where it is asked to. */
  private static final class Events implements ReloadListener {
    final List<String> list = new CopyOnWriteArrayList<>();
    volatile Throwable failure;
    final List<Throwable> broken = new CopyOnWriteArrayList<>();

    final List<String> warnings = new CopyOnWriteArrayList<>();

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      warnings.forEach(one -> this.warnings.add(one.toString()));
      add("loaded " + at + " " + warnings.size() + " warnings");
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      add("failed " + at + " " + problems);
    }

    private void add(String event) {
      list.add(event);
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure instanceof RuntimeException exception) {
        throw exception;
      }
    }

    @Override
    public void broke(Instant at, Throwable thrown) {
      broken.add(thrown);
    }

    List<String> take() {
      List<String> taken = List.copyOf(list);
      list.clear();
      return taken;
    }
  }

  /** A clock that can throw: what a lack of memory, or of a class, looks like from inside. */
  private static final class BreakingClock extends Clock {
    private final Clock clock;
    private final Error error;
    volatile boolean broken;

    BreakingClock(Clock clock, Error error) {
      this.clock = clock;
      this.error = error;
    }

    @Override
    public Instant instant() {
      if (broken) {
        throw error;
      }
      return clock.instant();
    }

    @Override
    public ZoneId getZone() {
      return clock.getZone();
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return new BreakingClock(clock.withZone(zone), error);
    }
  }

  /** A clock that holds a look up until it is told. */
  private static final class BlockingClock extends Clock {
    private final CountDownLatch asked;
    private final CountDownLatch answer;
    volatile boolean blocks;

    BlockingClock(CountDownLatch asked, CountDownLatch answer) {
      this.asked = asked;
      this.answer = answer;
    }

    @Override
    public Instant instant() {
      if (blocks) {
        asked.countDown();
        try {
          answer.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
      return NOW;
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }
}
