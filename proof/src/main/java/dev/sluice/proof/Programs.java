// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Runs programs on this machine. */
public final class Programs {

  private Programs() {}

  /** Runs a program, and returns whether it exits with code 0. */
  public static boolean works(String... command) throws InterruptedException {
    try {
      String unused = run(command);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** Runs a program until it ends, and returns its output. */
  public static String run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(
          "the program %s ended with exit code %s: %s"
              .formatted(String.join(" ", command), process.exitValue(), printed));
    }
    return printed;
  }

  static String machine() {
    long bytes =
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
    return "%s processors, %s GB, JDK %s"
        .formatted(
            Runtime.getRuntime().availableProcessors(), bytes >> 30, Runtime.version().feature());
  }

  /** Describes the load of the machine at the start of a run. */
  static String load() {
    return String.format(
        Locale.ROOT,
        "a load average of %.1f at the start",
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }
}
