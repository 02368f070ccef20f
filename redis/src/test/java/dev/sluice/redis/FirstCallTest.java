// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * What the first call of a process finds. Its time-out runs while classes are loaded, which takes
 * long on a busy machine: so they are loaded when the store is opened.
 */
final class FirstCallTest {

  private static final int MOST_CLASSES = 8;

  /** Opens a store, and prints how many classes its first charge loaded. */
  static final class Fresh {

    private Fresh() {}

    public static void main(String[] args) {
      ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
      try (RedisStore store = RedisStore.open(URI.create(args[0]))) {
        var charges = Charges.spend("first");
        long before = classes.getTotalLoadedClassCount();
        var readings = store.charge(charges);
        long loaded = classes.getTotalLoadedClassCount() - before;
        System.out.println(readings.size() + " " + loaded);
      }
    }
  }

  @Test
  void open_loadsWhatTheFirstCallNeeds() throws IOException, InterruptedException {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            Fresh.class.getName(),
            TestServers.single()
                + "?timeout=10s&connectTimeout=30s&prefix=first-call-"); // for the rehearsal as
    // well
    Process fresh =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try {
      String printed =
          new String(fresh.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      assertThat(fresh.waitFor(1, TimeUnit.MINUTES)).isTrue();
      assertThat(printed).startsWith("1 ");
      assertThat(Integer.parseInt(printed.substring(2))).isLessThan(MOST_CLASSES);
    } finally {
      fresh.destroyForcibly();
    }
  }
}
