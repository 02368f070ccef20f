// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.internal.AttachedFiles;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are not YAML, in one generation with the limits. */
final class AttachedFilesTest {

  @TempDir private Path folder;

  /** Two files that must be equal. */
  private record Pair(Path one, Path other) implements AttachedFiles<String> {

    @Override
    public Class<String> type() {
      return String.class;
    }

    @Override
    public List<Path> files() {
      return List.of(one, other);
    }

    @Override
    public @Nullable String read(List<byte[]> contents, Reports reports) {
      String text = new String(contents.get(0), StandardCharsets.UTF_8);
      if (!text.equals(new String(contents.get(1), StandardCharsets.UTF_8))) {
        reports.mistake(other, "found another text, expected that of the first file");
        return null;
      }
      if (text.isEmpty()) {
        reports.warning(one, "this file is empty");
      }
      return text;
    }
  }

  private LimitFiles files() {
    return LimitFiles.builder()
        .companion(new Pair(folder.resolve("one"), folder.resolve("other")))
        .build();
  }

  private void write(String one, String other) {
    var unused = TestFiles.write(folder.resolve("one"), one);
    var unusedToo = TestFiles.write(folder.resolve("other"), other);
  }

  @Test
  void limitsWithoutAFileOfTheirOwn_carryWhatWasRead() {
    write("a", "a");
    Limits limits = files().load();
    assertThat(limits.companion(String.class)).isEqualTo("a");
    assertThat(limits.configured()).isEmpty();
  }

  @Test
  void mistakes_andWarnings_areThoseOfTheFile() {
    write("a", "b");
    assertThatThrownBy(files()::load)
        .isInstanceOf(LimitFilesException.class)
        .hasMessage(
            folder.resolve("other") + ":1:1: found another text, expected that of the first file");
    write("", "");
    assertThat(files().lint())
        .extracting(Problem::toString)
        .containsExactly(folder.resolve("one") + ":1:1: warning: this file is empty");
  }

  @Test
  void fileThatIsMissing_isAMistake() {
    assertThatThrownBy(files()::load).hasMessageContaining("other:1:1: there is no such file");
  }

  @Test
  void change_isAppliedWithTheLimits_andABadOneIsOfferedOnly() {
    write("a", "a");
    CurrentLimits current = new CurrentLimits(Limits.builder(Catalogue.of()).build());
    List<String> told = new ArrayList<>();
    try (LimitFilesWatcher watcher =
        files().watch(current, Duration.ofDays(1000), new Told(told))) {
      write("a", "b");
      assertThat(watcher.reloadNow()).isFalse();
      assertThat(current.get().companion(String.class)).isEqualTo("a");
      write("b", "b");
      assertThat(watcher.reloadNow()).isTrue();
      assertThat(current.get().companion(String.class)).isEqualTo("b");
    }
    assertThat(told).hasSize(6);
    assertThat(told.get(0)).matches("offered [0-9a-f]{12}");
    assertThat(List.of(told.get(1), told.get(3), told.get(5)))
        .containsExactly("loaded", "failed", "loaded");
    assertThat(told.get(0)).isNotEqualTo(told.get(2)).isNotEqualTo(told.get(4));
  }

  private record Told(List<String> told) implements ReloadListener {

    @Override
    public void offered(Instant at, String hash) {
      told.add("offered " + hash);
    }

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      told.add("loaded");
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {
      told.add("failed");
    }
  }
}
