// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Eight processes on one bucket: the race between reading a bucket and writing it back, which
 * Boulder's scheme loses.
 */
@Tag("slow")
final class ContentionTest {

  private static final int PROCESSES = 8;
  private static final int SPENDS = 10_000;

  @Test
  void eightProcesses_tenThousandSpendsEach_getExactlyWhatTheLimitAllows() throws Exception {
    try (LocalRedis redis = LocalRedis.start(RedisBinary.bundled())) {
      long ours = grantedTo("sluice", redis);
      long boulders = grantedTo("boulder", redis);
      System.out.printf(
          "%d processes x %d spends: ours gave out %d from a bucket of %d, Boulder's scheme"
              + " %d from %d buckets of %d%n",
          PROCESSES,
          SPENDS,
          ours,
          SpendingProcess.BURST,
          boulders,
          SpendingProcess.BOULDER_BUCKETS,
          SpendingProcess.BURST / SpendingProcess.BOULDER_BUCKETS);
      assertThat(ours).isEqualTo(SpendingProcess.BURST);
      assertThat(boulders).isGreaterThan(SpendingProcess.BURST);
    }
  }

  private static long grantedTo(String scheme, LocalRedis redis) throws Exception {
    List<Process> processes = new ArrayList<>();
    try {
      for (int i = 0; i < PROCESSES; i++) {
        processes.add(start(scheme, redis));
      }
      for (Process process : processes) {
        process.getInputStream().read(); // it is connected
      }
      redis.command("SET", "go", "1");
      long granted = 0;
      for (Process process : processes) {
        String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        granted += Long.parseLong(told.strip());
      }
      redis.command("DEL", "go");
      return granted;
    } finally {
      processes.forEach(Process::destroyForcibly);
    }
  }

  private static Process start(String scheme, LocalRedis redis) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            SpendingProcess.class.getName(),
            scheme,
            redis.uri(),
            "" + SPENDS)
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }
}
