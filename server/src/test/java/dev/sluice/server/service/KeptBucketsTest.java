// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KeptBucketsTest {

  @TempDir Path folder;

  @Test
  void snapshotBehindALink_isReplacedWhereItStands() throws IOException {
    Path volume = Files.createDirectory(folder.resolve("volume"));
    Path link = Files.createSymbolicLink(folder.resolve("buckets"), Path.of("volume/real"));
    for (int i = 0; i < 2; i++) { // a new file, and one that is there
      KeptBuckets.open(link, Duration.ofDays(1), new SimpleMeterRegistry()).close();
      assertThat(link).isSymbolicLink();
      assertThat(volume.resolve("real")).isRegularFile();
    }
  }
}
