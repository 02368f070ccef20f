// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
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
  void makerThatCtrlCStops_isNoWarning() throws Exception {
    Path script = folder.resolve("maker");
    Files.writeString(script, "#!/bin/sh\nkill -INT $$\n");
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    System.setProperty(ClassDataArchive.MAKER, script.toString());
    CompletableFuture<String> warned = new CompletableFuture<>();
    ClassDataArchive.make(warned::complete).get(30, TimeUnit.SECONDS);
    assertThat(warned).isNotDone();
  }

  @Test
  void make_withoutALauncherThatAsksForIt_doesNothing() {
    ClassDataArchive.make(
        warning -> {
          throw new AssertionError(warning);
        });
  }

  @Test
  void main_ofTheWholeApp_endsWithoutAnError() throws IOException, InterruptedException {
    try (CliProcess training = CliProcess.start(List.of(), Map.of(), ClassDataArchive.class)) {
      String said = String.join("\n", training.err().lines().toList());

      assertThat(training.process().waitFor()).as(said).isZero();
    }
  }

  /** A wrong variable is the server's mistake to tell, and a right one may be a secret. */
  @Test
  void launcher_makesTheArchive_withoutTheSettingsOfTheServer() throws Exception {
    Path launcher = launcher("#!/bin/sh\nenv >\"$0.env\"\nexit 1\n");
    ProcessBuilder making = making(launcher);
    making.environment().put("SLUICE_STROE", "memory");
    making.environment().put("SLUICE_TOKEN_KEY", "secret\nof two lines");
    Process made = making.redirectErrorStream(true).start();
    String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(made.waitFor()).as(said).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(folder.resolve("java/bin/java.env"))
        .content()
        .contains("JAVA_HOME=")
        .doesNotContain("SLUICE_");
  }

  /** The command recognizes a closed pipe by the system's text, which glibc would translate. */
  @Test
  void launcher_asksTheSystemForEnglishMessages() throws Exception {
    Path launcher = launcher("#!/bin/sh\nenv >\"$0.env\"\n");
    ProcessBuilder run = new ProcessBuilder(launcher.toString(), "lint");
    run.environment().put("JAVA_HOME", folder.resolve("java").toString());
    run.environment().put("LANGUAGE", "es:de");
    assertThat(run.start().waitFor()).isZero();
    assertThat(folder.resolve("java/bin/java.env")).content().contains("LANGUAGE=C\n");
  }

  /** In the locale C, Java cannot read an id that is not ASCII. */
  @Test
  void launcher_inALocaleWithoutUtf8_choosesOneWithUtf8() throws Exception {
    assertThat(environmentOfJava("LC_ALL", "C")).contains("LC_ALL=C.UTF-8\n");
    assertThat(environmentOfJava("LC_ALL", "de_DE.ISO-8859-1"))
        .contains("LC_ALL=de_DE.ISO-8859-1\n");
    assertThat(environmentOfJava("LANG", "de_DE.UTF-8")).doesNotContain("LC_ALL=");
    assertThat(environmentOfJava("LINES", "24")).contains("LC_ALL=C.UTF-8\n");
  }

  private String environmentOfJava(String variable, String value) throws Exception {
    Path launcher = launcher("#!/bin/sh\nenv >\"$0.env\"\n");
    ProcessBuilder run = new ProcessBuilder(launcher.toString(), "lint");
    run.environment().keySet().removeAll(List.of("LC_ALL", "LC_CTYPE", "LANG"));
    run.environment().put("JAVA_HOME", folder.resolve("java").toString());
    run.environment().put(variable, value);
    assertThat(run.start().waitFor()).isZero();
    return Files.readString(folder.resolve("java/bin/java.env"));
  }

  /** A left-over folder would make the Debian package's scripts fail. */
  @Test
  void launcher_thatASignalEndsWhileItMakesTheArchive_leavesNoFiles() throws Exception {
    Path launcher = launcher("#!/bin/sh\nkill -TERM $PPID\nexit 1\n");
    ProcessBuilder making = making(launcher);
    Process made = making.redirectErrorStream(true).start();
    String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(made.waitFor()).as(said).isEqualTo(143);
    assertThat(folder.resolve("archive")).isEmptyDirectory();
  }

  @Test
  void launcher_whileAnotherProcessMakesTheArchive_makesNone() throws Exception {
    Path launcher = launcher("#!/bin/sh\ntouch \"$0.started\"\nexit 1\n");
    Path lock = folder.resolve("archive/sluice-17.0.9.jsa.making");
    Files.createDirectories(lock);
    Files.writeString(lock.resolve("pid"), ProcessHandle.current().pid() + "\n");

    assertThat(exitCode(launcher)).isZero();
    assertThat(folder.resolve("java/bin/java.started")).doesNotExist();

    Process ended = new ProcessBuilder("true").start();
    assertThat(ended.waitFor()).isZero();
    Files.writeString(lock.resolve("pid"), ended.pid() + "\n");
    assertThat(exitCode(launcher)).as("the other process is gone").isEqualTo(Exit.BROKEN_INPUT);
    assertThat(folder.resolve("java/bin/java.started")).exists();
    assertThat(lock).doesNotExist();
  }

  /** As after a reboot, when another process can have the number of a process that was killed. */
  @Test
  void launcher_thatFindsALockOfManyHours_makesTheArchive() throws Exception {
    Path launcher = launcher("#!/bin/sh\ntouch \"$0.started\"\nexit 1\n");
    Path lock = folder.resolve("archive/sluice-17.0.9.jsa.making");
    Files.createDirectories(lock);
    Path pid = lock.resolve("pid");
    Files.writeString(pid, ProcessHandle.current().pid() + "\n");
    Files.setLastModifiedTime(pid, FileTime.from(Instant.now().minus(Duration.ofHours(2))));

    assertThat(exitCode(launcher)).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(folder.resolve("java/bin/java.started")).exists();
    assertThat(lock).doesNotExist();
  }

  private ProcessBuilder making(Path launcher) {
    ProcessBuilder making = new ProcessBuilder(launcher.toString(), "--class-data-archive");
    making.environment().put("JAVA_HOME", folder.resolve("java").toString());
    return making;
  }

  private int exitCode(Path launcher) throws IOException, InterruptedException {
    return making(launcher)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor();
  }

  /** Writes the launcher beside a Java runtime whose program {@code java} is the given script. */
  private Path launcher(String java) throws IOException {
    var unused = program("java/bin/java", java);
    Files.writeString(folder.resolve("java/release"), "JAVA_VERSION=\"17.0.9\"\n");
    return program("bin/sluice", Files.readString(Path.of("src/main/launcher/sluice")));
  }

  private Path program(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    return file;
  }
}
