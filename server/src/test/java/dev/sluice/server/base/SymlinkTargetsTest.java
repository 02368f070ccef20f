// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SymlinkTargetsTest {

  @TempDir Path folder;

  @Test
  void noLink_staysAsItIs() throws IOException {
    Path file = Files.createFile(folder.resolve("file"));
    assertThat(SymlinkTargets.followed(file)).isSameAs(file);
    assertThat(SymlinkTargets.followed(folder.resolve("none"))).isEqualTo(folder.resolve("none"));
    assertThat(SymlinkTargets.followed(Path.of("relative"))).isEqualTo(Path.of("relative"));
  }

  @Test
  void links_areFollowedToTheFile_whichNeedNotBeThere() throws IOException {
    Path real = folder.toRealPath();
    Path volume = Files.createDirectory(folder.resolve("volume"));
    Path byFolder = Files.createSymbolicLink(folder.resolve("v"), Path.of("volume"));
    Path first = Files.createSymbolicLink(volume.resolve("first"), Path.of("../second"));
    assertThat(Files.createSymbolicLink(folder.resolve("second"), byFolder.resolve("none")))
        .isSymbolicLink();
    Path file = real.resolve("volume/none");
    assertThat(SymlinkTargets.followed(first)).isEqualTo(file);
    assertThat(SymlinkTargets.followed(byFolder.resolve("first"))).isEqualTo(file);
    Path empty = Files.createFile(volume.resolve("none"));
    assertThat(SymlinkTargets.followed(first)).isEqualTo(file).isEqualTo(empty.toRealPath());
  }

  @Test
  void linksThatEndNowhere_stayAsTheyAre() throws IOException {
    Path one = folder.resolve("one");
    Path other = Files.createSymbolicLink(folder.resolve("other"), one);
    assertThat(SymlinkTargets.followed(Files.createSymbolicLink(one, other))).isEqualTo(one);
    Path lost = Files.createSymbolicLink(folder.resolve("lost"), folder.resolve("no/such/file"));
    assertThat(SymlinkTargets.followed(lost)).isEqualTo(folder.resolve("no/such/file"));
  }
}
