// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Programs of this machine. Stateless. */
public final class Programs {

  private Programs() {}

  /** Whether a program runs to its end without an error. */
  public static boolean works(String... command) throws InterruptedException {
    try {
      String unused = run(command);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** Runs a program to its end, and returns what it printed. */
  public static String run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(
          "%s ended with %s: %s"
              .formatted(String.join(" ", command), process.exitValue(), printed));
    }
    return printed;
  }
}
