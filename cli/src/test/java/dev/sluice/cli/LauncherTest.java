// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code bin/sluice} with a Java that is a script of the test. */
final class LauncherTest {

  @TempDir private Path folder;

  /** A left-over folder would make the Debian package's scripts fail. */
  @Test
  void signalWhileTheArchiveIsMade_leavesNoFiles() throws Exception {
    Path launcher = program("bin/sluice", Files.readString(Path.of("src/main/launcher/sluice")));
    program("java/bin/java", "#!/bin/sh\nkill -TERM $PPID\nexit 1\n");
    Files.writeString(folder.resolve("java/release"), "JAVA_VERSION=\"17.0.9\"\n");
    ProcessBuilder making = new ProcessBuilder(launcher.toString(), "--class-data-archive");
    making.environment().put("JAVA_HOME", folder.resolve("java").toString());
    Process made = making.redirectErrorStream(true).start();
    String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(made.waitFor()).as(said).isEqualTo(143);
    assertThat(folder.resolve("archive")).isEmptyDirectory();
  }

  @CanIgnoreReturnValue
  private Path program(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    return file;
  }
}
