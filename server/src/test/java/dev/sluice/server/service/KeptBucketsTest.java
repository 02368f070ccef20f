// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
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

  @Test
  void gaugeOfAFailingSnapshot_isSetUntilASnapshotIsWritten() throws IOException {
    Path state = Files.createDirectory(folder.resolve("state"));
    Path away = folder.resolve("away");
    MeterRegistry registry = new SimpleMeterRegistry();
    try (KeptBuckets kept =
        KeptBuckets.open(state.resolve("buckets"), Duration.ofMillis(10), registry)) {
      assertThat(failing(registry)).isZero();
      Files.move(state, away);
      await().until(() -> failing(registry) == 1);
      Files.move(away, state);
      await().until(() -> failing(registry) == 0);
    }
  }

  private static double failing(MeterRegistry registry) {
    return registry.get("sluice.snapshot.failing").gauge().value();
  }
}
