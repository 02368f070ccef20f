// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class ClassDataArchiveTest {

  @TempDir private Path folder;

  @AfterEach
  void forget() {
    System.clearProperty(ClassDataArchive.MAKER);
  }

  /** The script ends when the test has seen that nobody waits for it. */
  @Test
  void make_startsTheLauncher_doesNotWait_andWarnsIfItFails() throws Exception {
    Path go = folder.resolve("go");
    Path script = folder.resolve("a maker");
    Files.writeString(
        script, "#!/bin/sh\nuntil [ -e '" + go + "' ]; do :; done\n[ \"$1\" = never ]\n");
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    System.setProperty(ClassDataArchive.MAKER, script.toString());
    CompletableFuture<String> warned = new CompletableFuture<>();
    ClassDataArchive.make(warned::complete);
    assertThat(warned).isNotDone();
    Files.createFile(go);
    assertThat(warned.get(30, TimeUnit.SECONDS))
        .contains("the class-data archive could not be made", "sluice --class-data-archive");
  }

  @Test
  void make_withoutALauncherThatAsksForIt_doesNothing() {
    ClassDataArchive.make(
        warning -> {
          throw new AssertionError(warning);
        });
  }
}
