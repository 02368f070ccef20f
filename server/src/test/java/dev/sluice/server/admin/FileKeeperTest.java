// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Penalty;
import dev.sluice.server.admin.RuntimeLimits.KeepException;
import dev.sluice.server.admin.Setting.Kept;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class FileKeeperTest {

  private static final Catalogue NAMES = Catalogue.samples();
  private static final LimitName CALLS = NAMES.get("ApiCallsPerKey");
  private static final int CHANGES = 25;

  @TempDir Path folder;

  /** Other users must neither read the ids, nor hold up a change by the lock. */
  @Test
  void files_areTheirOwnersAlone() throws IOException {
    Path file = folder.resolve("kept.yml");
    var unused = new FileKeeper(file);
    for (String ending : List.of("", ".penalties", ".lock")) {
      assertThat(Files.getPosixFilePermissions(folder.resolve("kept.yml" + ending)))
          .as(ending)
          .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    }
  }

  @Test
  void twoKeepers_ofThreads_loseNoChange() throws Exception {
    Path file = folder.resolve("kept.yml");
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<CompletableFuture<Void>> both = new ArrayList<>();
      for (String who : List.of("a", "b")) {
        both.add(CompletableFuture.runAsync(() -> change(file, who), threads));
      }
      CompletableFuture.allOf(both.toArray(CompletableFuture[]::new)).get(240, TimeUnit.SECONDS);
    } finally {
      threads.shutdownNow();
    }
    assertAllThere(file);
  }

  @Test
  void twoKeepers_ofProcesses_loseNoChange() throws Exception {
    Path file = folder.resolve("kept.yml");
    List<Process> both = new ArrayList<>();
    try {
      for (String who : List.of("a", "b")) {
        both.add(otherProcess(file, who));
      }
      for (Process one : both) {
        assertThat(one.waitFor(240, TimeUnit.SECONDS)).isTrue();
        assertThat(one.exitValue()).isZero();
      }
    } finally {
      both.forEach(Process::destroyForcibly);
    }
    assertAllThere(file);
  }

  @Test
  void lockThatIsHeldForTooLong_failsTheChange_whichIsNotMade() throws IOException {
    Path file = folder.resolve("kept.yml");
    FileKeeper keeper = new FileKeeper(file);
    try (FileChannel channel =
            FileChannel.open(folder.resolve("kept.yml.lock"), StandardOpenOption.WRITE);
        FileLock held = channel.lock()) {
      assertThat(held.isValid()).isTrue();
      assertThatThrownBy(() -> keeper.put(Setting.OVERRIDE, override("a1"), NAMES))
          .isInstanceOf(KeepException.class)
          .hasMessageContaining("another server has been changing the file for 5 s")
          .hasMessageContaining("nothing was changed");
    }
    assertThat(keeper.load(NAMES).overrides()).isEmpty();
    keeper.put(Setting.OVERRIDE, override("a2"), NAMES);
    assertThat(keeper.load(NAMES).overrides()).containsExactly(override("a2"));
  }

  /** What the other process runs: FILE and WHO. */
  public static void main(String[] args) {
    change(Path.of(args[0]), args[1]);
  }

  private static Process otherProcess(Path file, String who) throws IOException {
    String classPath =
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            FileKeeperTest.class.getName(),
            file.toString(),
            who);
    builder.environment().put("CLASSPATH", classPath);
    builder.redirectErrorStream(true).redirectOutput(file.resolveSibling(who + ".log").toFile());
    return builder.start();
  }

  private static void change(Path file, String who) {
    FileKeeper[] keeper = new FileKeeper[1];
    untilMade(() -> keeper[0] = new FileKeeper(file));
    for (int i = 0; i < CHANGES; i++) {
      String id = who + i;
      untilMade(() -> keeper[0].put(Setting.OVERRIDE, override(id), NAMES));
      untilMade(() -> keeper[0].put(Setting.PENALTY, penalty(id), NAMES));
    }
  }

  /** A busy machine may keep the one that has the lock waiting; a refused change was not made. */
  private static void untilMade(Runnable change) {
    while (true) {
      try {
        change.run();
        return;
      } catch (KeepException e) {
        if (!String.valueOf(e.getMessage()).contains("another server has been changing the file")) {
          throw e;
        }
      }
    }
  }

  private static void assertAllThere(Path file) {
    Kept kept = new FileKeeper(file).load(NAMES);
    List<String> ids =
        Stream.of("a", "b")
            .flatMap(who -> IntStream.range(0, CHANGES).mapToObj(i -> who + i))
            .toList();
    assertThat(kept.overrides())
        .extracting(LimitOverride::id)
        .containsExactlyInAnyOrderElementsOf(ids);
    assertThat(kept.penalties()).extracting(Penalty::id).containsExactlyInAnyOrderElementsOf(ids);
  }

  private static LimitOverride override(String id) {
    return new LimitOverride(CALLS, id, Quota.per(5, Duration.ofMinutes(1)), "");
  }

  private static Penalty penalty(String id) {
    return new Penalty(CALLS, id, Instant.parse("2099-01-01T00:00:00Z"), 0, "");
  }
}
