// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.yaml.LimitFiles.LastGood;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The copy of the limit files of the last good load. */
class LimitsCopyTest {

  private static final Instant NOW = Instant.parse("2026-11-27T12:00:00Z");
  private static final Duration NEVER = Duration.ofDays(1000);

  @TempDir private Path folder;

  private final CurrentLimits current =
      new CurrentLimits(Limits.builder(Catalogue.samples()).build());
  private final List<Problem> warnings = new ArrayList<>();

  private LimitFiles files(Path copy) {
    return LimitFiles.builder()
        .defaults(folder.resolve("limits.yml"))
        .overrides(folder.resolve("overrides.yml"))
        .copy(copy)
        .build();
  }

  private void write(int burst) throws IOException {
    Files.writeString(
        folder.resolve("limits.yml"),
        "ApiCallsPerKey: {burst: %s, count: 1, period: 1s} # ünï\n".formatted(burst));
    Files.writeString(
        folder.resolve("overrides.yml"),
        "- ApiCallsPerKey: {burst: 9, count: 1, period: 1s, ids: [k]}");
  }

  private LimitFilesWatcher watch(LimitFiles files) {
    return LimitFilesWatcher.start(
        files, current, NEVER, new Warnings(warnings), Clock.fixed(NOW, ZoneOffset.UTC));
  }

  @Test
  void goodLoad_isWhatTheCopyHas_andABadOneChangesNothing() throws IOException {
    LimitFiles files = files(folder.resolve("copy"));
    write(7);
    try (LimitFilesWatcher watcher = watch(files)) {
      Files.writeString(folder.resolve("limits.yml"), "ApiCallsPerKey: {burst: x}\n");
      assertThat(watcher.reloadNow()).isFalse();
    }
    LastGood last = files.lastGood();
    assertThat(last.limits()).isEqualTo(current.get());
    assertThat(last.at()).isEqualTo(NOW);
    LimitName name = last.limits().catalogue().get("ApiCallsPerKey");
    assertThat(last.limits().quotaFor(name, "k").burst()).isEqualTo(9);
    assertThat(last.limits().quotaFor(name, "j").burst()).isEqualTo(7);
  }

  @Test
  void copyThatCannotBeWritten_isAWarning_andTheLimitsHold() throws IOException {
    write(7);
    LimitFilesWatcher watcher = watch(files(folder.resolve("none").resolve("copy")));
    watcher.close();
    assertThat(warnings)
        .singleElement()
        .asString()
        .contains("copy:1:1: warning: the copy of the limits could not be written");
    assertThat(current.get().configured()).hasSize(1);
  }

  @Test
  void copyOfOtherFiles_isRefused() throws IOException {
    write(7);
    watch(files(folder.resolve("copy"))).close();
    LimitFiles fewer =
        LimitFiles.builder()
            .defaults(folder.resolve("limits.yml"))
            .copy(folder.resolve("copy"))
            .build();
    assertThatThrownBy(fewer::lastGood)
        .isInstanceOf(LimitFilesException.class)
        .hasMessageContaining("or does not belong to the configured files");
  }

  @Test
  void copyThatIsNotThere_isRefused() {
    assertThatThrownBy(files(folder.resolve("copy"))::lastGood)
        .hasMessageContaining("copy:1:1: there is no such file");
  }

  /** Keeps the warnings of the last load. */
  private record Warnings(List<Problem> all) implements ReloadListener {

    @Override
    public void loaded(Instant at, Limits limits, List<Problem> warnings) {
      all.clear();
      all.addAll(warnings);
    }

    @Override
    public void failed(Instant at, List<Problem> problems) {}
  }
}
